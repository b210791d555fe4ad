// Overview: all items in order, the biggest movers, and search by id.
import { VirtualList } from "./list.js";
import { movers, orderOf } from "./ranking.js";
import { $, amount, count, make, places } from "./words.js";

const TOP = 10;
const MOST_FOUND = 1000;

export function overview(facts, ranking, items) {
  let found = null;
  let matches = [];
  const place = $("overview-list");
  items.header(place);
  const before = orderOf(ranking.initial.rank);
  const chosen = (name) => document.querySelector(`#overview input[name=${name}]:checked`).value;
  const order = () => (chosen("order") === "before" ? before : ranking.order(ranking.shown));
  let current = order();
  const list = new VirtualList(place, {
    label: "Items in ranked order",
    rowHeight: 44,
    cardWidth: 132,
    cardHeight: 168,
    render: (element, index, grid) => items.fill(element, current[index], ranking, grid, found),
  });
  place.classList.toggle("pictures", facts.has_pictures);
  $("layout-choice").hidden = !facts.has_pictures;
  if (facts.has_pictures) document.querySelector("#overview input[value=grid]").checked = true;

  const reveal = (item) => {
    found = item;
    list.refresh();
    list.reveal(current.indexOf(item));
  };

  const listMovers = (id, sign) => {
    const moved = movers(ranking.initial.rank, ranking.shown.rank, sign, TOP);
    const entries = moved.map(({ item }) => {
      const change = places(ranking.initial.rank[item] - ranking.shown.rank[item]);
      const button = make("button", { type: "button", className: "mover" });
      if (facts.has_pictures) button.append(items.picture(item, 32));
      button.append(
        make("span", { className: "name" }, items.name(item)),
        make("span", { className: `move ${sign > 0 ? "up" : "down"}` }, `${change.sign} ${change.text}`),
      );
      button.setAttribute("aria-label", `${items.name(item)}, ${change.long}: show it in the list`);
      button.addEventListener("click", () => reveal(item));
      return make("li", {}, button);
    });
    $(id).replaceChildren(...(entries.length ? entries : [make("li", { className: "quiet" }, "No item moved.")]));
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
      : `${amount(facts.n, "item")}, ranked by ${how}.`;
  };

  const draw = () => {
    current = order();
    const grid = facts.has_pictures && chosen("layout") === "grid";
    place.classList.toggle("as-grid", grid);
    list.set(facts.n, grid);
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
        const name = items.name(item).toLowerCase();
        if (name === text) exact.push(item);
        else if (name.includes(text)) within.push(item);
      }
      matches = [...exact, ...within];
    }
    found = matches.length ? matches[0] : null;
    const more = matches.length > MOST_FOUND ? `more than ${count(MOST_FOUND)}` : count(matches.length);
    $("found").textContent = !text
      ? ""
      : matches.length
        ? `${more} found. Enter shows the next one.`
        : "No item has this in its id.";
    list.refresh();
    if (found !== null) list.reveal(current.indexOf(found));
  };

  $("search").addEventListener("input", search);
  $("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !matches.length) return;
    const next = matches[(matches.indexOf(found) + 1) % matches.length];
    reveal(next);
    $("found").textContent = `${items.name(next)}: rank ${count(ranking.shown.rank[next])}, was ${count(ranking.initial.rank[next])}. ${count(matches.length)} found.`;
  });
  for (const input of document.querySelectorAll("#overview input[type=radio]")) input.addEventListener("change", draw);
  return { draw };
}
