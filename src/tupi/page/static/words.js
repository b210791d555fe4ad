// Numbers and counts as people read them.

const whole = new Intl.NumberFormat("en");

export const count = (n) => whole.format(n);

const plural = (noun) => (/[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`);

export const amount = (n, noun) => `${count(n)} ${n === 1 ? noun : plural(noun)}`;

export const number = (value) => (value === null || value === undefined ? "unknown" : String(Number(value.toPrecision(4))));

// As many decimals as give the spread of some numbers three digits, so that a column of them lines up; null where that
// would take exponents or more room than there is.
export function decimalsFor(values) {
  let [sum, squares, shares] = [0, 0, true];
  for (const value of values) {
    sum += value;
    shares &&= value >= 0 && value <= 1;
  }
  const mean = sum / values.length;
  for (const value of values) squares += (value - mean) ** 2;
  const spread = Math.sqrt(squares / values.length) || Math.abs(mean);
  if (spread < 1e-4 || spread >= 1e9) return null;
  return Math.min(Math.max(2 - Math.floor(Math.log10(spread)), 0), shares ? 3 : 6); // of a probability three are enough
}

const formats = new Map(); // making one takes long

export function fixed(value, decimals) {
  if (value === null || value === undefined || decimals === null) return number(value);
  if (!formats.has(decimals)) formats.set(decimals, new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals, signDisplay: "negative" }));
  return formats.get(decimals).format(value);
}

// A part of a whole, such as a weight.
export const part = (value) => (value === null || value === undefined ? "unknown" : `${Math.round(100 * value)}%`);

// A figure between 0 and 1 of which nobody needs more than two digits.
export const hundredths = (value) => (value === null || value === undefined ? "unknown" : value.toFixed(2));

export const chance = (p) => (p === null || p === undefined ? "unknown" : p < 0.001 ? "<0.001" : p.toFixed(3));

export const percent = (value) => `${(100 * value).toFixed(1)}%`;

export const capital = (sentence) => sentence.charAt(0).toUpperCase() + sentence.slice(1);

export function places(moved) {
  if (moved === 0) return { sign: "", text: "same", long: "same place" };
  const way = moved > 0 ? "up" : "down";
  return { sign: moved > 0 ? "▲" : "▼", text: count(Math.abs(moved)), long: `${way} ${amount(Math.abs(moved), "place")}` };
}

// How values of the metric of a page are said: shares as per cent, others as they are.
export const level = (facts, value) => (facts.factor === 100 ? percent(value) : value.toFixed(3));

export const difference = (facts, value) => `${value >= 0 ? "+" : "−"}${Math.abs(facts.factor * value).toFixed(facts.factor === 100 ? 1 : 3)}${facts.unit ? ` ${facts.unit}` : ""}`;

export const signed = (value, decimals = null) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${fixed(Math.abs(value), decimals)}`;

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
