// Overview: all items in order, the biggest movers, and search by id or title.
import { VirtualList } from "./list.js";
import { movers } from "./ranking.js";
import { $, amount, capital, count, make } from "./words.js";

const TOP = 10;
const MOST_FOUND = 1000;

export function overview(facts, ranking, items, open) {
  let found = null;
  let matches = [];
  const place = $("overview-list");
  items.header(place);
  const before = ranking.order(ranking.initial);
  const chosen = (name) => document.querySelector(`#overview input[name=${name}]:checked`).value;
  const order = () => {
    const all = chosen("order") === "before" ? before : ranking.order(ranking.shown);
    const group = $("group-menu").value;
    return items.groups && group !== "" ? all.filter((item) => items.groups.number[item] === Number(group)) : all;
  };
  $("about-data").hidden = !facts.about;
  $("about-data").textContent = facts.about;
  if (items.titles) $("search-name").textContent = "Search by id or title";
  if (items.groups) {
    document.querySelector(".group-menu").hidden = false;
    $("group-name").textContent = capital(facts.group);
    $("group-menu").append(make("option", { value: "" }, `all ${count(items.groups.names.length)}`), ...items.groups.names.map((name, k) => make("option", { value: k }, name)));
  }
  let current = order();
  const list = new VirtualList(place, {
    label: "Items in ranked order",
    rowHeight: 44,
    cardWidth: 132,
    cardHeight: facts.titles || facts.classes || facts.group ? 186 : 168, // a second line of words
    render: (element, index, grid) => items.fill(element, current[index], ranking, grid, found),
    choose: (index) => open(current[index]),
  });
  place.classList.toggle("pictures", facts.has_pictures);
  $("layout-choice").hidden = !facts.has_pictures;
  if (facts.has_pictures) document.querySelector("#overview input[value=grid]").checked = true;

  const reveal = (item) => {
    found = item;
    if (!current.includes(item)) {
      $("group-menu").value = "";
      draw();
    }
    list.refresh();
    list.move(current.indexOf(item));
  };

  const listMovers = (id, sign) => {
    const { initial, shown } = ranking;
    const by = items.ranked ? (item) => initial.rank[item] - shown.rank[item] : (item) => shown.score[item] - initial.score[item];
    const entries = movers(facts.n, by, sign, TOP).map(({ item }) => {
      const change = items.moved(item, ranking);
      const button = make("button", { type: "button", className: "mover" });
      if (facts.has_pictures) button.append(items.picture(item, 32));
      button.append(
        make("span", { className: "name" }, items.title(item)),
        make("span", { className: `move ${sign > 0 ? "up" : "down"}` }, `${change.sign} ${change.text}`),
      );
      button.setAttribute("aria-label", `${items.title(item)}, ${change.long}: tell about it`);
      button.addEventListener("click", () => {
        reveal(item);
        open(item);
      });
      return make("li", {}, button);
    });
    $(id).replaceChildren(...(entries.length ? entries : [make("li", { className: "quiet" }, "No item moved.")]));
  };

  // What the list is in the order of.
  const ordered = () => {
    if (facts.classes) return `sorted by the score of class ${facts.classes[ranking.look.column]} from`;
    if (facts.positive) return `sorted by the probability of class ${facts.positive} from`;
    if (facts.task === "regression") return "sorted by the value from";
    return facts.group ? `ranked within each ${facts.group} by` : "ranked by";
  };

  const words = () => {
    const same = ranking.shown.t === 0;
    const look = ranking.look;
    const how = ranking.decided
      ? "the decision"
      : ranking.hasSteps()
        ? `${look.method}, λ ${look.lam}, σw² ${look.sigma_w2}, T ${ranking.shown.t}`
        : look.method;
    const error = ranking.decided ? null : ranking.path()?.error;
    $("overview-words").textContent = same
      ? `${amount(facts.n, "item")} as they came in.${error ? ` ${error}` : ""}`
      : `${amount(facts.n, "item")}, ${ordered()} ${how}. Choose one to see what moved it.`;
  };

  const draw = () => {
    current = order();
    const grid = facts.has_pictures && chosen("layout") === "grid";
    place.classList.toggle("as-grid", grid);
    list.set(current.length, grid);
    listMovers("movers-up", 1);
    listMovers("movers-down", -1);
    words();
  };

  const search = () => {
    const text = $("search").value.trim().toLowerCase();
    matches = [];
    if (text) {
      const exact = [];
      const within = [];
      for (let item = 0; item < facts.n && within.length < MOST_FOUND; item += 1) {
        const match = items.matches(item, text);
        if (match === "whole") exact.push(item);
        else if (match) within.push(item);
      }
      matches = [...exact, ...within];
    }
    found = matches.length ? matches[0] : null;
    const more = matches.length > MOST_FOUND ? `more than ${count(MOST_FOUND)}` : count(matches.length);
    $("found").textContent = !text
      ? ""
      : matches.length
        ? `${more} found.`
        : `No item has this in its ${items.titles ? "id or title" : "id"}.`;
    $("next-found").hidden = matches.length < 2;
    list.refresh();
    if (found !== null) reveal(found);
  };

  $("search").addEventListener("input", search);
  const showNext = () => {
    if (!matches.length) return;
    const next = matches[(matches.indexOf(found) + 1) % matches.length];
    reveal(next);
    $("found").textContent = `${items.title(next)}: rank ${count(ranking.shown.rank[next])}, was ${count(ranking.initial.rank[next])}. ${count(matches.length)} found.`;
  };
  $("search").addEventListener("keydown", (event) => event.key === "Enter" && showNext());
  $("next-found").addEventListener("click", showNext);
  $("group-menu").addEventListener("change", draw);
  for (const input of document.querySelectorAll("#overview input[type=radio]")) input.addEventListener("change", draw);
  return { draw };
}
