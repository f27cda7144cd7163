/**
 * Success probabilities of G groups whose counts are confidential.
 *
 *   p[g]                     ~ beta(prior_a, prior_b)
 *   successes of group g | p ~ binomial(records of group g, p[g]), confidential
 *   release of group g       ~ the mechanism's law given the count
 *
 * What the release leaves possible has been reduced to weighted cells, ragged over groups: group
 * g owns cells first[g] to last[g], and cell k stands for `successes[k]` successes and
 * `failures[k]` failures. log_weight[k] is the log of the binomial coefficient, times the
 * mechanism's law at that count, times any prior on the number of records.
 */
functions {
  #include latent_count.stanfunctions
}
data {
  int<lower=1> G;                               // groups
  int<lower=1> K;                               // cells, of all groups together
  array[G] int<lower=1, upper=K> first;         // first cell of each group
  array[G] int<lower=first, upper=K> last;      // last cell of each group
  vector[K] log_weight;
  vector<lower=0>[K] successes;
  vector<lower=0>[K] failures;
  real<lower=0> prior_a;                        // both strictly positive
  real<lower=0> prior_b;
}
parameters {
  vector<lower=0, upper=1>[G] p;
}
model {
  p ~ beta(prior_a, prior_b);
  for (g in 1:G) {
    int from = first[g];
    int to = last[g];
    target += latent_count_log_lik(p[g], log_weight[from:to], successes[from:to],
                                   failures[from:to]);
  }
}
generated quantities {
  vector[G] log_lik;                            // of each group's outputs, given p
  for (g in 1:G) {
    int from = first[g];
    int to = last[g];
    log_lik[g] = latent_count_log_lik(p[g], log_weight[from:to], successes[from:to],
                                      failures[from:to]);
  }
}
