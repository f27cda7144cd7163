/**
 * Linear regression of a column of confidential records on p others, all rescaled by their public
 * bounds to [-1, 1]:
 *
 *   Sigma ~ inv_wishart(nu, diag(psi)),    mu ~ multi_normal(m, Sigma / r),
 *   sigma^2 ~ inv_gamma(a, b),             coefficients ~ normal(m0, sigma / sqrt(k)),
 *   predictors ~ multi_normal(mu, Sigma),  response ~ normal(intercept + predictors * slopes, sigma)
 *
 * Only noisy versions z of the sums of the columns, of their squares and of their products are seen,
 * or of the coefficients of a ridge regression. They depend on the records through their moments,
 * which are latent. The parameters are integrated out of the moments' density, and those of the
 * regression have, given the moments, their conjugate posterior: they are sampled in its units,
 * where they are independent of all else.
 *
 * The moments are sampled in coordinates q in which a normal density near their posterior's mode is
 * standard; origin, rotation, centre and base are those coordinates. Any others have the same
 * posterior.
 *
 * A number of records n that is unknown is a whole number from n_low to n_high, all equally probable.
 * It is sampled as v = n + w, with w triangular on [-1, 1]; given v, n is one of the two numbers
 * beside it, over which the density is summed. The last coordinate is the logit of v's place.
 *
 * It draws no new outputs y_rep: sums are released of records within their bounds, and new records of
 * these normal laws may be beyond.
 */
functions {
  #include regression_moments.stanfunctions

  /** Log density of noisy numbers, whose versions are columns of z, with noise of their own. */
  real versions_lpdf(matrix z, vector numbers, vector scale, array[] int laplace) {
    real log_lik = 0;
    for (j in 1:cols(z)) {
      log_lik += laplace[j] ? double_exponential_lpdf(z[, j] | numbers, scale[j])
                            : normal_lpdf(z[, j] | numbers, scale[j]);
    }
    return log_lik;
  }
}
data {
  int<lower=2> d;                               // columns, the response last
  int<lower=1> K;                               // numbers with noise
  int<lower=1> M;                               // noisy versions of each
  matrix[K, M] z;
  vector<lower=0>[M] scale;                     // of the noise of a version
  array[M] int<lower=0, upper=1> laplace;       // whether it is Laplace noise; else normal
  real<lower=0> penalty;                        // of ridge coefficients; 0 where z are sums
  real<lower=d + 1> n_low;                      // fewest records
  real<lower=n_low> n_high;                     // most records
  vector[n_low < n_high ? M : 0] noisy_n;        // noisy numbers of records, where n is unknown
  vector[d] m0;                                 // the priors above
  vector<lower=0>[d] k;
  real<lower=0> a;
  real<lower=0> b;
  vector[d - 1] m;
  real<lower=0> r;
  real<lower=d - 2> nu;
  vector<lower=0>[d - 1] psi;
  vector[(d * (d + 3)) %/% 2 + (n_low < n_high)] origin;  // of the coordinates
  matrix[num_elements(origin), num_elements(origin)] rotation;
  vector[d] centre;
  matrix[d, d] base;                            // lower triangular
  vector[d] shift;                              // for the columns as they are, coefficients are
  matrix[d, d] units;                           // shift + units * those for rescaled columns
  real<lower=0> unit;                           // and sigma is unit times that
}
transformed data {
  int C = num_elements(origin);
  int unknown = n_low < n_high;
  // The prior's part of the sums of products of (1, predictors, response).
  matrix[d, d + 1] start = append_col(identity_matrix(d), m0);
  matrix[d + 1, d + 1] known = start' * diag_pre_multiply(k, start);
}
parameters {
  vector[C] q;                                  // coordinates of the moments, and of n
  real more;                                    // log precision, about standard normal
  vector[d] away;                               // coefficients in units of their sd
  array[unknown] real<lower=0, upper=1> place;  // which of the two n
}
transformed parameters {
  vector[1 + unknown] log_density;              // given each n
  vector[d] beta;                               // intercept and slopes
  real<lower=0> sigma;
  real n = n_low;
  {
    vector[C] u = origin + rotation * q;
    vector[d] first = u[1:d];
    vector[d] mean = centre + base * first;
    matrix[d, d] root = moments_root(u, base, penalty > 0);
    real v = n_low;
    if (unknown) {
      v += (n_high - n_low + 2) * inv_logit(u[C]) - 1;
      n = floor(v);
      log_density = [log1m(v - n), log(v - n)]';
    } else {
      log_density[1] = 0;
    }
    real usual = a + v / 2;
    real log_precision = log(usual) + more / sqrt(usual);
    array[1 + unknown] matrix[d + 1, d + 1] factor;
    for (i in 1:(1 + unknown)) {
      real size = n + i - 1;
      if (size < n_low || size > n_high) {
        log_density[i] = negative_infinity();
        factor[i] = identity_matrix(d + 1);
        continue;
      }
      matrix[d + 1, d + 1] sums = sums_of_products(size, mean, root);
      factor[i] = cholesky_decompose(sums + known);
      log_density[i] += moments_log_density(log_precision, size, u, mean, root, base, penalty > 0,
                                            factor[i], m, r, nu, psi, a, b)
                        + versions_lpdf(z | released_numbers(sums, penalty), scale, laplace);
      if (unknown) {
        log_density[i] += versions_lpdf([noisy_n'] | [size]', scale, laplace);
      }
    }
    log_density -= log(usual) / 2;
    int beside = 0;
    if (unknown) {
      log_density += log_inv_logit(u[C]) + log1m_inv_logit(u[C]);
      beside = place[1] < softmax(log_density)[2];
      n += beside;
    }
    // The factor's last row has the coefficients' posterior, and what is left of the response.
    matrix[d + 1, d + 1] given = factor[1 + beside];
    real left = b + square(given[d + 1, d + 1]) / 2;
    real sd = sqrt(left / exp(log_precision));
    row_vector[d] steps = given[d + 1, 1:d] + sd * away';
    beta = shift + units * coefficients_of(given[1:d, 1:d], steps);
    sigma = unit * sd;
  }
}
model {
  target += log_sum_exp(log_density);
  away ~ std_normal();
}
