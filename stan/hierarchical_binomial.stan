/**
 * Success probabilities of G groups from one population of groups, whose counts are confidential.
 *
 *   mean                     ~ beta(prior_a, prior_b)
 *   log_kappa                ~ logistic(log(concentration), 1)
 *   p[g]                     ~ beta(mean * kappa, (1 - mean) * kappa)
 *   successes of group g | p ~ binomial(records of group g, p[g]), confidential
 *   release of group g       ~ the mechanism's law given the count
 *
 * Counts and probabilities are summed out, which leaves two numbers to sample; p is drawn given
 * them. Sampled as well, it would be a funnel: its spread goes to 0 as kappa grows. The cells are
 * those of binomial.stan: group g owns cells first[g] to last[g], and cell k stands for
 * `successes[k]` successes and `failures[k]` failures, with the log of the binomial coefficient
 * times the mechanism's law at that count in log_weight[k].
 *
 * Where `replicates` is 1, y_rep are new outputs, in the order of groups, releases and copies: of
 * new records of each group, by the mechanism's law. Stan must have that law, as it has of noise on
 * a count and of beta-binomial copies.
 */
functions {
  #include latent_beta_count.stanfunctions
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
  real<lower=0> prior_a;                        // these three strictly positive
  real<lower=0> prior_b;
  real<lower=0> concentration;                  // prior median of kappa
  int<lower=0, upper=1> replicates;             // whether to draw y_rep
  int<lower=0> R;                               // outputs to draw; 0 if Stan hasn't their laws
  array[R] int<lower=1, upper=G> of;            // group of each
  array[R] int<lower=1, upper=6> law;           // of each, as released_rng takes it
  array[R] int<lower=0> law_size;
  matrix[4, R] law_parameters;
}
transformed data {
  real smallest = -600;                         // log of a or b below which all counts are 0, or all n
  array[K] int records = to_int(to_array_1d(round(successes + failures)));
  check_replicates(replicates, R);
}
parameters {
  real logit_mean;
  real<offset=log(concentration)> log_kappa;
}
transformed parameters {
  real mean = inv_logit(logit_mean);
  real sd = sqrt(mean * inv_logit(-logit_mean) / (1 + exp(log_kappa)));
  real a = exp(fmax(log_inv_logit(logit_mean) + log_kappa, smallest));
  real b = exp(fmax(log1m_inv_logit(logit_mean) + log_kappa, smallest));
}
model {
  // The beta density of mean, as one of its logit.
  target += prior_a * log_inv_logit(logit_mean) + prior_b * log1m_inv_logit(logit_mean);
  log_kappa ~ logistic(log(concentration), 1);
  for (g in 1:G) {
    int from = first[g];
    int to = last[g];
    target += log_sum_exp(latent_beta_count_log_joint(a, b, log_weight[from:to],
                                                      successes[from:to], failures[from:to]));
  }
}
generated quantities {
  vector<lower=0, upper=1>[G] p;
  vector[G] log_lik;                            // of each group's outputs, given p
  vector[replicates * R] y_rep;
  for (g in 1:G) {
    int from = first[g];
    int to = last[g];
    int k = from - 1
            + categorical_logit_rng(latent_beta_count_log_joint(a, b, log_weight[from:to],
                                                                successes[from:to],
                                                                failures[from:to]));
    p[g] = beta_rng(a + successes[k], b + failures[k]);
    log_lik[g] = latent_count_log_lik(p[g], log_weight[from:to], successes[from:to],
                                      failures[from:to]);
  }
  if (replicates) {
    array[G] int n = records[first];            // the same for all cells of a group
    array[G] int x = binomial_rng(n, p);
    y_rep = released_outputs_rng(x, n, of, law, law_size, law_parameters);
  }
}
