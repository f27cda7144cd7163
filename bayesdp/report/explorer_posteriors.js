// Posteriors of a proportion: mean, sd, density and quantiles, each by an exact formula.

// The finite mixture sum over x of w(x) Beta(g1 + x, g2 + n - x), x = 0..n: given the latent count x
// of ones among n records, p is beta, and w(x) is proportional to
//     law(x) C(n, x) B(g1 + x, g2 + n - x),
// where lawStep(x) = log law(x + 1) - log law(x) decreases in x.  Neighbouring weights, and
// neighbouring beta densities, have ratios of rational numbers, so both are found by recursion
// outwards from where they are largest: no digit is lost, and only counts that matter are visited.
function betaMixture(n, [g1, g2], lawStep) {
  const step = (x) => lawStep(x) + Math.log(((n - x) * (g1 + x)) / ((x + 1) * (g2 + (n - x - 1))));
  const { first, weights } = weightsAround(n, step, g1 >= 1 && g2 >= 1 ? step : lawStep);
  const last = first + weights.length - 1;
  const total = g1 + g2 + n;
  const cumulative = new Float64Array(weights.length);
  let sum = 0;
  let mean = 0;
  for (let i = 0; i < weights.length; i++) {
    sum += weights[i];
    cumulative[i] = sum;
    mean += (weights[i] * (g1 + first + i)) / total;
  }
  let variance = 0;
  for (let i = 0; i < weights.length; i++) {
    const m = (g1 + first + i) / total;
    variance += weights[i] * ((m * (1 - m)) / (total + 1) + (m - mean) ** 2);
  }

  // The cumulative probability and the density at p.  With t(x) = p^a q^(b - 1) / (a B(a, b)),
  //     I_p(a, b) - I_p(a + 1, b - 1) = t(x),   t(x + 1) / t(x) = (p / q) (b - 1) / (a + 1),
  // a = g1 + x, b = g2 + n - x, the density of a component is t(x) a / p.
  const at = (p) => {
    const q = 1 - p;
    const peak = Math.min(Math.max(Math.round(p * (total - 1) - g1), first), last);
    const [a, b] = [g1 + peak, g2 + (n - peak)];
    const top = Math.exp(betaLogKernel(p, q, a, b)) / (a * q);
    const odds = p / q;
    let below = 0;
    let density = 0;
    const add = (x, term) => {
      if (x < last) below += term * cumulative[x - first];
      density += (term * (g1 + x) * weights[x - first]) / p;
    };
    let term = top;
    for (let x = peak; x <= last && term > top * 1e-22; x++) {
      add(x, term);
      term *= (odds * (g2 + (n - x - 1))) / (g1 + x + 1);
    }
    term = top;
    for (let x = peak - 1; x >= first; x--) {
      term *= (g1 + x + 1) / (odds * (g2 + (n - x - 1)));
      if (!(term > top * 1e-22)) break;
      add(x, term);
    }
    return [below + betaCumulative(p, q, g1 + last, g2 + (n - last)), density];
  };
  const sd = Math.sqrt(variance);
  return {
    mean, sd,
    density: (p) => at(p)[1],
    quantile: (share) => quantileOf(at, share, mean, sd),
  };
}

// The weights whose logarithms have these steps, summing to one, from the first that matters on.
// `concave` is a part of the step that decreases in x, by which the search starts.
function weightsAround(n, step, concave) {
  let [low, high] = [0, n]; // the mode, by bisection
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (concave(middle) > 0) low = middle + 1;
    else high = middle;
  }
  // Beyond 1e-40 of the largest nothing comes back: a prior with a pole adds 25 digits at most.
  const cut = -92;
  const [up, down] = [[], []];
  let log = 0;
  let largest = 0;
  for (let x = low; x < n && log > largest + cut; x++) {
    log += step(x);
    largest = Math.max(largest, log);
    up.push(log);
  }
  log = 0;
  for (let x = low - 1; x >= 0 && log > largest + cut; x--) {
    log -= step(x);
    largest = Math.max(largest, log);
    down.push(log);
  }
  const logs = Float64Array.from([...down.reverse(), 0, ...up]);
  const weights = logs.map((value) => Math.exp(value - largest));
  const sum = weights.reduce((a, b) => a + b, 0);
  return { first: low - down.length, weights: weights.map((w) => w / sum) };
}

function quantileOf(at, share, mean, sd) {
  return root((p) => {
    const [below, density] = at(p);
    return [below - share, density];
  }, share < 0.5 ? mean - 2 * sd : mean + 2 * sd);
}

// A posterior with density proportional to p^g1 q^g2 L(p) / (p q), given log L: by Gauss's rule in
// panels of u = log(p / q), where even a density with poles is smooth and falls off exponentially.
function posteriorByQuadrature([g1, g2], logLikelihood) {
  const log = (u) => {
    const [logP, logQ] = [-softplus(-u), -softplus(u)];
    return g1 * logP + g2 * logQ + logLikelihood(Math.exp(logP), Math.exp(logQ));
  };
  const { low, high, peak, largest } = range(log, -30 - 50 / g1, 30 + 50 / g2);
  const edges = evenly(low, high, [100, 800, 100]);
  const about = expit(peak);
  // The integrals of the density, and of it times p and p^2 about the peak, over [from, to].
  const moments = (from, to) => {
    const found = [0, 0, 0];
    for (const [node, weight] of GAUSS) {
      const u = from + (to - from) * node;
      const mass = weight * (to - from) * Math.exp(log(u) - largest);
      const away = expit(u) - about;
      found[0] += mass;
      found[1] += mass * away;
      found[2] += mass * away * away;
    }
    return found;
  };
  const total = [0, 0, 0];
  const before = [0];
  for (let k = 0; k + 1 < edges.length; k++) {
    moments(edges[k], edges[k + 1]).forEach((value, i) => { total[i] += value; });
    before.push(total[0]);
  }
  const away = total[1] / total[0];
  const [mean, sd] = [about + away, Math.sqrt(Math.max(total[2] / total[0] - away * away, 0))];
  const at = (p) => {
    const u = Math.log(p) - Math.log1p(-p);
    const inside = Math.min(Math.max(u, low), high);
    const k = edges.findLastIndex((edge) => edge <= inside);
    const below = (before[k] + moments(edges[k], inside)[0]) / total[0];
    return [below, Math.exp(log(u) - largest) / (total[0] * p * (1 - p))];
  };
  return {
    mean, sd,
    density: (p) => at(p)[1],
    quantile: (share) => quantileOf(at, share, mean, sd),
  };
}

// Nodes and weights on [0, 1].
const GAUSS = [
  [0.1834346424956498, 0.362683783378362], [0.525532409916329, 0.3137066458778873],
  [0.7966664774136267, 0.2223810344533745], [0.9602898564975363, 0.1012285362903763],
].flatMap(([node, weight]) => [[(1 - node) / 2, weight / 2], [(1 + node) / 2, weight / 2]]);

const softplus = (u) => Math.max(u, 0) + Math.log1p(Math.exp(-Math.abs(u)));

const expit = (u) => Math.exp(-softplus(-u));

// Numbers from low to high, so many steps below -60, from there to 60, and above: beyond, a
// likelihood no longer changes, and only the prior's tail is left.
function evenly(low, high, steps) {
  const bounds = [low, Math.min(Math.max(-60, low), high), Math.max(Math.min(60, high), low), high];
  const found = [low];
  for (const [k, count] of steps.entries()) {
    const [from, to] = [bounds[k], bounds[k + 1]];
    for (let j = 1; j <= count && to > from; j++) found.push(from + ((to - from) * j) / count);
  }
  return found;
}

// Where a log density is within 45 of its largest value, and where that is.
function range(log, from, to) {
  let grid = evenly(from, to, [100, 480, 100]);
  let [peak, largest] = [from, -Infinity];
  for (let round = 0; round < 10; round++) {
    for (const u of grid) {
      const value = log(u);
      if (value > largest) [peak, largest] = [u, value];
    }
    const step = round ? grid[1] - grid[0] : Math.max(0.25, (to - from) / 200);
    grid = Array.from({ length: 21 }, (_, k) => peak + (step * (k - 10)) / 10);
  }
  const inside = (u) => log(u) > largest - 45;
  const seen = [peak, ...evenly(from, to, [100, 480, 100]).filter(inside)];
  // Ends between what is inside and an end: by bisection, to a thousandth.
  const end = (near, far) => {
    for (let k = 0; k < 60 && Math.abs(far - near) > 1e-3 * Math.abs(near - peak); k++) {
      const middle = (near + far) / 2;
      if (inside(middle)) near = middle;
      else far = middle;
    }
    return far;
  };
  return { low: end(Math.min(...seen), from), high: end(Math.max(...seen), to), peak, largest };
}

// The beta posterior of somebody who takes `ones` among `records` for real.
function betaPosterior(ones, records, [g1, g2]) {
  const [a, b] = [g1 + ones, g2 + records - ones];
  const mean = a / (a + b);
  return {
    mean,
    sd: Math.sqrt((mean * (1 - mean)) / (a + b + 1)),
    density: (p) => Math.exp(betaLogKernel(p, 1 - p, a, b)) / (p * (1 - p)),
    quantile: (share) => betaQuantile(share, a, b),
  };
}

// The combining rule of Liu (bayesdp.evaluation.combining_rules): T = v + b / M with
// (M - 1) (1 + M v / b)^2 degrees of freedom; null where it doesn't apply.
function liu(shares, size, level) {
  const copies = shares.length;
  if (copies < 2 || shares.some((q) => q < 0 || q > 1)) return null;
  const average = (values) => values.reduce((a, b) => a + b, 0) / copies;
  const estimate = average(shares);
  const within = average(shares.map((q) => (q * (1 - q)) / size));
  const between = (average(shares.map((q) => (q - estimate) ** 2)) * copies) / (copies - 1);
  const variance = within + between / copies;
  const df = between > 0 ? (copies - 1) * (1 + (copies * within) / between) ** 2 : Infinity;
  const half = variance > 0 ? studentHalfWidth(df, level) * Math.sqrt(variance) : 0;
  return { mean: estimate, low: estimate - half, high: estimate + half };
}
