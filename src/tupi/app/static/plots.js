// Figures: the report's own patterns with the numbers of the moment, drawn by plotly in the page's colours.
import { getJSON } from "./api.js";
import { movers } from "./ranking.js";
import { number } from "./words.js";

const MOST_POINTS = 1500; // more make each move of a slider slow, and the picture no clearer
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
    this.sample = sample(ranking.initial.rank, MOST_POINTS);
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
    return this.plotly.react(place, data, inPageColours(layout), this.facts.config);
  }

  say(name, words) {
    document.getElementById(`plot-${name}`).setAttribute("aria-label", words);
  }

  // Whatever depends on the whole path.
  path(steps, t, labelled) {
    const upto = steps.map((_, k) => k);
    const { weights, accuracy } = this.patterns;
    const lines = weights.data.map((trace, k) => ({ ...trace, x: upto, y: steps.map((step) => step.weights[k]) }));
    this.react("weights", lines, { ...weights.layout, shapes: [marker(t)], xaxis: axis(weights.layout.xaxis, this.facts.last) });
    const shown = steps[Math.min(t, steps.length - 1)];
    this.say("weights", `Weights of the views at step ${shown.t}: ${this.facts.views.map((view, k) => `${view} ${number(shown.weights[k])}`).join(", ")}.`);
    if (!labelled) return;
    const line = [{ ...accuracy.data[0], x: upto, y: steps.map((step) => step.accuracy) }];
    this.react("accuracy", line, {
      ...accuracy.layout,
      shapes: [marker(t)],
      xaxis: axis(accuracy.layout.xaxis, this.facts.last),
      yaxis: { ...accuracy.layout.yaxis, title: { text: this.facts.metric } },
    });
    this.say("accuracy", `Agreement with the labels: ${number(steps[0].accuracy)} at step 0, ${number(shown.accuracy)} at step ${shown.t}.`);
  }

  // Moves the line at T without drawing the rest again.
  mark(t, labelled) {
    for (const name of labelled ? ["weights", "accuracy"] : ["weights"]) {
      const place = document.getElementById(`plot-${name}`);
      if (this.drawn[name]) this.plotly.relayout(place, { "shapes[0].x0": t, "shapes[0].x1": t });
    }
  }

  step(first, step) {
    const { scatter, dependence } = this.patterns;
    const { initial } = this.ranking;
    const moved = [1, -1].flatMap((sign) => movers(initial.rank, step.rank, sign, 10).map(({ item }) => item));
    const [line, points, marked] = scatter.data;
    const pick = (values, chosen) => Array.from(chosen, (item) => values[item]);
    const data = [
      line,
      { ...points, x: pick(initial.score, this.sample), y: pick(step.score, this.sample), text: null, hovertemplate: "before %{x:.4~g}<br>after %{y:.4~g}<extra></extra>" },
      { ...marked, x: pick(initial.score, moved), y: pick(step.score, moved), text: null, hovertemplate: "before %{x:.4~g}<br>after %{y:.4~g}<extra></extra>" },
    ];
    this.react("scatter", data, scatter.layout);
    this.say("scatter", `Scatter plot of ${this.sample.length} items: score before against score after ${step.t} steps.`);
    if (!step.dependence) return;
    const bars = dependence.data.map((trace, k) => ({ ...trace, x: (k ? step : first).dependence.slice(0, trace.y.length) }));
    this.react("dependence", bars, dependence.layout);
    this.say("dependence", `Normalised HSIC of the scores with each view, before and after: ${this.facts.views.map((view, k) => `${view} ${number(first.dependence[k])} to ${number(step.dependence[k])}`).join(", ")}.`);
  }
}

const axis = (pattern, last) => ({ ...pattern, dtick: undefined, range: [-0.5, last + 0.5] });

const marker = (t) => ({
  type: "line", x0: t, x1: t, yref: "paper", y0: 0, y1: 1,
  line: { color: "#8A8A8A", dash: "dot", width: 2 },
});

// Items evenly spaced along the initial order, the same each time.
function sample(rank, most) {
  const n = rank.length;
  if (n <= most) return Array.from({ length: n }, (_, item) => item);
  const step = n / most;
  const chosen = [];
  const seen = new Set();
  for (let item = 0; item < n; item += 1) {
    const slot = Math.floor((rank[item] - 1) / step);
    if (seen.has(slot)) continue;
    seen.add(slot);
    chosen.push(item);
  }
  return chosen;
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

