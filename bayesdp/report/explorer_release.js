// What follows from a release, or from one like it under other settings.
//
// A group, as written into the page, has a kind, the numbers of its mechanism and its outputs.
// Settings are { epsilon, copies, n, share }: the epsilon of all copies together, their number, the
// number of confidential records, and the copies' mean proportion of ones.

// The release's own settings.
function settingsOf(group) {
  const { epsilon, n, outputs } = group;
  const records = outputs.length * sizeAt(group, n);
  return { epsilon, copies: outputs.length, n, share: sum(outputs) / records };
}

// Records in a copy: as many as there are confidential ones if that is so in the release.
function sizeAt(group, n) {
  return group.size === group.n ? n : group.size;
}

// The outputs: the release's own while copies, n and share are; else every copy alike, with whole
// numbers that have the asked total.
function outputsAt(group, settings) {
  const own = settingsOf(group);
  if (["copies", "n", "share"].every((name) => settings[name] === own[name])) return group.outputs;
  const { copies, n, share } = settings;
  const total = Math.floor(share * copies * sizeAt(group, n) + 0.5);
  const each = Math.floor(total / copies);
  return Array.from({ length: copies }, (_, k) => each + (k < total - copies * each ? 1 : 0));
}

// What each kind of mechanism is at some settings, and the log of its law's steps in x.
const KINDS = {
  // z ~ BetaBinomial(size, a + x, b + n - x), calibrated as BetaBinomialMechanism.calibrate does,
  // in the proportions of the release's own prior.
  beta_binomial: {
    mechanism(group, settings) {
      const size = sizeAt(group, settings.n);
      const [a, b] = group.prior;
      if (same(group, settings, ["epsilon", "copies"]) && size === group.size) {
        return { size, prior: [a, b] };
      }
      const scale = priorFor(size, settings.epsilon, settings.copies) / Math.min(a, b);
      return { size, prior: [a * scale, b * scale] };
    },
    posterior({ size, prior: [a, b] }, outputs, n, prior) {
      const seen = tally(outputs);
      return betaMixture(n, prior, (x) => {
        let log = 0;
        let ratio = 1; // of single outputs, so that many of them take one logarithm
        for (const [z, times] of seen) {
          const one = (1 + z / (a + x)) / (1 + (size - z) / (b + (n - x - 1)));
          if (times > 1) log += times * Math.log(one);
          else ratio *= one;
          if (ratio > 1e100 || ratio < 1e-100) [log, ratio] = [log + Math.log(ratio), 1];
        }
        return log + Math.log(ratio);
      });
    },
  },

  // Every record's answer is j with probability matrix[i][j], given its true category i.
  randomized_response: {
    mechanism(group, settings) {
      if (same(group, settings, ["epsilon"])) return { size: settings.n, matrix: group.matrix };
      const lie = 1 / (1 + Math.exp(settings.epsilon));
      return { size: settings.n, matrix: [[1 - lie, lie], [lie, 1 - lie]] };
    },
    posterior({ matrix: [[p00, p01], [p10, p11]] }, [ones], n, prior) {
      return posteriorByQuadrature(
        prior,
        (p, q) => (ones && ones * Math.log(p * p11 + q * p01))
          + (n - ones && (n - ones) * Math.log(p * p10 + q * p00)),
      );
    },
  },

  // z = x + k with Pr[k] proportional to exp(-|k| / scale).
  discrete_laplace: {
    mechanism(group, settings) {
      const own = same(group, settings, ["epsilon", "copies"]);
      const scale = own ? group.scale : (settings.copies * group.moved) / settings.epsilon;
      return { size: settings.n, scale };
    },
    posterior({ scale }, outputs, n, prior) {
      const sorted = [...outputs].sort((z, w) => z - w);
      return betaMixture(n, prior, (x) => {
        let [reached, beyond] = [0, sorted.length]; // how many are at most x, by bisection
        while (reached < beyond) {
          const middle = (reached + beyond) >> 1;
          if (sorted[middle] <= x) reached = middle + 1;
          else beyond = middle;
        }
        return (sorted.length - 2 * reached) / scale;
      });
    },
  },
};

// All that the page shows: intervals of the posterior, of the naive one and of Liu's rule, the last
// two null where there are none.
function inferred(group, settings, prior, level) {
  const kind = KINDS[group.kind];
  const mechanism = kind.mechanism(group, settings);
  const outputs = outputsAt(group, settings);
  const { n } = settings;
  const shares = outputs.map((z) => z / mechanism.size);
  return {
    mechanism, outputs, shares,
    posterior: withInterval(kind.posterior(mechanism, outputs, n, prior), level),
    naive: naiveOf(group, outputs, mechanism.size, prior, level),
    combined: liu(shares, mechanism.size, level),
  };
}

// Copies are pooled; noisy counts of the same records are averaged.
function naiveOf(group, outputs, size, prior, level) {
  const noisy = group.kind === "discrete_laplace";
  const ones = noisy ? sum(outputs) / outputs.length : sum(outputs);
  const records = noisy ? size : size * outputs.length;
  if (ones < 0 || ones > records) return null;
  return withInterval(betaPosterior(ones, records, prior), level);
}

function withInterval(posterior, level) {
  const tail = (1 - level) / 2;
  return { ...posterior, low: posterior.quantile(tail), high: posterior.quantile(1 - tail) };
}

// size / (exp(epsilon / copies) - 1), rounded up until the guarantee, itself rounded up, holds.
function priorFor(size, epsilon, copies) {
  const safe = 1 + 2 ** -50;
  const share = epsilon / copies;
  let a = size * Math.max(Math.exp(-share) / -Math.expm1(-share), 1e-300);
  while (copies * Math.log1p(size / a) * safe > epsilon) a *= safe;
  return a;
}

// Whether some settings are the release's own.
function same(group, settings, names) {
  const own = settingsOf(group);
  return names.every((name) => settings[name] === own[name]);
}

function tally(outputs) {
  const times = new Map();
  for (const z of outputs) times.set(z, (times.get(z) || 0) + 1);
  return [...times];
}

function sum(numbers) {
  return numbers.reduce((a, b) => a + b, 0);
}
