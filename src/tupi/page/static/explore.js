// Explore: menus and sliders, and everything that follows them.
import { getJSON } from "./api.js";
import { VirtualList } from "./list.js";
import { Figures } from "./plots.js";
import { $, amount, level, make, part } from "./words.js";

const FIGURES_EVERY = 250; // milliseconds between drawings while steps stream in

export function explore(facts, ranking, items, news, gained, open) {
  const grids = { lam: facts.lams, sigma_w2: facts.sigma_w2s };
  const figures = new Figures(facts, ranking);
  let ready = false;
  let waiting = null;
  let drawnPath = "";
  let heatTimer = null;
  let heatTurn = 0; // counts what was asked about the map: a reply that comes after a later one is no longer true

  $("method").append(...facts.methods.map(({ name }) => make("option", { value: name }, name)));
  $("kernel").append(...facts.kernels.map((name) => make("option", { value: name }, name)));
  for (const [name, grid] of Object.entries(grids)) $(name).max = grid.length - 1;
  $("t").max = facts.last;
  $("scatter-noun").textContent = facts.task === "regression" ? "values" : facts.positive ? "probabilities" : "scores";

  const place = $("explore-list");
  items.header(place);
  place.classList.toggle("pictures", facts.has_pictures);
  let order = ranking.order(ranking.shown);
  const list = new VirtualList(place, {
    label: "Items in ranked order",
    rowHeight: 44,
    render: (element, index) => items.fill(element, order[index], ranking, false, null),
    choose: (index) => open(order[index]),
  });

  const controls = () => {
    const { look } = ranking;
    const steps = ranking.hasSteps();
    $("method").value = look.method;
    $("kernel").value = look.kernel;
    // What the method does not have is not there.
    for (const control of document.querySelectorAll("#explore .by-hand")) control.hidden = !steps;
    $("no-sliders").hidden = steps;
    for (const [name, grid] of Object.entries(grids)) {
      $(name).value = grid.indexOf(look[name]);
      $(name).setAttribute("aria-valuetext", String(look[name]));
      $(`${name}-value`).textContent = look[name];
    }
    $("t").value = look.t;
    $("t").setAttribute("aria-valuetext", `${look.t} steps`);
    $("t-value").textContent = look.t;
  };

  const labelled = () => news.status.uses.length > 0;

  const words = () => {
    const path = ranking.path();
    const step = ranking.shown;
    if (path?.error) return path.error;
    if (!ranking.final) {
      const known = path ? path.steps.length - 1 : 0;
      const doing = news.status.doing;
      if (known < 1) return doing ? `${doing}…` : "Computing…";
      return `Step ${known} of ${ranking.look.t}…`;
    }
    const parts = [ranking.hasSteps() ? `Step ${step.t}.` : `Method ${ranking.look.method} is done.`];
    if (!ranking.hasSteps() && step.weights) {
      parts.push(`Weights of the views: ${facts.views.map((view, k) => `${view} ${part(step.weights[k])}`).join(", ")}.`);
    }
    if (step.accuracy !== null && step.accuracy !== undefined) {
      parts.push(`On the labels, ${facts.metric} is ${level(facts, step.accuracy)}; it was ${level(facts, path.steps[0].accuracy)} before.`);
    }
    return [...parts, ...(step.notes ?? [])].join(" ");
  };

  const drawFigures = () => {
    waiting = null;
    const path = ranking.path();
    if (!ready || $("explore").hidden || !ranking.own || !path?.steps.length) return done();
    const steps = path.steps;
    if (ranking.hasSteps()) {
      const state = `${ranking.key()}|${steps.map((step) => step.accuracy).join()}`;
      if (state === drawnPath) figures.mark(ranking.look.t);
      else figures.path(steps, ranking.look.t);
      drawnPath = state;
    }
    figures.scores(ranking.shown);
    const links = gained.rows();
    if (links) figures.dependence(links);
    done();
  };

  const done = () => {
    document.body.dataset.final = String(ranking.final);
  };

  const draw = () => {
    if ($("explore").hidden) return;
    controls();
    $("explore-words").textContent = words();
    $("explore-words").classList.toggle("error", Boolean(ranking.path()?.error));
    order = ranking.order(ranking.shown);
    list.set(facts.n);
    // For whoever measures or tests: the ranking that is shown, and whether all else has followed.
    document.body.dataset.final = "false";
    document.body.dataset.shown = `${ranking.shownKey}|${ranking.shown.t}`;
    $("explore-columns").hidden = !ranking.own && Boolean(ranking.path()?.error);
    $("map").hidden = !labelled() || !ranking.hasSteps();
    // What the method does not have must not be left over from another one.
    const has = { scatter: ranking.own, weights: ranking.own && ranking.hasSteps() };
    has.dependence = gained.rows()?.some(({ after }) => after !== null) ?? false;
    has.accuracy = has.weights && labelled() && (ranking.path()?.steps.some((step) => step.accuracy !== null) ?? false);
    for (const [name, there] of Object.entries(has)) figures.show(name, there);
    if (!has.weights || !has.accuracy) drawnPath = "";
    $("no-labels").hidden = labelled();
    if (ranking.final) {
      // A moved slider is drawn in the next frame; steps that stream in wait their turn.
      if (waiting?.soon) return;
      if (waiting) clearTimeout(waiting.id);
      waiting = { soon: true, id: requestAnimationFrame(drawFigures) };
    } else waiting ??= { soon: false, id: setTimeout(drawFigures, FIGURES_EVERY) };
  };

  // The map of settings.

  // Cells are made once and changed in place: one that is replaced between press and release loses the click.
  const cells = facts.sigma_w2s.map((sigma_w2) => facts.lams.map((lam) => heatCell(lam, sigma_w2, ranking)));
  $("heat").append(
    make("thead", {}, make("tr", {}, ...["σw² \\ λ", ...facts.lams].map((word) => make("th", { scope: "col" }, String(word))))),
    make(
      "tbody",
      {},
      ...facts.sigma_w2s.map((width, k) =>
        make("tr", {}, make("th", { scope: "row" }, String(width)), ...cells[k].map((button) => make("td", {}, button))),
      ),
    ),
  );

  const drawHeat = async () => {
    heatTimer = null;
    if ($("explore").hidden || !labelled() || !ranking.hasSteps()) return;
    heatTurn += 1;
    const mine = heatTurn;
    const found = await getJSON(`/api/heat?${new URLSearchParams(ranking.look)}`);
    if (mine !== heatTurn) return;
    const known = new Map(found.map((cell) => [`${cell.lam}|${cell.sigma_w2}`, cell]));
    const scores = [...known.values()].map((cell) => cell.score);
    const [low, high] = [Math.min(...scores), Math.max(...scores)];
    for (const button of cells.flat()) fillHeat(button, known.get(button.dataset.cell), low, high, ranking.look, facts);
    const left = cells.flat().length - known.size;
    const best = [...known.values()].filter(({ score }) => score === high);
    const where = best.map(({ lam, sigma_w2, t }) => `λ ${lam}, σw² ${sigma_w2} at step ${t}`);
    const sentence = where.length ? `${left ? "The best so far" : "The best"}, ★, is ${level(facts, high)}: ${where.slice(0, 3).join("; ")}${where.length > 3 ? `; and ${where.length - 3} more` : ""}.` : "";
    const waiting = left ? `${amount(left, "cell")} of ${cells.flat().length} ${left === 1 ? "is" : "are"} being computed and ${left === 1 ? "says" : "say"} “wait”.` : "";
    $("heat-words").textContent = [sentence, waiting].filter(Boolean).join(" ");
  };

  $("heat").addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
    if (!(event.key in moves) || !event.target.dataset.cell) return;
    event.preventDefault();
    const [down, right] = moves[event.key];
    const cell = event.target.parentElement;
    const row = $("heat").rows[cell.parentElement.rowIndex + down];
    const next = row?.cells[cell.cellIndex + right]?.querySelector("button");
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  });

  const heatSoon = () => {
    heatTimer ??= setTimeout(() => drawHeat().catch(() => {}), 700);
  };

  gained.addEventListener("change", draw);
  $("by-hand").addEventListener("click", () => {
    ranking.set({ method: facts.methods.find(({ steps }) => steps).name });
    $("lam").focus();
  });
  $("method").addEventListener("change", () => ranking.set({ method: $("method").value }, { again: true }));
  $("kernel").addEventListener("change", () => ranking.set({ kernel: $("kernel").value }));
  for (const [name, grid] of Object.entries(grids)) {
    $(name).addEventListener("input", () => ranking.set({ [name]: grid[$(name).value] }));
  }
  $("t").addEventListener("input", () => ranking.set({ t: Number($("t").value) }));
  ranking.addEventListener("change", heatSoon);
  news.addEventListener("change", () => {
    heatSoon();
    if (!$("explore").hidden) $("explore-words").textContent = words();
  });

  $("map-steps").textContent = facts.map_steps;

  const show = async () => {
    if (ranking.decided) ranking.set({}); // a decision has none of what is shown here
    draw();
    heatSoon();
    if (ready) return;
    try {
      await figures.load();
      ready = true;
      draw();
    } catch (problem) {
      $("explore-words").textContent = problem.message;
    }
  };
  return { draw, open: show };
}

function heatCell(lam, sigma_w2, ranking) {
  const button = make("button", { type: "button" }, "wait");
  button.dataset.cell = `${lam}|${sigma_w2}`;
  button.addEventListener("click", () => ranking.set({ lam, sigma_w2, ...(button.best ? { t: button.best.t } : {}) }));
  return button;
}

function fillHeat(button, best, low, high, look, facts) {
  const [lam, width] = button.dataset.cell.split("|");
  const here = Number(lam) === look.lam && Number(width) === look.sigma_w2;
  button.best = best;
  const isBest = best?.score === high;
  button.textContent = best ? `${level(facts, best.score)}${isBest ? " ★" : ""}` : "wait";
  button.classList.toggle("pending", !best);
  button.classList.toggle("best", isBest);
  button.ariaCurrent = here ? "true" : null;
  // One cell is in the order of the tab key; arrow keys lead to the others.
  if (!button.closest("table").contains(document.activeElement)) button.tabIndex = here ? 0 : -1;
  button.ariaLabel = `λ ${lam}, σw² ${width}: ${best ? `${level(facts, best.score)} at step ${best.t}${isBest ? ", the best" : ""}` : "not computed yet"}`;
  button.style.setProperty("--heat", best ? (high > low ? ((best.score - low) / (high - low)).toFixed(3) : "0.5") : "0");
}
