/**
 * One (phi, lambda) for n records in (0, 1), each record's log density clipped.
 *
 *   phi    ~ beta(phi_a, phi_b)
 *   lambda ~ pareto(smallest, shape), cut off at `largest`
 *   target += sum_i clip(weight[i] beta_lpdf(y[i] | lambda phi, lambda (1 - phi)), low, high)
 *
 * Without weights, the log density rises, falls, or does either once along the sorted records, so
 * that those clipped are found by binary search and the others' sum is a difference of prefix sums:
 * a gradient costs log n. Weights differ from record to record, so with them it costs n.
 *
 * It draws no records y_rep: these would be synthetic records of confidential ones, and such leave
 * by the mechanism alone, which draws them from the secure generator.
 */
functions {
  /** The first of the records from, ..., to that is above the level, if sign is 1, or below it, if
   *  sign is -1; to + 1 if none is. All before it are not, and all after it are. */
  int first_beyond(data vector t1, data vector t2, real A, real B, real level, int sign, int from,
                   int to) {
    int first = from;
    int last = to + 1;
    while (first < last) {
      int middle = (first + last) %/% 2;
      if (sign * (A * t1[middle] + B * t2[middle] - level) >= 0) {
        last = middle;
      } else {
        first = middle + 1;
      }
    }
    return first;
  }

  /** The number of sorted records up to a point. */
  int number_up_to(data vector y, real point) {
    int first = 1;
    int last = size(y) + 1;
    while (first < last) {
      int middle = (first + last) %/% 2;
      if (y[middle] > point) {
        last = middle;
      } else {
        first = middle + 1;
      }
    }
    return first - 1;
  }

  /** Sum of the clipped log densities of sorted records; sums1 and sums2 start with 0. */
  real clipped_sum(data vector y, data vector t1, data vector t2, data vector sums1,
                   data vector sums2, real a, real b, data real low, data real high) {
    int n = size(y);
    // A curve that is a bowl, with the highest values at its ends, is turned over.
    int monotone = (a - 1) * (b - 1) <= 0;
    int hill = monotone ? a > b : a > 1;
    int sign;
    real A;
    real B;
    real C;
    real bottom;
    real top;
    int turn;
    int first_between;
    int first_top;
    int after_top;
    int after_between;
    int between;
    sign = hill ? 1 : -1;
    A = sign * (a - 1);
    B = sign * (b - 1);
    C = sign * lbeta(a, b);
    bottom = hill ? low : -high;
    top = hill ? high : -low;
    turn = monotone ? n : number_up_to(y, A / (A + B));
    first_between = first_beyond(t1, t2, A, B, bottom + C, 1, 1, turn);
    first_top = first_beyond(t1, t2, A, B, top + C, 1, first_between, turn);
    after_top = first_beyond(t1, t2, A, B, top + C, -1, turn + 1, n);
    after_between = first_beyond(t1, t2, A, B, bottom + C, -1, after_top, n);
    between = first_top - first_between + after_between - after_top;
    return sign
           * (bottom * (first_between - 1 + n + 1 - after_between) + top * (after_top - first_top)
              + A * (sums1[first_top] - sums1[first_between] + sums1[after_between] - sums1[after_top])
              + B * (sums2[first_top] - sums2[first_between] + sums2[after_between] - sums2[after_top])
              - C * between);
  }
}
data {
  int<lower=1> n;
  vector<lower=0, upper=1>[n] y;                // strictly between 0 and 1
  int<lower=0, upper=1> weighted;
  vector<lower=0>[weighted ? n : 0] weight;
  real low;
  real<lower=low> high;
  real<lower=0> phi_a;                          // these four strictly positive
  real<lower=0> phi_b;
  real<lower=0> smallest;
  real<lower=0> shape;
  real<lower=smallest> largest;
  int<lower=0, upper=1> log_densities;          // whether to return each record's, of every draw
}
transformed data {
  vector[n] sorted = sort_asc(y);
  vector[n] t1 = log(sorted);
  vector[n] t2 = log1m(sorted);
  vector[n + 1] sums1 = append_row(0, cumulative_sum(t1));
  vector[n + 1] sums2 = append_row(0, cumulative_sum(t2));
  vector[weighted ? n : 0] weighted_log;
  vector[weighted ? n : 0] weighted_log1m;
  if (weighted) {
    weighted_log = weight .* log(y);
    weighted_log1m = weight .* log1m(y);
  }
}
parameters {
  real<lower=0, upper=1> phi;
  // Where many records are clipped, lambda is nearly a function of phi; what remains is in v.
  real v;
}
transformed parameters {
  real<lower=smallest, upper=largest> lambda = smallest + (largest - smallest)
                                                          * inv_logit(v - logit(phi));
}
model {
  real a = lambda * phi;
  real b = lambda * (1 - phi);
  phi ~ beta(phi_a, phi_b);
  lambda ~ pareto(smallest, shape);
  // The Jacobian, up to a constant.
  target += log_inv_logit(v - logit(phi)) + log1m_inv_logit(v - logit(phi));
  if (weighted) {
    vector[n] terms = (a - 1) * weighted_log + (b - 1) * weighted_log1m - lbeta(a, b) * weight;
    target += sum(fmin(fmax(terms, low), high));
  } else {
    target += clipped_sum(sorted, t1, t2, sums1, sums2, a, b, low, high);
  }
}
generated quantities {
  vector[log_densities ? n : 0] log_density;    // weighted, not clipped
  vector[log_densities ? n : 0] log_lik;        // and clipped; records in the order of y
  if (log_densities) {
    real a = lambda * phi;
    real b = lambda * (1 - phi);
    log_density = (a - 1) * log(y) + (b - 1) * log1m(y) - lbeta(a, b);
    if (weighted) {
      log_density = weight .* log_density;
    }
    log_lik = fmin(fmax(log_density, low), high);
  }
}
