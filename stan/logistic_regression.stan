/**
 * Logistic regression on P patterns of predictors, from a table of confidential counts, response by
 * pattern, each released with noise of its own; or from answers at random of confidential records.
 *
 *   coefficients ~ normal(prior_mean, prior_sd)
 *   log odds of response 1 in pattern i = predictors[i] * coefficients
 *   log frequency of pattern i = level + frequency[i]
 *   level ~ normal(level_mean, level_sd), frequency[i] ~ normal(0, spread)
 *
 * The counts of responses 0 and 1 are Poisson, with rates that sum to the pattern's frequency. They
 * are summed out: of pattern i they are cells 2 i - 1 and 2 i, and cell c owns the elements first[c]
 * to last[c] of x, the counts that it may have had, and of log_law, the log probability of its
 * outputs given them.
 *
 * Records' cells are summed out, too: the answers a, of which there are counts[a] records, have
 * probability weight[a] of each cell that they may come from. Where patterns are public these are
 * the two of the records' pattern, and frequencies don't matter; else all cells, with frequencies
 * that sum to 1.
 *
 * Parameters are sampled about what the release suggests, in units of their uncertainty there, which
 * changes no posterior.
 *
 * Where `replicates` is 1, y_rep are new outputs, in the order of copies and of a copy's cells: of a
 * new table, by the noise's law. Stan must have that law, and the release must be one, of all cells.
 * Of answers there is no y_rep: the program has the laws of the patterns alone that were seen.
 */
functions {
  #include released.stanfunctions

  /**
   * Log rates of the cells in their order, responses 0 and 1 of each pattern; with `sum_to_one`,
   * log probabilities of the cells, unless patterns are public and have no frequency.
   */
  vector cell_log_rates(vector log_odds, array[] real level, vector frequency, int sum_to_one) {
    int P = rows(log_odds);
    vector[P] log_frequency = rep_vector(size(level) ? level[1] : 0, P);
    if (rows(frequency) > 0) {
      log_frequency += frequency;
    }
    if (sum_to_one && rows(frequency) > 0) {
      log_frequency -= log_sum_exp(log_frequency);
    }
    return to_vector(append_row((log_frequency - log1p_exp(log_odds))',
                                (log_frequency - log1p_exp(-log_odds))'));
  }
}
data {
  int<lower=1> P;                               // patterns
  int<lower=1> J;                               // coefficients
  matrix[P, J] predictors;                      // rescaled, with a 1 for the intercept
  vector[J] prior_mean;
  vector<lower=0>[J] prior_sd;
  vector[J] centre;
  vector<lower=0>[J] scale;
  int<lower=0> F;                               // P where frequencies matter, else 0
  real<lower=0> spread;
  vector[F] frequency_centre;
  vector<lower=0>[F] frequency_scale;
  int<lower=0, upper=1> L;                      // whether there is a level
  real level_mean;
  real<lower=0> level_sd;
  real level_centre;
  real<lower=0> level_scale;
  int<lower=0> C;                               // cells with noise: 2 P, or 0
  int<lower=0> K;                               // their possible counts, all together
  array[C] int<lower=1, upper=K> first;
  array[C] int<lower=first, upper=K> last;
  vector<lower=0>[K] x;
  vector[K] log_law;
  int<lower=0> A;                               // patterns of answers
  vector<lower=0>[A] counts;                    // records that were answered so
  int<lower=0> E;                               // cells that they may come from, all together
  vector<lower=0, upper=1>[E] weight;
  array[E] int<lower=1, upper=2 * P> cell;
  array[A + 1] int<lower=1, upper=E + 1> start; // where each one's begin, and the end
  matrix[J, J] shown;                           // coefficients in the columns' own units
  int<lower=0, upper=1> replicates;             // whether to draw y_rep
  int<lower=0> R;                               // outputs to draw; 0 if Stan hasn't their laws
  array[R] int<lower=1, upper=C> of;            // cell of each
  array[R] int<lower=1, upper=6> law;           // of each, as released_rng takes it
  array[R] int<lower=0> law_size;
  matrix[4, R] law_parameters;
}
transformed data {
  vector[K] log_weight = log_law - lgamma(x + 1);
  check_replicates(replicates, R);
}
parameters {
  vector<offset=centre, multiplier=scale>[J] coefficient;
  vector<offset=frequency_centre, multiplier=frequency_scale>[F] frequency;
  array[L] real<offset=level_centre, multiplier=level_scale> level;
}
transformed parameters {
  vector[J] beta = shown * coefficient;
  vector[L + F + J] u = append_row(append_row(to_vector(level), frequency), coefficient);
}
model {
  vector[2 * P] log_rate = cell_log_rates(predictors * coefficient, level, frequency, A > 0);
  coefficient ~ normal(prior_mean, prior_sd);
  frequency ~ normal(0, spread);
  level ~ normal(level_mean, level_sd);
  for (c in 1:C) {
    int from = first[c];
    int to = last[c];
    target += log_sum_exp(log_weight[from:to] + log_rate[c] * x[from:to]) - exp(log_rate[c]);
  }
  if (A > 0) {
    target += dot_product(counts, log(csr_matrix_times_vector(A, 2 * P, weight, cell, start,
                                                              exp(log_rate))));
  }
}
generated quantities {
  vector[C + A] log_lik;                        // of each cell's outputs up to a constant, given its
                                                // rate, or of one record's answers, by their pattern
  vector[replicates * R] y_rep;
  {
    vector[2 * P] log_rate = cell_log_rates(predictors * coefficient, level, frequency, A > 0);
    for (c in 1:C) {
      int from = first[c];
      int to = last[c];
      log_lik[c] = log_sum_exp(log_weight[from:to] + log_rate[c] * x[from:to]) - exp(log_rate[c]);
    }
    if (A > 0) {
      log_lik[C + 1:C + A] = log(csr_matrix_times_vector(A, 2 * P, weight, cell, start,
                                                         exp(log_rate)));
    }
    if (replicates) {
      array[C] int count = poisson_log_rng(log_rate);
      y_rep = released_outputs_rng(count, count, of, law, law_size, law_parameters);
    }
  }
}
