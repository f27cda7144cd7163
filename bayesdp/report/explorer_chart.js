// The pictures: densities over intervals on one axis, and how far a belief can move.

const SVG = "http://www.w3.org/2000/svg";
const POINTS = 241; // of a curve
const ROW = 40; // pixels of an interval with its name

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const key in attributes) made.setAttribute(key, attributes[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Points of a density, its peak at 1; one that grows without bound at an end is cut there.
function curveOf(posterior) {
  const { mean, sd } = posterior;
  const low = Math.max(mean - 7 * sd, 1e-9);
  const high = Math.min(mean + 7 * sd, 1 - 1e-9);
  const points = Array.from({ length: POINTS }, (_, k) => {
    const p = low + ((high - low) * k) / (POINTS - 1);
    return [p, posterior.density(p)];
  });
  const largest = Math.max(...points.slice(1, -1).map((point) => point[1]), 1e-300);
  const curve = points.map(([p, height]) => [p, Math.min(height / largest, 1.04)]);
  const seen = (point) => point[1] > 0.002; // the rest would run along the axis
  return curve.slice(Math.max(curve.findIndex(seen) - 1, 0), curve.findLastIndex(seen) + 2);
}

// An axis over some proportions, its ends on ticks of 1, 2 or 5 times a power of ten.
function axisOver(values, most) {
  let low = Math.max(Math.min(...values), 0);
  let high = Math.min(Math.max(...values), 1);
  if (high - low < 1e-7) [low, high] = [Math.max(low - 5e-8, 0), Math.min(high + 5e-8, 1)];
  const power = 10 ** Math.floor(Math.log10((high - low) / 2));
  const step = [1, 2, 5, 10, 20].map((k) => k * power).find((s) => (high - low) / s <= most - 1);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.ceil(high / step - 1e-9)];
  const ticks = Array.from({ length: last - first + 1 }, (_, k) => (first + k) * step);
  const decimals = Math.max(0, Math.ceil(-Math.log10(100 * step) - 1e-9));
  return { low: first * step, high: last * step, ticks, decimals };
}

// The proportions that a picture must show.
function shownBy({ posterior, naive, combined, shares }) {
  const { mean, sd, low, high } = posterior;
  const values = [low, high, Math.max(mean - 3.2 * sd, 0), Math.min(mean + 3.2 * sd, 1), ...shares];
  for (const each of [naive, combined]) if (each) values.push(each.low, each.high, each.mean);
  return values;
}

// Draw what follows from the settings, over what follows from the release itself where they differ.
function drawChart(svg, now, released, names, whole) {
  const width = Math.max(svg.clientWidth, 200);
  const high = width < 560 ? 120 : 230; // of the densities
  const most = Math.max(3, Math.floor(width / 110));
  let axis = axisOver(whole ? [0, 1] : [now, released].filter(Boolean).flatMap(shownBy), most);
  const share = (now.posterior.high - now.posterior.low) / (axis.high - axis.low);
  // The release itself isn't shown whole where that would leave no room for what is asked.
  if (!whole && share < 0.08) axis = axisOver(shownBy(now), most);
  const inset = 22;
  const x = (p) => inset + ((width - 2 * inset) * (p - axis.low)) / (axis.high - axis.low);
  const fixed = (number) => number.toFixed(2);
  const base = high + 10;
  const rows = names.filter(([method]) => method in now);
  const bottom = base + 18 + rows.length * ROW;
  svg.setAttribute("height", bottom + 26);
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 26}`);
  const path = (posterior) =>
    curveOf(posterior).map(([p, y]) => `${fixed(x(p))},${fixed(base - high * 0.94 * y)}`).join(" ");
  const drawn = [];
  const add = (...what) => drawn.push(element(...what));

  for (const tick of axis.ticks) {
    const at = fixed(x(tick));
    add("line", { x1: at, x2: at, y1: 4, y2: bottom, stroke: "var(--faint)" });
    add("text", { x: at, y: bottom + 18, class: "tick" }, `${(100 * tick).toFixed(axis.decimals)}%`);
  }
  const filled = path(now.posterior);
  const [start, end] = [filled.split(",")[0], filled.split(" ").pop().split(",")[0]];
  add("polygon", { class: "area", points: `${start},${base} ${filled} ${end},${base}` });
  if (released) add("polyline", { class: "ghost", points: path(released.posterior) });
  if (now.naive) add("polyline", { class: "curve naive", points: path(now.naive) });
  add("polyline", { class: "curve", points: filled });
  add("line", { class: "base", x1: 0, x2: width, y1: base, y2: base });
  const copies = element("g", { class: "copies" });
  for (const share of new Set(now.shares)) {
    if (share < axis.low || share > axis.high) continue;
    const at = fixed(x(share));
    copies.append(element("line", { x1: at, x2: at, y1: base + 1, y2: base + 10 }));
  }
  drawn.push(copies);
  rows.forEach(([method, name], k) => {
    const top = base + 18 + k * ROW;
    drawn.push(interval(now[method], method, name, top, x, width));
    const ghost = method === "posterior" && released && released.posterior;
    if (ghost) {
      for (const bound of [ghost.low, ghost.high]) {
        const at = fixed(x(bound)); // outside the picture where it isn't on the axis
        add("line", { class: "ghost", x1: at, x2: at, y1: top + 19, y2: top + 33 });
      }
    }
  });
  svg.replaceChildren(...drawn);
}

// An interval's name and bounds, above its line and mark; or why there is none.
function interval(found, method, name, top, x, width) {
  const group = element("g", { "data-method": method });
  const words = element("text", { x: 0, y: top + 14 });
  words.append(element("tspan", { class: "name" }, name));
  const range = found ? span(found) : "none";
  words.append(element("tspan", { class: "range", dx: 10 }, range));
  group.append(words);
  if (!found) return group;
  const marks = element("g", { class: `m-${method}` });
  const y = top + 26;
  const within = (p) => Math.min(Math.max(x(p), 0), width).toFixed(2);
  marks.append(element("line", { x1: within(found.low), x2: within(found.high), y1: y, y2: y }));
  if (x(found.low) < 0) marks.append(element("use", { class: "cut", href: "#cut-low", x: 1, y }));
  if (x(found.high) > width) {
    marks.append(element("use", { class: "cut", href: "#cut-high", x: width - 1, y }));
  }
  marks.append(element("use", { class: "dot", href: `#mark-${method}`, x: within(found.mean), y }));
  group.append(marks);
  return group;
}

// What a belief of one half can become.
function drawBelief(svg, low, high) {
  const drawn = [];
  const add = (...what) => drawn.push(element(...what));
  add("line", { class: "base", x1: "0", x2: "100%", y1: 30, y2: 30 });
  add("line", { class: "range-of-belief", x1: `${100 * low}%`, x2: `${100 * high}%`, y1: 30, y2: 30 });
  add("line", { class: "half", x1: "50%", x2: "50%", y1: 20, y2: 40 });
  add("text", { x: "50%", y: 13 }, "50% before");
  add("text", { x: "0", y: 58, style: "text-anchor: start" }, "0%: surely not");
  add("text", { x: "100%", y: 58, style: "text-anchor: end" }, "100%: surely");
  svg.replaceChildren(...drawn);
}
