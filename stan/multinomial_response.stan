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
 *
 * Where `replicates` is 1, y_rep are new answers of new records, numbered from 1: in the order of
 * groups, copies and records. All copies of a group must be by one law.
 */
functions {
  #include latent_categories.stanfunctions
  #include randomized_response.stanfunctions
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
  int<lower=0, upper=1> replicates;             // whether to draw y_rep
  int<lower=0> R;                               // answers; 0 if a group's copies differ in law
  array[G] int<lower=0> copies;                 // each of which has an answer of all records
  array[G] int<lower=0> n;                      // records of each group
  int<lower=0> J;                               // answers that there are
  array[G] matrix<lower=0, upper=1>[k, J] law;  // probability of each in each category
}
transformed data {
  if (replicates && R == 0) {
    reject("replicates is 1, but a group's copies differ in the law of their answers; ",
           "use bdp.posterior_predictive for each release");
  }
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
  array[replicates * R] int y_rep;
  for (g in 1:G) {
    int from = first[g];
    int to = last[g];
    log_lik[from:to] = log(chances[from:to] * theta[g]);
  }
  if (replicates) {
    int place = 0;
    for (g in 1:G) {
      array[n[g]] int category;
      for (i in 1:n[g]) {
        category[i] = categorical_rng(theta[g]);
      }
      for (m in 1:copies[g]) {
        for (i in 1:n[g]) {
          place += 1;
          y_rep[place] = randomized_response_rng(category[i], law[g]);
        }
      }
    }
  }
}
