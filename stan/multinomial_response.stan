/**
 * Probabilities of k categories, in G groups whose records were answered at random, each on its own.
 *
 *   theta[g]             ~ dirichlet(alpha)
 *   category of a record ~ categorical(theta[g]), confidential
 *   answers of a record  ~ one of P patterns, with probability chances[pattern, category]
 *
 * The categories are summed out: a record is answered with pattern p with probability
 * chances[p] * theta[g], and records of a group that were answered alike count together. Group g
 * owns the patterns first[g] to last[g].
 */
functions {
  #include latent_categories.stanfunctions
}
data {
  int<lower=1> G;                               // groups
  int<lower=2> k;                               // categories
  int<lower=1> P;                               // patterns of answers, of all groups together
  array[G] int<lower=1, upper=P> first;         // first pattern of each group
  array[G] int<lower=first, upper=P> last;      // last pattern of each group
  vector<lower=0>[P] counts;                    // records that were answered so
  matrix<lower=0, upper=1>[P, k] chances;       // probability of a pattern in each category
  vector<lower=0>[k] alpha;                     // strictly positive
}
parameters {
  array[G] simplex[k] theta;
}
model {
  for (g in 1:G) {
    int from = first[g];
    int to = last[g];
    theta[g] ~ dirichlet(alpha);
    target += latent_categories_log_lik(theta[g], counts[from:to], chances[from:to]);
  }
}
generated quantities {
  vector[P] log_lik;                            // of one record's answers, by their pattern
  for (g in 1:G) {
    int from = first[g];
    int to = last[g];
    log_lik[from:to] = log(chances[from:to] * theta[g]);
  }
}
