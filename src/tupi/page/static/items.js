// One item in a list: made once, and filled with other numbers whenever those change.
import { count, decimalsFor, fixed, make, places, signed } from "./words.js";

export class Items {
  constructor(facts, names, titles, groups) {
    Object.assign(this, { facts, names, titles, groups });
    this.ranked = facts.task === "ranking"; // else the values themselves mean something
  }

  name(item) {
    return this.names ? this.names[item] : String(item);
  }

  // What people call it: its title if it has one.
  title(item) {
    return this.titles?.[item] || this.name(item);
  }

  // Whether some text, in small letters, is in its id or title, and whether it is all of one.
  matches(item, text) {
    this.texts ??= Array.from({ length: this.facts.n }, (_, k) => [this.name(k), this.titles?.[k] ?? ""].map((one) => one.toLowerCase()));
    const [name, title] = this.texts[item];
    return name === text || title === text ? "whole" : name.includes(text) || title.includes(text) ? "part" : "";
  }

  group(item) {
    return this.groups ? this.groups.names[this.groups.number[item]] : "";
  }

  // A score, value or probability with as many decimals as all others have.
  score(value, ranking) {
    this.decimals ??= decimalsFor(ranking.initial.score);
    return fixed(value, this.decimals);
  }

  // How far an item moved: by places in a ranking, by its value elsewhere.
  moved(item, ranking) {
    if (this.ranked) return places(ranking.initial.rank[item] - ranking.shown.rank[item]);
    const change = ranking.shown.score[item] - ranking.initial.score[item];
    const text = change ? this.score(Math.abs(change), ranking) : "same";
    return { sign: change > 0 ? "▲" : change < 0 ? "▼" : "", text, long: change ? `changed by ${signed(change, this.decimals)}` : "same" };
  }

  // The class that is likeliest, before and after, where it changed.
  turned(item, ranking) {
    const [before, after] = [ranking.initial.top, ranking.shown.top];
    if (!before || !after || before[item] === after[item]) return "";
    return `${this.facts.classes[before[item]]} → ${this.facts.classes[after[item]]}`;
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
    const move = this.moved(item, ranking);
    const [title, group, turned] = [this.title(item), this.group(item), this.turned(item, ranking)];
    const more = [group && `${this.facts.group} ${group}`, turned].filter(Boolean).join(" · ");
    const name = more ? `${title} · ${more}` : title;
    if (parts.image && parts.image.item !== item) {
      parts.image.item = item;
      parts.image.src = `/api/image/${item}`;
    }
    parts.rank.textContent = count(after);
    parts.title.textContent = title;
    parts.more.textContent = more;
    parts.name.title = title === this.name(item) ? name : `${name} (${this.name(item)})`;
    parts.move.textContent = `${move.sign} ${move.text}`;
    parts.move.className = `move ${move.sign === "▲" ? "up" : move.sign === "▼" ? "down" : ""}`;
    if (parts.before) {
      const [was, now] = [ranking.initial, ranking.shown].map(({ score }) => this.score(score[item], ranking));
      parts.before.textContent = this.ranked ? count(before) : was;
      parts.score.textContent = this.ranked ? `${was} → ${now}` : now;
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

  // What an item is called, and below that its group and how its class changed.
  words() {
    const [title, more] = ["title", "more"].map((className) => make("span", { className }));
    return { title, more, name: make("span", { className: "name" }, title, more) };
  }

  row(element) {
    const parts = {
      rank: make("span", { className: "rank" }),
      image: this.facts.has_pictures ? this.image() : null,
      ...this.words(),
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
      ...this.words(),
    };
    const line = make("span", { className: "line" }, parts.rank, parts.move);
    const shown = [parts.image, line, parts.name];
    for (const part of shown) part.setAttribute("aria-hidden", "true");
    element.replaceChildren(...shown);
    return parts;
  }

  header(place) {
    const cells = ["rank", ...(this.facts.has_pictures ? ["picture"] : []), "item", "before", "moved", "score"];
    const words = this.ranked ? {} : { moved: "change", score: "after" };
    const header = make("div", { className: `row header${this.facts.has_pictures ? " pictures" : ""}`, ariaHidden: "true" });
    header.append(...cells.map((cell) => make("span", { className: cell === "item" ? "name" : cell }, cell === "picture" ? "" : (words[cell] ?? cell))));
    place.classList.toggle("by-value", !this.ranked); // then what comes out is the value, and not a place
    place.append(header);
  }
}
