/**
 * Rates of G groups of exponential or gamma records, whose sums are confidential.
 *
 *   rate[g]                         ~ gamma(prior_shape, prior_rate)
 *   records of group g              ~ gamma(shape, rate[g]), within public bounds if there are any
 *   release of the sum of a group   ~ the mechanism's law given it
 *
 * The sums are latent and integrated out, by quadrature, and so is the number of records that were
 * moved to a bound. What the release leaves possible has been reduced to weighted terms, ragged over
 * groups: group g owns terms first[g] to last[g], and term k stands for a sum of total[k] of which
 * power[k] is the shape, so that it has the likelihood
 *
 *   exp(log_weight[k]) * rate^power[k] * exp(-total[k] * rate).
 *
 * The log of the rate is sampled about `centre` in units of `scale`, which changes no posterior.
 *
 * It draws no new outputs y_rep: of what was released it has the likelihood of the rate, and not the
 * law of what might have been.
 */
functions {
  real latent_sum_log_lik(real log_rate, vector log_weight, vector power, vector total) {
    return log_sum_exp(log_weight + log_rate * power - exp(log_rate) * total);
  }
}
data {
  int<lower=1> G;                               // groups
  int<lower=1> K;                               // terms, of all groups together
  array[G] int<lower=1, upper=K> first;         // first term of each group
  array[G] int<lower=first, upper=K> last;      // last term of each group
  vector[K] log_weight;
  vector<lower=0>[K] power;
  vector<lower=0>[K] total;
  real<lower=0> shape;                          // this and the next two strictly positive
  real<lower=0> prior_shape;
  real<lower=0> prior_rate;
  vector[G] centre;                             // of the log of the rate
  vector<lower=0>[G] scale;                     // strictly positive
}
parameters {
  vector<offset=centre, multiplier=scale>[G] log_rate;
}
transformed parameters {
  vector<lower=0>[G] rate = exp(log_rate);
  vector<lower=0>[G] mean = shape * exp(-log_rate);
}
model {
  rate ~ gamma(prior_shape, prior_rate);
  target += sum(log_rate);                      // Jacobian of the exponential
  for (g in 1:G) {
    target += latent_sum_log_lik(log_rate[g], log_weight[first[g]:last[g]],
                                 power[first[g]:last[g]], total[first[g]:last[g]]);
  }
}
generated quantities {
  vector[G] log_lik;                            // of each group's outputs, given its rate
  for (g in 1:G) {
    log_lik[g] = latent_sum_log_lik(log_rate[g], log_weight[first[g]:last[g]],
                                    power[first[g]:last[g]], total[first[g]:last[g]]);
  }
}
