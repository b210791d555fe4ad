// One item: what is known of it, what moved it, and the items that are most like it.
import { getJSON } from "./api.js";
import { $, capital, count, make, signed } from "./words.js";

// Of answers about pairs it is known how often an item was the higher one.
const words = (label, compared) => (compared ? `answers: ${label}` : `label ${label}`);

const LOG_ODDS = "Parts of a probability do not add up, but those of its log odds do: 0 stands for a probability of 0.5, 1 for 0.73, 2 for 0.88, and −2 for 0.12.";

export function panel(facts, ranking, items) {
  let turn = 0; // counts what was opened: what is told of an item that was opened before is no longer wanted

  const about = ({ item, name, title, group, facts: known, label }) => {
    const rows = [
      ...(title && title !== name ? [[facts.id ?? "row", name]] : []),
      ...(group ? [[facts.group, group]] : []),
      ["rank", `${count(ranking.initial.rank[item])} → ${count(ranking.shown.rank[item])}`],
      [scoreName(), [ranking.initial, ranking.shown].map(({ score }) => items.score(score[item], ranking)).join(" → ")],
      ...(items.turned(item, ranking) ? [["likeliest class", items.turned(item, ranking)]] : []),
      ["label", label ?? "none yet"],
      ...Object.entries(known),
    ];
    return make("dl", {}, ...rows.flatMap(([term, value]) => [make("dt", {}, term), make("dd", {}, value)]));
  };

  const scoreName = () => {
    if (facts.classes) return `${facts.classes[ranking.look.column]}`;
    return { ranking: "score", regression: "value" }[facts.task] ?? `probability of class ${facts.positive}`;
  };

  // A bar to the right for what raised an item, to the left for what lowered it.
  const parts = ({ parts: all, unit, decimals }) => {
    const most = Math.max(...all.map(({ amount }) => Math.abs(amount)), Number.MIN_VALUE);
    const rows = all.map(({ part, amount }) => {
      const bar = make("span", { className: `bar-of ${amount < 0 ? "down" : "up"}` });
      bar.style.width = `${(50 * Math.abs(amount)) / most}%`;
      bar.style.left = amount < 0 ? `${50 - (50 * Math.abs(amount)) / most}%` : "50%";
      return make("tr", {}, make("th", { scope: "row" }, part), make("td", { ariaHidden: "true" }, make("span", { className: "track" }, bar)), make("td", {}, signed(amount, decimals)));
    });
    const head = make("tr", {}, ...["part", "", unit.replace(/ of class .*/, "")].map((word) => make("th", { scope: "col" }, word)));
    return make("table", { className: "parts" }, make("thead", {}, head), make("tbody", {}, ...rows));
  };

  const others = (list, words) =>
    make(
      "ul",
      { className: "others" },
      ...list.map((one) => {
        const name = make("span", { className: "name" }, one.title || one.name);
        const button = make("button", { type: "button" }, ...(facts.has_pictures ? [items.picture(one.item, 48)] : []), name, make("span", { className: "quiet" }, words(one)));
        button.addEventListener("click", () => open(one.item));
        return make("li", {}, button);
      }),
    );

  const why = (told) => {
    const found = [make("h3", {}, "What moved it")];
    if (!told.reasons) {
      const method = ranking.decided ? "A decision" : capital(ranking.look.method);
      return [...found, make("p", { className: "quiet" }, `${method} does not tell what moved single items here. Choose auto under Explore to see it.`)];
    }
    const { sentence, pulls, decimals, unit } = told.reasons;
    found.push(make("p", {}, sentence), parts(told.reasons));
    if (unit.startsWith("log odds")) found.push(make("p", { className: "quiet" }, LOG_ODDS));
    if (pulls.length) {
      found.push(make("h3", {}, "Labelled items that it was compared with"));
      found.push(make("p", { className: "quiet" }, "The pull of a labelled item says how far its label moved this item, up or down."));
      found.push(others(pulls, (one) => `${one.item === told.item && !told.reasons.compared ? "its own " : ""}${words(one.label, told.reasons.compared)}, pull ${signed(one.pull, decimals)}`));
    }
    return found;
  };

  const fill = (told) => {
    $("item-title").textContent = told.title || `Item ${told.name}`;
    const picture = facts.has_pictures ? [items.picture(told.item, 160)] : [];
    if (picture.length) Object.assign(picture[0], { alt: `Picture of ${told.title || told.name}`, className: "large" });
    const alike = told.alike.length
      ? [make("h3", {}, "The items most like it, by all views"), others(told.alike, (one) => [`rank ${count(ranking.shown.rank[one.item])}`, ...(one.label ? [words(one.label, told.compared)] : [])].join(", "))]
      : [];
    $("item-body").replaceChildren(make("div", { className: "portrait" }, ...picture, about(told)), ...why(told), ...alike);
  };

  // Shows an item; whoever closes it is back where they were.
  const open = async (item) => {
    turn += 1;
    const mine = turn;
    $("item-title").textContent = items.title(item);
    if (!$("item").open) {
      $("item-body").replaceChildren(make("p", { className: "quiet" }, "Looking…"));
      $("item").showModal();
    }
    $("item-title").focus();
    try {
      const told = await getJSON(`/api/item/${item}?${new URLSearchParams({ method: ranking.look.method })}`);
      if (mine !== turn) return;
      fill(told);
      $("item").scrollTop = 0;
    } catch (problem) {
      if (mine === turn) $("item-body").replaceChildren(make("p", { className: "error" }, problem.message));
    }
  };

  $("item").addEventListener("click", (event) => {
    if (event.target === $("item")) $("item").close(); // beside it
  });
  return open;
}
