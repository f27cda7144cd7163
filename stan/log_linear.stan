/**
 * Log-linear model of a table whose counts are confidential, each released with noise of its own.
 *
 *   tau[t]      ~ half-normal(0, tau_scale[t])
 *   effects     ~ normal(prior_mean, prior_sd), those of a term with a tau ~ normal(0, tau)
 *   count[c]    ~ poisson(exp(design[c] * effects)), confidential
 *   outputs[c]  | count[c] ~ the mechanism
 *
 * Counts are summed out. Cell c owns the elements first[c] to last[c] of x, the counts that it may
 * have had, and of log_law, the log probability of its outputs given them. Effects with a fixed sd
 * are sampled about `centre` in units of `scale`, those with a tau in units of it; this changes no
 * posterior.
 *
 * Where `replicates` is 1, y_rep are new outputs, in the order of copies and of a copy's cells: of a
 * new table, by the noise's law. Stan must have that law, and the release must be one, of all cells.
 */
functions {
  #include released.stanfunctions
}
data {
  int<lower=1> C;                               // cells
  int<lower=1> J;                               // effects
  int<lower=0> T;                               // terms with a tau
  matrix[C, J] design;
  array[J] int<lower=1, upper=T + 1> owner;     // 1 where sd is fixed, else 1 and the number of tau
  vector[J] prior_mean;                         // 0 and 1 where there is a tau
  vector<lower=0>[J] prior_sd;
  vector[J] centre;                             // 0 and 1 there, too
  vector<lower=0>[J] scale;
  vector<lower=0>[T] tau_scale;
  int<lower=1> K;                               // possible counts of all cells together
  array[C] int<lower=1, upper=K> first;
  array[C] int<lower=first, upper=K> last;
  vector<lower=0>[K] x;
  vector[K] log_law;
  int<lower=1> B;                               // effects of the categories that are shown
  matrix[B, J] shown;
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
  vector<offset=centre, multiplier=scale>[J] effect;
  vector<lower=0>[T] tau;
}
transformed parameters {
  vector[J] u = effect .* append_row(1, tau)[owner];
  vector[B] beta = shown * u;
}
model {
  vector[C] log_rate = design * u;
  effect ~ normal(prior_mean, prior_sd);
  tau ~ normal(0, tau_scale);
  for (c in 1:C) {
    int from = first[c];
    int to = last[c];
    target += log_sum_exp(log_weight[from:to] + log_rate[c] * x[from:to]);
  }
  target += -sum(exp(log_rate));
}
generated quantities {
  vector[C] probability = softmax(design * u);
  vector[C] log_lik;                            // of each cell's outputs, up to a constant
  vector[replicates * R] y_rep;
  {
    vector[C] log_rate = design * u;
    for (c in 1:C) {
      int from = first[c];
      int to = last[c];
      log_lik[c] = log_sum_exp(log_weight[from:to] + log_rate[c] * x[from:to]) - exp(log_rate[c]);
    }
    if (replicates) {
      array[C] int count = poisson_log_rng(log_rate);
      y_rep = released_outputs_rng(count, count, of, law, law_size, law_parameters);
    }
  }
}
