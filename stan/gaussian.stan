/**
 * Means of G groups of normal records that are confidential, and where they are unknown their
 * standard deviations.
 *
 *   mu[g]        ~ normal(m0, s0), or flat                                   where sd is known
 *   variance[g]  ~ inv_gamma(a, b), mu[g] ~ normal(m0, sigma[g] / sqrt(k))   where it isn't
 *
 * Only noisy versions z of the records' mean, or of their mean and variance, are seen:
 *
 *   mean of n records          | mu, sigma ~ normal(mu, sigma / sqrt(n))
 *   variance, divisor n - 1    | sigma     ~ gamma((n - 1) / 2, (n - 1) / (2 sigma^2))
 *   z                          | moments   ~ the noise's law, around them, or around n times the
 *                                            mean and the sum of squares
 *
 * The moments are latent. A mean is sampled in units of sigma / sqrt(n) from mu, and a variance in
 * units of sigma^2. Where the noise's law was truncated, it is defined for moments within the same
 * ends alone; those are sampled between `mean_low` and `mean_high`, and so on, and the density of
 * normal records' moments isn't divided by what lies beyond.
 *
 * Where `replicates` is 1, y_rep are new versions of the numbers, as many of each as were released,
 * of new records, whose moments are within the same ends. A number's versions come together, and the
 * numbers in their order.
 */
functions {
  #include noisy_numbers.stanfunctions
  #include normal_moments.stanfunctions
}
data {
  int<lower=1> G;                               // groups
  int<lower=1> N;                               // numbers with noise: G, or 2 G where sd is unknown
  int<lower=0> K;                               // their noisy versions
  array[N] int<lower=1> first;                  // first version of each number
  array[N] int<lower=0, upper=K> last;          // last one; less than the first if there is none
  vector[K] z;                                  // noisy versions, those set to an end left out
  vector<lower=0>[N] scale;                     // of the noise
  array[N] int<lower=0, upper=1> laplace;       // whether it is Laplace noise; else normal
  array[N] int<lower=0, upper=1> truncated;     // whether its law was truncated
  vector[N] low;                                // ends that the versions were kept between
  vector<lower=low>[N] high;
  array[N] int<lower=0> at_low;                 // versions that were set to an end
  array[N] int<lower=0> at_high;
  int<lower=0, upper=1> sums;                   // whether the numbers are sums
  vector<lower=1>[G] n;                         // records
  array[N == G] real<lower=0> sd;               // of the records, where it is known
  int<lower=0, upper=G> B;                      // groups whose moments have bounds
  array[B] int<lower=1, upper=G> bounded;
  array[G - B] int<lower=1, upper=G> unbounded; // all others
  vector[B] mean_low;
  vector<lower=mean_low>[B] mean_high;
  vector[N == G ? 0 : B] variance_low;
  vector<lower=variance_low>[N == G ? 0 : B] variance_high;
  int<lower=0, upper=4> P;
  vector[P] prior;                              // none: flat; m0, s0; or m0, k, a, b
  int<lower=0, upper=1> replicates;             // whether to draw y_rep
}
transformed data {
  int unknown = N > G;                          // whether sd is a parameter
  vector[G] root_n = sqrt(n);
  vector[G] half = (n - 1) / 2;                 // shape of a variance's gamma distribution
  array[N] int versions;                        // how many there are of each number
  for (i in 1:N) {
    versions[i] = last[i] - first[i] + 1 + at_low[i] + at_high[i];
  }
}
parameters {
  vector<lower=0>[unknown * G] variance;        // sigma^2
  vector[G] mu;
  vector[G - B] around;                         // means in units of sigma / sqrt(n) from mu
  vector<lower=mean_low, upper=mean_high>[B] bounded_mean;
  vector<lower=0>[unknown * (G - B)] squares;   // variances in units of sigma^2
  vector<lower=variance_low, upper=variance_high>[unknown * B] bounded_variance;
}
transformed parameters {
  vector[G] sigma = record_sd(sd, variance, G);
}
model {
  vector[G] width = sigma ./ root_n;            // sds of means
  vector[G] means = in_order(mu[unbounded] + width[unbounded] .* around, bounded_mean, unbounded,
                             bounded);
  vector[N - G] variances = unknown
                            ? in_order(square(sigma[unbounded]) .* squares, bounded_variance,
                                       unbounded, bounded)
                            : bounded_variance;
  if (unknown) {
    variance ~ inv_gamma(prior[3], prior[4]);
    mu ~ normal(prior[1], sigma / sqrt(prior[2]));
  } else if (P > 0) {
    mu ~ normal(prior[1], prior[2]);
  }
  around ~ std_normal();
  bounded_mean ~ normal(mu[bounded], width[bounded]);
  if (unknown) {
    squares ~ gamma(half[unbounded], half[unbounded]);
    bounded_variance ~ gamma(half[bounded], half[bounded] ./ square(sigma[bounded]));
  }
  target += noisy_numbers_lpdf(z | released_moments(means, variances, n, sums), first, last, scale,
                               laplace, truncated, low, high, at_low, at_high);
}
generated quantities {
  vector[replicates * sum(versions)] y_rep;
  if (replicates) {
    vector[N] numbers = new_moments_rng(mu, sigma, n, unknown, sums, bounded, mean_low, mean_high,
                                        variance_low, variance_high);
    y_rep = noisy_numbers_rng(numbers, versions, scale, laplace, truncated, low, high);
  }
}
