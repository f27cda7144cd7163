/**
 * Rates of events by area, in G groups, whose counts are confidential.
 *
 *   rate[g, a]                      ~ gamma(prior_shape, prior_rate)
 *   events of area a in group g     ~ poisson(expected[g, a] * rate[g, a]), confidential
 *   release of that count           ~ the mechanism's law given the count
 *
 * The counts are independent and summed out. What the release leaves possible has been reduced to
 * weighted cells, ragged over areas: area a of group g owns cells first[g, a] to last[g, a], and
 * cell k stands for `events[k]` events. log_weight[k] is the log of the mechanism's law at that
 * count, times expected^events / events!.
 */
functions {
  #include latent_events.stanfunctions
}
data {
  int<lower=1> G;                               // groups
  int<lower=1> A;                               // areas of each
  int<lower=1> K;                               // cells, of all areas together
  array[G, A] int<lower=1, upper=K> first;      // first cell of each area
  array[G, A] int<lower=first, upper=K> last;   // last cell of each area
  vector[K] log_weight;
  vector<lower=0>[K] events;
  matrix<lower=0>[G, A] expected;               // 0 where no event can occur
  real<lower=0> prior_shape;                    // both strictly positive
  real<lower=0> prior_rate;
}
parameters {
  matrix<lower=0>[G, A] rate;
}
model {
  to_vector(rate) ~ gamma(prior_shape, prior_rate);
  for (g in 1:G) {
    for (a in 1:A) {
      int from = first[g, a];
      int to = last[g, a];
      target += latent_events_log_lik(rate[g, a], expected[g, a], log_weight[from:to],
                                      events[from:to]);
    }
  }
}
generated quantities {
  matrix[G, A] log_lik;                         // of each area's outputs, given its rate
  for (g in 1:G) {
    for (a in 1:A) {
      int from = first[g, a];
      int to = last[g, a];
      log_lik[g, a] = latent_events_log_lik(rate[g, a], expected[g, a], log_weight[from:to],
                                            events[from:to]);
    }
  }
}
