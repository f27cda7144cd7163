// Special functions, to about 14 digits: beta densities, cumulative probabilities and quantiles.
// The saddle-point forms are those of bayesdp.mechanisms.laws (Loader 2000).

const HALF_LOG_2PI = 0.5 * Math.log(2 * Math.PI);
const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360];
const SMALLEST = 1e-300;
const LARGEST_BELOW_ONE = 1 - 2 ** -53;

// log Gamma(x + 1) minus Stirling's (x + 1/2) log x - x + log sqrt(2 pi), for x > 0.
function stirlingError(x) {
  if (!(x < 16)) {
    const square = 1 / (x * x);
    let series = 0;
    for (let k = STIRLING.length - 1; k >= 0; k--) series = series * square + STIRLING[k];
    return series / x;
  }
  // Gamma(x + 1) = Gamma(y + 1) / ((x + 1) ... y) with y = x + 16.
  const y = x + 16;
  let product = 1;
  for (let k = 1; k <= 16; k++) product *= x + k;
  return (
    stirlingError(y) + (y + 0.5) * Math.log(y) - Math.log(product) - 16 - (x + 0.5) * Math.log(x)
  );
}

// x log(x / mean) + mean - x, for positive arguments, also where x is close to mean.
function deviance(x, mean) {
  const difference = x - mean;
  const v = difference / (x + mean);
  if (Math.abs(v) >= 0.1) return x * Math.log(x / mean) - difference;
  const square = v * v;
  let series = 0;
  for (let j = 9; j >= 1; j--) series = series * square + 1 / (2 * j + 1);
  return difference * v + 2 * x * v * square * series;
}

// log of p^a q^b / B(a, b), with q = 1 - p given apart.
function betaLogKernel(p, q, a, b) {
  const total = a + b;
  return (
    stirlingError(total) - stirlingError(a) - stirlingError(b)
    - deviance(a, total * p) - deviance(b, total * q)
    + 0.5 * (Math.log(a) + Math.log(b) - Math.log(total)) - HALF_LOG_2PI
  );
}

// The continued fraction of I_p(a, b), by Lentz's method; for p below about the mean.
function betaFraction(p, a, b) {
  const total = a + b;
  let c = 1;
  let d = 1 / (1 - (total * p) / (a + 1) || SMALLEST);
  let fraction = d;
  for (let m = 1; m < 100000; m++) {
    const even = (m * (b - m) * p) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d || SMALLEST);
    c = 1 + even / c || SMALLEST;
    fraction *= d * c;
    const odd = (-(a + m) * (total + m) * p) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d || SMALLEST);
    c = 1 + odd / c || SMALLEST;
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 2e-16) break;
  }
  return fraction;
}

// The regularised incomplete beta function I_p(a, b), with q = 1 - p given apart.
function betaCumulative(p, q, a, b) {
  if (!(p > 0)) return 0;
  if (!(q > 0)) return 1;
  const kernel = Math.exp(betaLogKernel(p, q, a, b));
  if (p < (a + 1) / (a + b + 2)) return (kernel * betaFraction(p, a, b)) / a;
  return 1 - (kernel * betaFraction(q, b, a)) / b;
}

// Where an increasing function of (0, 1) with a known slope reaches a level: Newton's method
// inside a bracket that shrinks at every step.
//   at(p) returns [the excess over the level, the slope].
function root(at, start) {
  let low = 0;
  let high = 1;
  let x = Math.min(Math.max(start, 1e-3), 1 - 1e-3);
  for (let step = 0; step < 400; step++) {
    const [excess, slope] = at(x);
    if (excess > 0) high = x;
    else low = x;
    const move = slope > 0 ? excess / slope : Infinity;
    if (Math.abs(move) <= 1e-12 * Math.min(x, 1 - x)) return x - move;
    const target = x - move;
    if (target > low && target < high) x = target;
    // Near 0 halving the number finds no scale: its logarithm is halved.
    else x = high < 1e-3 ? Math.sqrt(Math.max(low, SMALLEST) * high) : 0.5 * (low + high);
    if (x <= SMALLEST || x >= LARGEST_BELOW_ONE) return x;
  }
  return x;
}

// The quantile of Beta(a, b).
function betaQuantile(probability, a, b) {
  return root((p) => {
    const q = 1 - p;
    const slope = Math.exp(betaLogKernel(p, q, a, b)) / (p * q);
    return [betaCumulative(p, q, a, b) - probability, slope];
  }, a / (a + b));
}

// Student's t: the half-width, in standard errors, of an interval of this level.
function studentHalfWidth(df, level) {
  if (df <= 1e6) return studentWithin(df, level);
  // Nearly normal: linear in 1 / df, to 12 digits.
  const [first, second] = [studentWithin(1e6, level), studentWithin(2e6, level)];
  return first + (second - first) * (2 - 2e6 / df);
}

// T^2 / (df + T^2) is Beta(1/2, df/2), and its complement has the digits where df is small.
function studentWithin(df, level) {
  if (df >= 2) {
    const y = betaQuantile(level, 0.5, df / 2);
    return Math.sqrt((df * y) / (1 - y));
  }
  const x = betaQuantile(1 - level, df / 2, 0.5);
  return Math.sqrt((df * (1 - x)) / x);
}
