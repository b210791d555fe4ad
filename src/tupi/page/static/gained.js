// What the method that is shown gained, by the labels, and what is known of each view in its result.
import { getJSON } from "./api.js";
import { $, capital, chance, difference, hundredths, make, part } from "./words.js";

export class Gained extends EventTarget {
  constructor(facts, ranking, news) {
    super();
    Object.assign(this, { facts, ranking, news, said: null, views: null, about: "", asked: "", worths: 0 });
    $("find-worth").addEventListener("click", () => this.findWorth());
    ranking.addEventListener("change", () => this.refresh());
    news.addEventListener("change", () => this.refresh());
  }

  // Asks the server again whenever a method's result, or what the labels say of it, may have changed.
  async refresh() {
    const { ranking } = this;
    const method = ranking.look.method;
    if (ranking.decided || ranking.hasSteps() || !ranking.own || $("overview").hidden && $("explore").hidden) return this.draw();
    const found = Math.max(this.news.status.found, ranking.shown.found ?? 0); // a ranking may be here before the news of it
    const state = `${method}|${found}`;
    if (state === this.asked) return this.draw();
    this.asked = state;
    try {
      const said = await getJSON(`/api/found?${new URLSearchParams({ method })}`);
      if (state !== this.asked || !said) return; // it is fitted again, and what was said stays until then
      Object.assign(this, { said, about: method, views: this.about === method ? this.views : null });
      this.draw();
      const { worths } = this;
      const views = await getJSON(`/api/views?${new URLSearchParams({ method })}`);
      if (state !== this.asked || worths !== this.worths || !views) return;
      this.views = views;
      this.draw();
      this.dispatchEvent(new Event("change"));
    } catch {
      if (state === this.asked) this.asked = ""; // the page says so when the server is gone, and the next news ask again
    }
  }

  // Whether what is known here is about the method that is shown.
  get mine() {
    return Boolean(this.said) && this.ranking.own && !this.ranking.decided && this.about === this.ranking.look.method;
  }

  draw() {
    for (const place of document.querySelectorAll(".gained")) {
      place.hidden = !this.mine;
      if (this.mine) fill(place, this.said, this.ranking.look.method);
    }
    if (this.mine && this.said.judged) document.body.dataset.judged = this.said.labels; // for whoever measures or tests
    const rows = this.rows();
    $("views-worth").hidden = !rows;
    if (!rows) return;
    table($("views-table"), rows);
    const told = rows.find((row) => row.kind)?.kind;
    $("worth-words").textContent = `${WORTH[told] ?? ""} ${LINKS}`.trim();
    // What takes long is found out when somebody asks; steps of the paper's method have nobody to ask.
    $("worth-more").hidden = Boolean(told) || this.ranking.hasSteps();
  }

  async findWorth() {
    const { about, said } = this;
    $("worth-state").textContent = "Fitting again without each view…";
    let words = "";
    try {
      const views = await getJSON(`/api/views?${new URLSearchParams({ method: about, worth: 1 })}`);
      // This may take long: another method may be shown by now, or what this one made of later labels.
      if (about === this.about && said.labels === this.said.labels) {
        this.worths += 1; // what was asked for before it says less
        this.views = views;
      } else if (about === this.about) words = "The labels changed meanwhile. Ask again.";
    } catch (problem) {
      words = problem.message;
    }
    $("worth-state").textContent = words;
    this.draw();
  }

  // What is known of each view: of a step from the step itself, of other results from the server.
  rows() {
    const { ranking, facts } = this;
    if (ranking.decided || !ranking.own) return null;
    if (!ranking.hasSteps()) return this.mine ? this.views : null;
    const first = ranking.path()?.steps[0];
    const { weights, dependence } = ranking.shown;
    if (!first?.dependence || !dependence) return null;
    return facts.views.map((view, k) => ({ view, weight: weights?.[k], before: first.dependence[k], after: dependence[k] }));
  }
}

const WORTH = {
  gain: "The worth of a view is how much better the answer is with it than without it, with a 95% interval. Labels that were left out judge both answers.",
  explains: "There are too few labels to say what a view is worth. The table says instead how much of the differences between the initial scores each view explains by itself.",
};
const LINKS = "The link of a view says how much the scores depend on it, from 0 to 1 (normalised HSIC), before and after. A small p-value says that the link is no accident. The weight is the view's share in what was changed.";

function fill(place, said, method) {
  const { verdict, evidence } = said;
  const parts = [];
  if (verdict) parts.push(make("p", { className: `verdict ${verdict.kind}` }, verdict.head));
  if (evidence) {
    parts.push(make("p", {}, evidence.sentence));
    if (evidence.low !== null && evidence.low !== evidence.high) parts.push(interval(evidence));
  } else if (!said.judged) parts.push(make("p", {}, "The answers are being counted…"));
  else parts.push(make("p", {}, "There are no labels, so nothing here says whether these scores are better."));
  if (verdict && verdict.kind !== "use") parts.push(make("p", {}, capital(verdict.step))); // else the head says it
  if (said.meaning) parts.push(make("p", { className: "quiet" }, said.meaning));
  const state = JSON.stringify([method, said]);
  if (place.state === state) return; // a screen reader would read it again
  place.state = state;
  place.replaceChildren(make("h3", {}, `What ${method} gained`), ...parts);
}

// A line from the low to the high end of an interval, a dot at the gain, and a mark at zero.
export function interval(evidence) {
  const { low, gain, high } = evidence;
  const reach = Math.max(Math.abs(low), Math.abs(high), Number.MIN_VALUE) * 1.1;
  const at = (value) => `${(50 + (50 * value) / reach).toFixed(2)}%`;
  const piece = (className, style) => {
    const element = make("span", { className });
    Object.assign(element.style, style);
    return element;
  };
  const place = make("div", { className: "interval", role: "img" });
  place.setAttribute("aria-label", `Gain ${difference(evidence, gain ?? 0)}, between ${difference(evidence, low)} and ${difference(evidence, high)}`);
  place.append(
    piece("zero", {}),
    piece("range", { left: at(low), width: `${((50 * (high - low)) / reach).toFixed(2)}%` }),
    piece("dot", { left: at(gain ?? 0) }),
    make("span", { className: "end worse" }, "worse"),
    make("span", { className: "end none" }, "no change"),
    make("span", { className: "end better" }, "better"),
  );
  return place;
}

// What a view is worth; where there is little room, its interval has a line of its own.
function figure(worth) {
  const [value, interval] = (worth ?? "unknown").split(/ (?=\()/);
  return interval ? make("span", {}, `${value} `, make("span", { className: "whole" }, interval)) : value;
}

const known = (value) => value !== null && value !== undefined;

function table(place, rows) {
  const has = (name) => rows.some((row) => known(row[name]));
  const columns = [
    ["view", (row) => row.view],
    ...(has("worth") ? [[rows.some(({ kind }) => kind === "gain") ? "worth" : "explains", (row) => figure(row.worth)]] : []),
    ["link before", (row) => hundredths(row.before)],
    ["link after", (row) => hundredths(row.after)],
    ...(has("p_value") ? [["p-value", (row) => chance(row.p_value)]] : []),
    ...(has("weight") ? [["weight", (row) => part(row.weight)]] : []),
  ];
  const state = JSON.stringify(rows);
  if (place.state === state) return;
  place.state = state;
  const head = make("tr", {}, ...columns.map(([name]) => make("th", { scope: "col" }, name)));
  const cell = ([name, of], row) => (name === "view" ? make("th", { scope: "row" }, of(row)) : make("td", {}, of(row)));
  place.replaceChildren(
    make("thead", {}, head),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...columns.map((column) => cell(column, row))))),
  );
}
