/**
 * The beta-model of a graph that was seen dyad by dyad with noise, or is known.
 *
 *   beta[k]  ~ normal(prior_mean, prior_sd)                             if prior_spread is 0, else
 *   beta[k]  ~ normal(mean, spread of its side), mean ~ normal(prior_mean, prior_sd), and each
 *              spread ~ normal(0, prior_spread), above 0
 *   log odds of a tie in dyad d  =  eta[d]  =  beta[first[d]] + beta[second[d]]
 *
 *   target += sum_d log1p_exp(eta[d] + shift[d]) - log1p_exp(eta[d])      of a hidden graph
 *   target += degrees . beta - graphs * sum_d log1p_exp(eta[d])           of known ones
 *
 * The first is, up to a constant, the sum of log1p(odds[d] * inv_logit(sign[d] * eta[d])), with
 * sign[d] that of shift[d] and odds[d] = expm1(|shift[d]|): half the work, and never of a number
 * below one.
 *
 * It draws no new outputs y_rep: of the noise it has the odds of what was seen in each dyad, and not
 * the law of what might have been.
 */
functions {
  /** The prior's mean of all coefficients. */
  real mean_of(real prior_mean, vector mean) {
    return size(mean) ? mean[1] : prior_mean;
  }
  /** The prior's standard deviation of each coefficient; a side's are next to each other. */
  vector sd_of(int K, real prior_sd, vector spread) {
    if (size(spread) == 0) {
      return rep_vector(prior_sd, K);
    }
    return to_vector(rep_matrix(spread', K %/% size(spread)));
  }
}
data {
  int<lower=1> K;                               // coefficients: nodes, or senders and receivers
  int<lower=1> D;                               // dyads
  array[D] int<lower=1, upper=K> first;
  array[D] int<lower=1, upper=K> second;
  int<lower=0> graphs;                          // how many are known; 0 if hidden
  vector[K] degrees;                            // in known graphs, added up
  vector[graphs ? 0 : D] odds;
  vector<lower=-1, upper=1>[graphs ? 0 : D] sign;
  real prior_mean;
  real<lower=0> prior_sd;                       // strictly positive
  real<lower=0> prior_spread;                   // 0 if coefficients are independent
  int<lower=1, upper=2> sides;                  // 2 if half of them are senders', half receivers'
}
transformed data {
  array[D] int no_tie = zeros_int_array(D);
}
parameters {
  vector<offset=prior_mean, multiplier=prior_sd>[prior_spread > 0 ? 1 : 0] mean;
  vector<lower=0>[prior_spread > 0 ? sides : 0] spread;
  vector<offset=mean_of(prior_mean, mean), multiplier=sd_of(K, prior_sd, spread)>[K] beta;
}
model {
  vector[D] eta = beta[first] + beta[second];
  beta ~ normal(mean_of(prior_mean, mean), sd_of(K, prior_sd, spread));
  if (prior_spread > 0) {
    mean ~ normal(prior_mean, prior_sd);
    spread ~ normal(0, prior_spread);
  }
  if (graphs) {
    target += dot_product(degrees, beta) + graphs * bernoulli_logit_lpmf(no_tie | eta);
  } else {
    target += sum(log1p(odds .* inv_logit(sign .* eta)));
  }
}
