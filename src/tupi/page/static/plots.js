// Figures: the report's own patterns with the numbers of the moment, drawn by plotly in the page's colours.
import { getJSON } from "./api.js";
import { movers } from "./ranking.js";
import { number } from "./words.js";

const MOST_POINTS = 1000; // more make each move of a slider slow, and become a picture instead
const TOUCHED = matchMedia("(hover: none), (pointer: coarse)").matches; // buttons would lie over the legend
let loading = null;

// Plotly is large: it is fetched when the first figure is.
function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/plotly.js";
    script.onload = () => resolve(globalThis.Plotly);
    script.onerror = () => {
      loading = null;
      reject(new Error("The script that draws figures could not be loaded."));
    };
    document.head.append(script);
  });
  return loading;
}

export class Figures {
  constructor(facts, ranking) {
    this.facts = facts;
    this.ranking = ranking;
    this.drawn = {};
  }

  async load() {
    [this.plotly, this.patterns] = await Promise.all([plotly(), getJSON("/api/figures")]);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  redraw() {
    for (const [name, figure] of Object.entries(this.drawn)) this.react(name, figure.data, figure.layout);
  }

  react(name, data, layout) {
    const place = document.getElementById(`plot-${name}`);
    this.drawn[name] = { data, layout };
    place.style.height = `${layout.height}px`;
    return this.plotly.react(place, data, inPageColours(layout), { ...this.facts.config, ...(TOUCHED && { displayModeBar: false }) });
  }

  say(name, words) {
    document.getElementById(`plot-${name}`).setAttribute("aria-label", words);
  }

  // Shows the place of a figure, or hides it and forgets what was drawn there.
  show(name, there) {
    const place = document.getElementById(`plot-${name}`);
    place.closest("figure").hidden = !there;
    if (there || !this.drawn[name]) return;
    delete this.drawn[name];
    place.line?.remove();
    delete place.line;
    place.removeAttribute("aria-label");
    this.plotly.purge(place);
  }

  // Whatever depends on the whole path.
  path(steps, t) {
    const upto = steps.map((_, k) => k);
    const { weights, accuracy } = this.patterns;
    const lines = weights.data.map((trace, k) => ({ ...trace, x: upto, y: steps.map((step) => step.weights[k]) }));
    this.react("weights", lines, { ...weights.layout, xaxis: axis(weights.layout.xaxis, this.facts.last) });
    const shown = steps[Math.min(t, steps.length - 1)];
    this.say("weights", `Weights of the views at step ${shown.t}: ${this.facts.views.map((view, k) => `${view} ${number(shown.weights[k])}`).join(", ")}.`);
    this.mark(t);
    if (steps.every((step) => step.accuracy === null)) return;
    const line = [{ ...accuracy.data[0], x: upto, y: steps.map((step) => step.accuracy) }];
    this.react("accuracy", line, {
      ...accuracy.layout,
      xaxis: axis(accuracy.layout.xaxis, this.facts.last),
      yaxis: { ...accuracy.layout.yaxis, ...aroundEqual(line[0].y), title: { text: this.facts.metric } },
    });
    this.mark(t);
    this.say("accuracy", `Agreement with the labels: ${number(steps[0].accuracy)} at step 0, ${number(shown.accuracy)} at step ${shown.t}.`);
  }

  // Puts a line at T over a figure. It is not a shape of the figure: plotly would draw all of it again for a moved line.
  mark(t) {
    this.t = t;
    for (const name of ["weights", "accuracy"]) {
      if (!this.drawn[name]) continue;
      const place = document.getElementById(`plot-${name}`);
      if (!place.line) {
        place.line = document.createElement("div");
        place.line.className = "at-t";
        place.append(place.line);
        place.on("plotly_afterplot", () => this.place(place));
      }
      this.place(place);
    }
  }

  place({ line, _fullLayout: { xaxis, yaxis } }) {
    const share = (this.t - xaxis.range[0]) / (xaxis.range[1] - xaxis.range[0]);
    line.hidden = share < 0 || share > 1;
    line.style.left = `${xaxis._offset + share * xaxis._length}px`;
    line.style.top = `${yaxis._offset}px`;
    line.style.height = `${yaxis._length}px`;
  }

  // Old against new scores. Drawing many items takes a while, so those of a step that is shown already stay.
  scores(step) {
    if (this.drawn.scatter?.step === step) return;
    const { scatter } = this.patterns;
    const { initial } = this.ranking;
    const ranked = this.facts.task === "ranking"; // else the values themselves moved
    const by = ranked ? (item) => initial.rank[item] - step.rank[item] : (item) => step.score[item] - initial.score[item];
    const moved = [1, -1].flatMap((sign) => movers(initial.rank.length, by, sign, 10).map(({ item }) => item));
    const [line, points, marked] = scatter.data;
    const pick = (values, chosen) => Array.from(chosen, (item) => values[item]);
    const hover = { text: null, hovertemplate: "before %{x:.4~g}<br>after %{y:.4~g}<extra></extra>" };
    const few = initial.score.length <= MOST_POINTS;
    const all = few ? Array.from(initial.score.keys()) : [];
    const data = [
      line,
      { ...points, ...hover, x: few ? pick(initial.score, all) : [null], y: few ? pick(step.score, all) : [null] },
      { ...marked, ...hover, x: pick(initial.score, moved), y: pick(step.score, moved) },
    ];
    const [x, y] = [extent(initial), extent(initial, step)];
    const layout = { ...scatter.layout, xaxis: { ...scatter.layout.xaxis, range: x }, yaxis: { ...scatter.layout.yaxis, range: y } };
    if (!few) layout.images = [cloud(initial.score, step.score, x, y, points.marker.color)];
    this.react("scatter", data, layout);
    this.drawn.scatter.step = step;
    this.say("scatter", `Scatter plot of ${initial.score.length} items: score before against score after${this.ranking.hasSteps() ? ` ${step.t} steps` : ""}.`);
  }

  // The link of each view with the scores, before and after.
  dependence(links) {
    const { dependence } = this.patterns;
    const bars = dependence.data.map((trace, k) => ({ ...trace, x: links.slice(0, trace.y.length).map((one) => (k ? one.after : one.before)) }));
    this.react("dependence", bars, dependence.layout);
    this.say("dependence", `Normalised HSIC of the scores with each view, before and after: ${links.map(({ view, before, after }) => `${view} ${number(before)} to ${number(after)}`).join(", ")}.`);
  }
}

const axis = (pattern, last) => ({ ...pattern, dtick: undefined, range: [-0.5, last + 0.5] });

// Around values that are all the same, plotly would draw an axis from 0 to 2 for a share of 1.
const aroundEqual = ([first, ...others]) =>
  others.every((value) => value === first) ? { range: [-1, 1].map((side) => first + 0.05 * side * (Math.abs(first) || 1)) } : {};

// The range of some scores, with a margin; found once for each.
function extent(...parts) {
  let [low, high] = [Infinity, -Infinity];
  for (const part of parts) {
    part.extent ??= part.score.reduce(([a, b], value) => [value < a ? value : a, value > b ? value : b], [Infinity, -Infinity]);
    low = Math.min(low, part.extent[0]);
    high = Math.max(high, part.extent[1]);
  }
  const margin = 0.04 * (high - low) || 1;
  return [low - margin, high + margin];
}

const canvas = document.createElement("canvas");

// Many points as a picture between the axes: each a small dot, darker where they lie together.
function cloud(before, after, [x0, x1], [y0, y1], colour) {
  const [width, height] = [480, 360];
  const dot = before.length < 10000 ? 3 : 2;
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  const counts = new Uint16Array(width * height);
  for (let item = 0; item < before.length; item += 1) {
    const column = Math.floor(((before[item] - x0) / (x1 - x0)) * (width - dot));
    const row = Math.floor(((y1 - after[item]) / (y1 - y0)) * (height - dot));
    for (let down = 0; down < dot; down += 1) {
      const at = (row + down) * width + column;
      for (let right = 0; right < dot; right += 1) counts[at + right] += 1;
    }
  }
  const [red, green, blue] = [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  const picture = context.createImageData(width, height);
  for (let at = 0; at < counts.length; at += 1) {
    if (counts[at]) picture.data.set([red, green, blue, 255 * (1 - 0.5 ** counts[at])], 4 * at);
  }
  context.putImageData(picture, 0, 0);
  return {
    source: canvas.toDataURL(), xref: "x", yref: "y", x: x0, y: y1, sizex: x1 - x0, sizey: y1 - y0, sizing: "stretch", layer: "below",
  };
}

export function inPageColours(layout) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const [ink, line, card] = [colour("--ink"), colour("--line"), colour("--card")];
  const lines = { gridcolor: line, zerolinecolor: line, linecolor: line };
  return {
    ...layout,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: ink, family: getComputedStyle(document.body).fontFamily, size: 13 },
    hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: ink },
    xaxis: { ...layout.xaxis, ...lines },
    yaxis: { ...layout.yaxis, ...lines },
  };
}

