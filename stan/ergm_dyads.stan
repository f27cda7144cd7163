/**
 * Coefficients of an exponential random graph model whose pairs of nodes are independent, given a
 * graph that was seen dyad by dyad with noise, or is known.
 *
 *   theta[t]  ~ normal(prior_mean[t], prior_sd[t])
 *   target   += observed . theta
 *               + sum_r weight[r] log(1 + sum_s exp(changes[s][r] . theta + shift[s][r]))
 *
 * A row stands for |weight[r]| pairs of nodes alike; its states s = 1, ..., S are those with a tie.
 * Weights above zero belong to what was seen, those below to the model's own constant. Parameters
 * are sampled about `centre` in units of `scale`, which changes no posterior.
 *
 * It draws no new outputs y_rep: of the noise it has the odds of what was seen in each row, and not
 * the law of what might have been, and rows stand for many pairs.
 */
data {
  int<lower=1> R;                               // rows
  int<lower=1> S;                               // states with a tie: 1, or 3 of a pair of dyads
  int<lower=1> T;                               // terms
  array[S] matrix[R, T] changes;                // what the state adds to the statistics
  array[S] vector[R] shift;                     // log of how much likelier it makes what was seen
  vector[R] weight;
  vector[T] observed;                           // statistics of known graphs, else zero
  vector[T] prior_mean;
  vector<lower=0>[T] prior_sd;                  // this and scale strictly positive
  vector<lower=0>[T] scale;
  vector[T] centre;
}
parameters {
  vector<offset=centre, multiplier=scale>[T] theta;
}
model {
  // log(1 + exp(a) + exp(b)) = l + log1p_exp(b - l) with l = log1p_exp(a), and so on.
  vector[R] log_z = log1p_exp(changes[1] * theta + shift[1]);
  for (s in 2:S) {
    log_z += log1p_exp(changes[s] * theta + shift[s] - log_z);
  }
  theta ~ normal(prior_mean, prior_sd);
  target += dot_product(observed, theta) + dot_product(weight, log_z);
}
