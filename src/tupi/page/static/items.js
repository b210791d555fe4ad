// One item in a list: made once, and filled with other numbers whenever those change.
import { count, make, number, places } from "./words.js";

export class Items {
  constructor(facts, names) {
    this.facts = facts;
    this.names = names;
  }

  name(item) {
    return this.names ? this.names[item] : String(item);
  }

  picture(item, size) {
    return make("img", { src: `/api/image/${item}`, alt: "", width: size, height: size, loading: "lazy", decoding: "async" });
  }

  // Fills an element with an item; `ranking` has the numbers, and `found` is an item to mark.
  fill(element, item, ranking, grid, found) {
    if (!element.parts) element.parts = grid ? this.card(element) : this.row(element);
    const { parts } = element;
    const before = ranking.initial.rank[item];
    const after = ranking.shown.rank[item];
    const move = places(before - after);
    const name = this.name(item);
    if (parts.image && parts.image.item !== item) {
      parts.image.item = item;
      parts.image.src = `/api/image/${item}`;
    }
    parts.rank.textContent = count(after);
    parts.name.textContent = name;
    parts.name.title = name;
    parts.move.textContent = `${move.sign} ${move.text}`;
    parts.move.className = `move ${move.sign === "▲" ? "up" : move.sign === "▼" ? "down" : ""}`;
    if (parts.before) {
      parts.before.textContent = count(before);
      parts.score.textContent = `${number(ranking.initial.score[item])} → ${number(ranking.shown.score[item])}`;
    }
    element.classList.toggle("found", item === found);
    element.setAttribute("aria-label", `${name}: rank ${count(after)}, was ${count(before)}, ${move.long}`);
  }

  image() {
    const image = make("img", { alt: "", decoding: "async" });
    image.addEventListener("error", () => image.classList.add("none"));
    image.addEventListener("load", () => image.classList.remove("none"));
    return image;
  }

  row(element) {
    const parts = {
      rank: make("span", { className: "rank" }),
      image: this.facts.has_pictures ? this.image() : null,
      name: make("span", { className: "name" }),
      before: make("span", { className: "before" }),
      move: make("span", { className: "move" }),
      score: make("span", { className: "score" }),
    };
    const shown = [parts.rank, parts.image, parts.name, parts.before, parts.move, parts.score].filter(Boolean);
    for (const part of shown) part.setAttribute("aria-hidden", "true"); // the label of the row says it in words
    element.replaceChildren(...shown);
    return parts;
  }

  card(element) {
    const parts = {
      image: this.image(),
      rank: make("span", { className: "rank" }),
      move: make("span", { className: "move" }),
      name: make("span", { className: "name" }),
    };
    const line = make("span", { className: "line" }, parts.rank, parts.move);
    const shown = [parts.image, line, parts.name];
    for (const part of shown) part.setAttribute("aria-hidden", "true");
    element.replaceChildren(...shown);
    return parts;
  }

  header(place) {
    const cells = ["rank", ...(this.facts.has_pictures ? ["picture"] : []), "item", "before", "moved", "score"];
    const header = make("div", { className: `row header${this.facts.has_pictures ? " pictures" : ""}`, ariaHidden: "true" });
    header.append(...cells.map((cell) => make("span", { className: cell === "item" ? "name" : cell }, cell === "picture" ? "" : cell)));
    place.append(header);
  }
}
