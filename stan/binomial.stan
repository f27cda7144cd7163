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
 *
 * Where `replicates` is 1, y_rep are new outputs, in the order of groups, releases and copies: of
 * new records of each group, by the mechanism's law. Stan must have that law, as it has of noise on
 * a count and of beta-binomial copies, and hasn't of weighted counts.
 */
functions {
  #include latent_count.stanfunctions
  #include released.stanfunctions
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
  int<lower=0, upper=1> replicates;             // whether to draw y_rep
  int<lower=0> R;                               // outputs to draw; 0 if Stan hasn't their laws
  array[R] int<lower=1, upper=G> of;            // group of each
  array[R] int<lower=1, upper=6> law;           // of each, as released_rng takes it
  array[R] int<lower=0> law_size;
  matrix[4, R] law_parameters;
}
transformed data {
  array[K] int records = to_int(to_array_1d(round(successes + failures)));
  check_replicates(replicates, R);
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
  vector[replicates * R] y_rep;
  for (g in 1:G) {
    int from = first[g];
    int to = last[g];
    log_lik[g] = latent_count_log_lik(p[g], log_weight[from:to], successes[from:to],
                                      failures[from:to]);
  }
  if (replicates) {
    array[G] int n;                             // which is drawn too, if it isn't known
    array[G] int x;
    for (g in 1:G) {
      int from = first[g];
      int to = last[g];
      int k = categorical_logit_rng(log_weight[from:to] + lmultiply(successes[from:to], p[g])
                                    + lmultiply(failures[from:to], 1 - p[g]));
      n[g] = records[from - 1 + k];
      x[g] = binomial_rng(n[g], p[g]);
    }
    y_rep = released_outputs_rng(x, n, of, law, law_size, law_parameters);
  }
}
