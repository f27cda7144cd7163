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
 *
 * Where `replicates` is 1, y_rep are new outputs, in the order of groups, releases, copies and
 * areas: of new events, by the mechanism's law. Stan must have that law, as it has of noise on each
 * count and of Poisson-gamma copies.
 */
functions {
  #include latent_events.stanfunctions
  #include released.stanfunctions
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
  int<lower=0, upper=1> replicates;             // whether to draw y_rep
  int<lower=0> R;                               // outputs to draw; 0 if Stan hasn't their laws
  array[R] int<lower=1, upper=G * A> of;        // area of each
  array[R] int<lower=1, upper=6> law;           // of each, as released_rng takes it
  array[R] int<lower=0> law_size;
  matrix[4, R] law_parameters;
}
transformed data {
  check_replicates(replicates, R);
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
  vector[replicates * R] y_rep;
  for (g in 1:G) {
    for (a in 1:A) {
      int from = first[g, a];
      int to = last[g, a];
      log_lik[g, a] = latent_events_log_lik(rate[g, a], expected[g, a], log_weight[from:to],
                                            events[from:to]);
    }
  }
  if (replicates) {
    array[G * A] int x = zeros_int_array(G * A);
    for (g in 1:G) {
      for (a in 1:A) {
        if (expected[g, a] > 0) {
          x[(g - 1) * A + a] = poisson_rng(expected[g, a] * rate[g, a]);
        }
      }
    }
    y_rep = released_outputs_rng(x, x, of, law, law_size, law_parameters);
  }
}
