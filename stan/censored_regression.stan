/**
 * One column regressed on K others, each of n records' log density clipped.
 *
 *   intercept[j] ~ normal(intercept_mean, intercept_sd),   j = 1..J
 *   slope[k, j]  ~ normal(0, slope_sd[k])
 *   sigma        ~ normal(0, sigma_scale), positive, where the family has it
 *   eta          = intercept + x * slope
 *   target += sum_i clip(weight[i] log p(y[i] | eta[i], sigma), low, high)
 *
 * Families, by number: 1 normal, with mean eta and sd sigma; 2 log-normal, whose log is that;
 * 3 gamma, with mean exp(eta) and coefficient of variation sigma; 4 Poisson, with mean exp(eta);
 * 5 negative binomial, with mean mu = exp(eta) and variance mu + sigma^2 mu^2; 6 categorical by
 * multinomial logit, whose first category has eta 0 and the J others these. All others have J = 1.
 *
 * It draws no records y_rep: these would be synthetic records of confidential ones, and such leave
 * by the mechanism alone, which draws them from the secure generator.
 */
functions {
  /** Log density of every record. */
  vector log_densities_of(int family, data vector y, data vector log_y,
                          data vector log_factorial, data array[] int category, matrix eta,
                          real sigma) {
    int n = rows(eta);
    vector[n] mean = col(eta, 1);
    vector[n] density;
    if (family == 1) {
      density = -0.5 * square((y - mean) / sigma) - log(sigma) - 0.5 * log(2 * pi());
    } else if (family == 2) {
      density = -0.5 * square((log_y - mean) / sigma) - log(sigma) - 0.5 * log(2 * pi()) - log_y;
    } else if (family == 3) {
      real shape = inv_square(sigma);
      density = shape * (log(shape) - mean + log_y) - log_y - shape * y .* exp(-mean)
                - lgamma(shape);
    } else if (family == 4) {
      density = y .* mean - exp(mean) - log_factorial;
    } else if (family == 5) {
      real shape = inv_square(sigma);
      vector[n] log_sum = log(shape) + log1p_exp(mean - log(shape));
      density = lgamma(y + shape) - lgamma(shape) - log_factorial
                + shape * (log(shape) - log_sum) + y .* (mean - log_sum);
    } else {
      for (i in 1:n) {
        density[i] = log_softmax(append_row(0, eta[i]'))[category[i]];
      }
    }
    return density;
  }

  /** Weighted log densities: a weight of 0 leaves a record out, also where it is impossible. */
  vector weighted_by(data vector weight, vector density) {
    vector[size(density)] finite = fmax(density, -1e300);
    return size(weight) ? weight .* finite : finite;
  }
}
data {
  int<lower=1> n;
  int<lower=0> K;                               // predictors
  int<lower=1> J;                               // linear predictors
  int<lower=1, upper=6> family;
  matrix[n, K] x;
  vector[n] y;                                  // positive, or whole, as the family has it
  array[n] int<lower=1, upper=J + 1> category;  // of family 6; 1 for the others
  int<lower=0, upper=1> weighted;
  vector<lower=0>[weighted ? n : 0] weight;
  real low;
  real<lower=low> high;
  real intercept_mean;
  real<lower=0> intercept_sd;                   // these three strictly positive
  vector<lower=0>[K] slope_sd;
  real<lower=0> sigma_scale;
  int<lower=0, upper=1> log_densities;          // whether to return each record's, of every draw
}
transformed data {
  int has_sigma = family == 4 || family == 6 ? 0 : 1;
  int positive = family == 2 || family == 3;
  int counts = family == 4 || family == 5;
  vector[n] log_y = positive ? log(y) : zeros_vector(n);
  vector[n] log_factorial = counts ? lgamma(y + 1) : zeros_vector(n);
}
parameters {
  vector[J] intercept;
  matrix[K, J] slope;
  vector<lower=0>[has_sigma] sigma;
}
model {
  matrix[n, J] eta = rep_matrix(intercept', n) + x * slope;
  vector[n] density = weighted_by(weight, log_densities_of(family, y, log_y, log_factorial,
                                                           category, eta,
                                                           has_sigma ? sigma[1] : 1));
  intercept ~ normal(intercept_mean, intercept_sd);
  for (j in 1:J) {
    slope[, j] ~ normal(0, slope_sd);
  }
  sigma ~ normal(0, sigma_scale);
  target += sum(fmin(fmax(density, low), high));
}
generated quantities {
  vector[log_densities ? n : 0] log_density;    // weighted, not clipped
  vector[log_densities ? n : 0] log_lik;        // and clipped; records in the order of y
  if (log_densities) {
    matrix[n, J] eta = rep_matrix(intercept', n) + x * slope;
    log_density = weighted_by(weight, log_densities_of(family, y, log_y, log_factorial, category,
                                                       eta, has_sigma ? sigma[1] : 1));
    log_lik = fmin(fmax(log_density, low), high);
  }
}
