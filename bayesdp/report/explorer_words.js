// Numbers and sentences.

const byId = (id) => document.getElementById(id);
const MINUS = "\u2212";

function significant(value) {
  return String(Number(value.toPrecision(4)));
}

function tag(name, ...inside) {
  const made = document.createElement(name);
  made.append(...inside);
  return made;
}

function counted(count, noun) {
  const many = noun === "copy" ? "copies" : `${noun}s`;
  return `${count.toLocaleString("en")} ${count === 1 ? noun : many}`;
}

// A proportion as a percentage, with digits enough for something of that width.
function percent(share, width) {
  const digits = Math.min(Math.max(1, Math.ceil(1 - Math.log10(100 * width + 1e-12))), 7);
  return `${(100 * share).toFixed(digits)}%`.replace("-", MINUS);
}

function span({ low, high }) {
  return `${percent(low, high - low)} to ${percent(high, high - low)}`;
}

// A privacy number, rounded so that it never reads better than it is.
function roundedUp(value, digits = 4) {
  if (!Number.isFinite(value)) return "infinity";
  const scale = 10 ** (digits - 1 - Math.floor(Math.log10(value)));
  const up = Math.ceil(value * scale * (1 - 1e-12)) / scale;
  if (up < 1e7) return up.toLocaleString("en", { maximumSignificantDigits: digits });
  const [mantissa, power] = up.toExponential(digits - 1).split("e+");
  return `${mantissa} \u00d7 10^${power}`;
}

// What the mechanism is, and what it released.
function mechanismWords(group, { mechanism, outputs, shares }) {
  const few = outputs.length <= 12 ? outputs.map((z) => z.toLocaleString("en")).join(", ")
    : `${Math.min(...outputs).toLocaleString("en")} to ${Math.max(...outputs).toLocaleString("en")}`;
  if (group.kind === "discrete_laplace") {
    return `Noise of scale ${significant(mechanism.scale)}; released ${few}.`;
  }
  const of = `of ${counted(mechanism.size, group.kind === "beta_binomial" ? "record" : "answer")}`;
  if (group.kind === "randomized_response") {
    const truth = [0, 1].map((k) => percent(mechanism.matrix[k][k], 0.01));
    return `A 0 is answered truly with probability ${truth[0]}, a 1 with ${truth[1]}; ${few} ones ${of}.`;
  }
  const [a, b] = mechanism.prior.map((value) => Number(value.toPrecision(4)).toLocaleString("en"));
  return `The mechanism\u2019s prior is Beta(${a}, ${b}); ones in the copies: ${few}, each ${of}`
    + ` (mean ${percent(sum(shares) / shares.length, 0.01)}).`;
}

// What epsilon means for an attacker's odds, in words and as a picture.
function showPromise(group, epsilon) {
  const odds = Math.exp(epsilon);
  const high = 1 / (1 + Math.exp(-epsilon));
  const low = 1 / (1 + odds);
  const claim = group.neighbours === "replace_one"
    ? "any one person\u2019s answer being 1" : "any one person being among the records";
  byId("promise-words").replaceChildren(
    `\u03b5 = ${roundedUp(epsilon)}: whatever else an attacker knows, even every other record, `
    + `seeing all that is released multiplies the odds they give to ${claim} by at most `,
    tag("strong", "e", tag("sup", "\u03b5"), `\u00a0=\u00a0${roundedUp(odds)}`),
    ", and divides them by at most as much.",
  );
  const most = high > 0.9999 ? "nearly 100" : (Math.ceil(1e4 * high) / 100).toString();
  const least = low < 0.0001 ? "nearly 0" : (Math.floor(1e4 * low) / 100).toString();
  byId("belief-words").textContent = `A belief of 50% can become at most ${most}%, and at least ${least}%.`;
  drawBelief(byId("belief"), low, high);
}
