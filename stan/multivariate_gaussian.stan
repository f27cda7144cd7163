/**
 * Mean vectors of normal records in G groups, whose own means are confidential.
 *
 *   mu[g]                              ~ multi_normal(prior_mean, prior_covariance), or flat
 *   mean of the n records of group g   ~ multi_normal(mu[g], covariance / n)
 *   release of group g                 ~ the mechanism's law given that mean, which is normal
 *
 * The records' means are integrated out: what was released of group g is worth one observation of
 * mu[g], `centre`, with a normal error of the records' mean and the mechanism together.
 *
 * mu is sampled about `centre`, in units in which that error has no correlations, which changes no
 * posterior. `prior_mean` and `prior_root` aren't read where the prior is flat.
 *
 * It draws no new outputs y_rep: of what was released it has the likelihood of the means, and not
 * the law of what might have been.
 */
data {
  int<lower=1> G;                               // groups
  int<lower=1> D;                               // columns
  array[G] vector[D] centre;
  array[G] matrix[D, D] root;                   // Cholesky factors of the errors' covariances
  vector[G] log_rest;                           // of the outputs' log densities, less centre's
  int<lower=0, upper=1> flat;
  vector[D] prior_mean;
  matrix[D, D] prior_root;                      // Cholesky factor of the prior's covariance
}
parameters {
  array[G] vector[D] z;
}
transformed parameters {
  array[G] vector[D] mu;
  for (g in 1:G) {
    mu[g] = centre[g] + root[g] * z[g];
  }
}
model {
  for (g in 1:G) {
    z[g] ~ std_normal();                        // centre, given mu
    if (!flat) {
      mu[g] ~ multi_normal_cholesky(prior_mean, prior_root);
    }
  }
}
generated quantities {
  vector[G] log_lik;                            // of each group's outputs, given its mean
  for (g in 1:G) {
    log_lik[g] = log_rest[g] + multi_normal_cholesky_lpdf(centre[g] | mu[g], root[g]);
  }
}
