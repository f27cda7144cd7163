// The page: sliders and typed numbers in, pictures, tables and sentences out.

const content = JSON.parse(document.getElementById("content").textContent);
const MANTISSAS = [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3.2, 3.5, 4, 4.5, 5, 5.6, 6.3, 7, 8, 9];

// Round numbers between two bounds, a step of a slider each, about 10% apart.
function roundNumbers(low, high, whole) {
  const found = [];
  for (let power = -4; power <= 7; power++) {
    for (const mantissa of MANTISSAS) {
      const value = Number(`${mantissa}e${power}`);
      if (value >= low && value <= high && (!whole || Number.isInteger(value))) found.push(value);
    }
  }
  return found;
}

const steps = (count, step) => Array.from({ length: count }, (_, k) => Number((k * step).toFixed(6)));
const whole = (least, most) => (value) => Number.isInteger(value) && value >= least && value <= most;

// Each slider: the numbers it stops at besides the release's own, those that may be typed, and how
// they are typed and shown.
const CONTROLS = {
  epsilon: {
    stops: () => roundNumbers(0.01, 20, false),
    allows: (value) => value >= 1e-4 && value <= 1000,
    typed: (value) => String(Number(value.toPrecision(6))),
    read: Number,
    words: (value) => `\u03b5 = ${significant(value)}`,
    range: "0.0001 to 1000",
  },
  copies: {
    stops: () => [...steps(21, 1).slice(1), ...roundNumbers(25, 100, true)],
    allows: whole(1, 1000),
    typed: String,
    read: Number,
    words: (value) => counted(value, content.groups[0].kind === "discrete_laplace" ? "noisy count" : "copy"),
    range: "1 to 1000, whole",
  },
  n: {
    stops: () => roundNumbers(1, 100000, true),
    allows: whole(1, 1e6),
    typed: (value) => value.toLocaleString("en"),
    read: (text) => Number(text.replaceAll(/[ ,\u00a0]/g, "")),
    words: (value) => counted(value, "record"),
    range: "1 to 1,000,000, whole",
  },
  share: {
    stops: () => steps(201, 0.005),
    allows: (value) => value >= 0 && value <= 1,
    typed: (value) => String(Number((100 * value).toPrecision(5))),
    read: (text) => Number(text.replace("%", "")) / 100,
    words: (value) => `${percent(value, 0.005)} ones`,
    range: "0 to 100",
  },
};
const OUTPUTS_CALLED = {
  beta_binomial: "copies", discrete_laplace: "noisy counts", randomized_response: "answers",
};
const active = Object.keys(CONTROLS).filter((name) => byId(name));

let group; // of the release
let own; // its settings
let settings; // those set now
let stops; // of each slider
let released; // what follows from the release itself

function choose(index) {
  group = content.groups[index];
  own = settingsOf(group);
  stops = {};
  for (const name of active) {
    // The release's own number takes the place of a round one that reads the same.
    const { stops: round, typed } = CONTROLS[name];
    const others = round().filter((stop) => typed(stop) !== typed(own[name]));
    stops[name] = [...others, own[name]].sort((a, b) => a - b);
    byId(name).max = stops[name].length - 1;
  }
  released = inferred(group, own, content.prior, content.level);
  check();
  restore();
}

function restore() {
  settings = { ...own };
  active.forEach(accept);
  show();
}

// Forget that a wrong number was typed.
function accept(name) {
  byId(`${name}-number`).setAttribute("aria-invalid", false);
  byId(`${name}-released`).textContent = hint(name);
}

function hint(name) {
  const value = CONTROLS[name].typed(own[name]);
  const start = name === "n" && !content.published ? `not published; set to ${value} to begin with`
    : `in the release ${value}${name === "share" ? "%" : ""}`;
  return name === "share" || settings[name] === own[name] ? start : `${start}; held: ${heldWords()}`;
}

// What stays as it is while the others slide: not what another release of the same records shows.
function heldWords() {
  return `${percent(settings.share, 0.01)} ones in the ${OUTPUTS_CALLED[group.kind]}`;
}

// Whether the page's numbers of the release are those that bayesdp computed.
function check() {
  let worst = 0;
  let compared = 0;
  for (const [method, numbers] of Object.entries(group.computed)) {
    const found = released[method];
    if (!numbers) continue;
    const mine = found ? [found.mean, found.low, found.high] : [NaN];
    for (let k = 0; k < 3; k++) worst = Math.max(worst, Math.abs(numbers[k] - mine[k]));
    compared += 3;
  }
  byId("checked").dataset.difference = worst;
  const good = worst <= 1e-6; // false where it isn't a number
  byId("failed").hidden = good;
  byId("failed").textContent = good ? ""
    : "Don\u2019t use this page: its numbers of the release are not those that bayesdp computed.";
  const largest = worst < 1e-9 ? "less than 10\u207b\u2079" : worst.toExponential(1);
  byId("checked").textContent = !good ? "" : `Checked: ${compared} numbers of the release were also `
    + `computed by bayesdp in Python; the largest difference is ${largest}.`
    + (group.computed.posterior ? "" : " Its posterior is this page\u2019s alone: there are too many "
    + "answers for Python\u2019s exact one.");
}

function changed() {
  return active.some((name) => settings[name] !== own[name]);
}

function show() {
  const moved = changed();
  const now = moved ? inferred(group, settings, content.prior, content.level) : released;
  for (const name of active) showControl(name);
  byId("back").disabled = !moved;
  byId("ghost-words").hidden = !moved;
  const rows = [...document.querySelectorAll("#numbers tbody tr")];
  const names = rows.map((row) => [row.dataset.method, row.querySelector("th").innerText.trim()]);
  drawChart(byId("chart"), now, moved ? released : null, names, byId("whole").checked);
  for (const row of rows) showRow(row, now[row.dataset.method], now.posterior);
  showWords(now, moved);
  showPromise(group, settings.epsilon);
  document.body.dataset.settings = JSON.stringify(settings);
}

function showControl(name) {
  const { typed, words } = CONTROLS[name];
  const slider = byId(name);
  const value = settings[name];
  const nearest = stops[name].reduce(
    (best, stop, k) => (Math.abs(stop - value) < Math.abs(stops[name][best] - value) ? k : best), 0,
  );
  slider.value = nearest;
  slider.setAttribute("aria-valuetext", words(value));
  slider.style.setProperty("--filled", `${(100 * nearest) / Math.max(stops[name].length - 1, 1)}%`);
  const number = byId(`${name}-number`);
  if (number.getAttribute("aria-invalid") === "true") return;
  number.value = typed(value);
  byId(`${name}-released`).textContent = hint(name);
}

function showRow(row, found, posterior) {
  const cells = [...row.querySelectorAll("td")];
  for (const cell of cells) cell.hidden = !found && cell !== cells[0];
  cells[0].colSpan = found ? 1 : cells.length;
  cells[0].className = found ? "" : "none";
  if (!found) {
    cells[0].textContent = row.dataset.method === "combined" && settings.copies < 2
      ? "none: it needs two copies" : "none: a number released is no count of these records";
    for (const cell of cells) delete cell.dataset.value;
    return;
  }
  const width = found.high - found.low;
  const values = { ...found, width, ratio: width / (posterior.high - posterior.low) };
  for (const cell of cells) {
    const name = cell.dataset.number;
    cell.dataset.value = values[name];
    cell.dataset.label = { mean: "Estimate", low: "From", high: "To", width: "Width", ratio: "Ratio" }[name];
    if (name === "ratio") cell.textContent = `\u00d7 ${Number(values.ratio.toPrecision(3))}`;
    else if (name === "width") cell.textContent = percent(width, width).replace("%", "");
    else cell.textContent = percent(values[name], width);
  }
}

function showWords(now, moved) {
  const { posterior, naive } = now;
  const level = `${Number((100 * content.level).toPrecision(6))}%`;
  const where = content.by === null ? "" : ` (${content.by}: ${group.label})`;
  const set = active.map((name) => CONTROLS[name].words(settings[name])).join(", ");
  const times = naive ? (posterior.high - posterior.low) / (naive.high - naive.low) : 0;
  const against = times >= 1.05 && times < Infinity
    ? ` That is ${Number(times.toPrecision(3)).toLocaleString("en")} times as wide as the interval that ignores the randomisation.` : "";
  const outputs = OUTPUTS_CALLED[group.kind];
  const other = ["epsilon", "copies", "n"].some((name) => settings[name] !== own[name]);
  const supposed = other
    ? `If ${outputs} made with these settings had the same ${percent(settings.share, 0.01)} ones, they would put`
    : "Such a release would put";
  const caution = other ? ` The same records would have given other ${outputs}: the proportion of ones `
    + "in them is held, and moves only by its own slider." : "";
  byId("answer").replaceChildren(
    `${moved ? supposed : "The release puts"} the proportion with `,
    tag("em", content.variable), `\u00a0=\u00a01${where} between `,
    tag("strong", span(posterior).replace(" to ", " and ")),
    `, with probability ${level}.${against}${caution}`,
  );
  byId("settings-words").textContent = `${moved ? "Settings" : "The release"}: ${set}.`;
  byId("mechanism-words").textContent = mechanismWords(group, now);
  const spoken = `${moved ? set : "The release"}: posterior ${span(posterior)}`
    + (naive ? `; ignoring the randomisation ${span(naive)}.` : ".");
  byId("chart-words").textContent = spoken;
  speakLater(spoken);
}

let speaking;
function speakLater(words) {
  clearTimeout(speaking);
  speaking = setTimeout(() => { byId("spoken").textContent = words; }, 600);
}

// Many moves between two frames are drawn once.
let waiting = false;
function showSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; show(); });
}

for (const name of active) {
  const { read, allows, typed, range: allowed } = CONTROLS[name];
  const number = byId(`${name}-number`);
  byId(name).addEventListener("input", (event) => {
    settings[name] = stops[name][Number(event.target.value)];
    accept(name);
    showSoon();
  });
  // A typed number counts when it is entered: its first digits alone would be another.
  number.addEventListener("change", () => {
    const text = number.value.trim();
    const value = text === typed(own[name]) ? own[name] : read(text);
    const good = text !== "" && (allows(value) || value === own[name]);
    number.setAttribute("aria-invalid", !good);
    byId(`${name}-released`).textContent = good ? hint(name) : `enter a number from ${allowed}`;
    if (good) settings[name] = value;
    show();
  });
}
byId("group")?.addEventListener("change", (event) => choose(Number(event.target.value)));
byId("back").addEventListener("click", () => { restore(); byId(active[0]).focus(); });
byId("whole").addEventListener("change", show);
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
new ResizeObserver(showSoon).observe(byId("chart").parentElement);
choose(Number(byId("group")?.value ?? 0));
