/**
 * Probabilities of k categories whose records were answered at random, each on its own.
 *
 *   theta                ~ dirichlet(alpha)
 *   category of a record ~ categorical(theta), confidential
 *   answers of a record  ~ columns[category], one of P patterns
 *
 * The categories are summed out: a record is answered with pattern p with probability
 * theta' columns[, p], and records that were answered alike count together.
 */
data {
  int<lower=2> k;                               // categories
  int<lower=1> P;                               // patterns of answers
  vector<lower=0>[P] counts;                    // records that were answered so
  matrix<lower=0, upper=1>[k, P] columns;       // probability of a pattern in each category
  vector<lower=0>[k] alpha;                     // strictly positive
}
parameters {
  simplex[k] theta;
}
model {
  theta ~ dirichlet(alpha);
  target += dot_product(counts, log(columns' * theta));
}
