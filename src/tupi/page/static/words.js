// Numbers and counts as people read them.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

export const amount = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

export const number = (value) => (value === null || value === undefined ? "unknown" : String(Number(value.toPrecision(4))));

export const percent = (value) => `${(100 * value).toFixed(1)}%`;

export const points = (value) => `${value >= 0 ? "+" : "−"}${Math.abs(100 * value).toFixed(1)}`;

export const capital = (sentence) => sentence.charAt(0).toUpperCase() + sentence.slice(1);

export function places(moved) {
  if (moved === 0) return { sign: "", text: "same", long: "same place" };
  const way = moved > 0 ? "up" : "down";
  return { sign: moved > 0 ? "▲" : "▼", text: count(Math.abs(moved)), long: `${way} ${amount(Math.abs(moved), "place")}` };
}

export const $ = (id) => document.getElementById(id);

// A short way to make an element: properties, then children.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}
