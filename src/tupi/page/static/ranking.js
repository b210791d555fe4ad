// The ranking that is shown: which setting, which step, and all steps that came from the server.
import { getJSON, streamFrames } from "./api.js";

const MEMORY = 160 * 2 ** 20; // bytes of steps to keep
const INITIAL = "initial";

export class Ranking extends EventTarget {
  constructor(facts, initial, labels, groups) {
    super();
    this.facts = facts;
    this.groups = groups; // which items are ranked among themselves, if not all are
    this.initial = initial;
    this.client = crypto.randomUUID();
    this.paths = new Map();
    this.look = { ...facts.first };
    this.labels = labels; // how often they changed, as far as is known here
    this.aborter = null;
    this.clear();
  }

  // Shows the items as they came in: nothing is known of the method that was chosen.
  clear() {
    this.shown = { t: 0, ...this.initial };
    this.shownKey = INITIAL;
  }

  // Whether what is shown comes from the method that was chosen.
  get own() {
    return this.shownKey !== INITIAL;
  }

  hasSteps() {
    return this.facts.methods.find((method) => method.name === this.look.method).steps;
  }

  key(look = this.look) {
    const { method, kernel, lam, sigma_w2, column } = look;
    return this.facts.methods.find((one) => one.name === method).steps
      ? [method, kernel, lam, sigma_w2, column].join("|")
      : [method, column].join("|");
  }

  path() {
    return this.paths.get(this.key());
  }

  // Changes menus or sliders; shows what is known at once and asks for the rest.
  set(change, { again = false } = {}) {
    const [before, method] = [this.key(), this.look.method];
    const other = this.decided;
    this.decided = false;
    this.look = { ...this.look, ...change };
    const key = this.key();
    if (other || this.look.method !== method) this.clear();
    if (again) this.paths.delete(key);
    let path = this.paths.get(key);
    if (!path) {
      path = { steps: [], last: null, error: null, done: false };
      this.paths.set(key, path);
      this.forget();
    } else {
      this.paths.delete(key); // to the end: the latest used
      this.paths.set(key, path);
    }
    if (key !== before || !this.aborter || again) this.request(path);
    this.show();
  }

  forget() {
    const size = this.initial.score.byteLength * 2;
    let kept = [...this.paths.values()].reduce((sum, path) => sum + path.steps.length * size, 0);
    for (const [key, path] of this.paths) {
      if (kept <= MEMORY || this.paths.size <= 1) return;
      kept -= path.steps.length * size;
      this.paths.delete(key);
    }
  }

  async request(path) {
    this.aborter?.abort();
    const aborter = (this.aborter = new AbortController());
    if (path.done) return;
    path.error = null;
    path.labels = this.labels;
    const query = new URLSearchParams({ ...this.look, client: this.client });
    try {
      await streamFrames(`/api/path?${query}`, (step) => {
        if (step.error) path.error = step.error;
        else {
          path.steps[step.t] = step;
          path.last = step.last;
          path.done = step.t === step.last;
        }
        if (path === this.path()) this.show();
      }, aborter.signal);
      if (path === this.path()) this.follow(this.labels);
    } catch (problem) {
      if (aborter.signal.aborted) return;
      path.error = problem.message;
      if (path === this.path()) this.show();
    }
  }

  // Whether labels changed since what is known of the present setting was judged by them, or fitted to them.
  get stale() {
    const path = this.path();
    if (!path?.steps.length) return Boolean(path?.error) && path.labels < this.labels;
    return path.steps.some((step) => step.labels < this.labels);
  }

  // The labels changed: what a method fitted to them is asked for again; of steps, only their agreement is.
  async follow(labels) {
    this.labels = labels;
    if (this.decided || this.following || !this.stale) return;
    const path = this.path();
    if (!this.hasSteps() || path.error) return this.set({}, { again: true });
    const known = path.steps.length;
    this.following = true;
    let found;
    try {
      found = await getJSON(`/api/scores?${new URLSearchParams(this.look)}`);
    } catch {
      return; // the page says so when the server is gone, and the next news ask again
    } finally {
      this.following = false;
    }
    for (const [t, accuracy] of found.accuracy.entries()) {
      // A step that came meanwhile may have been judged by later labels.
      if (path.steps[t]?.labels < found.labels) Object.assign(path.steps[t], { accuracy, labels: found.labels });
    }
    if (path === this.path() && !this.decided) {
      if (found.accuracy.length < known) return this.set({}, { again: true }); // the server forgot them
      this.show();
    }
    if (this.labels !== labels) this.follow(this.labels); // news that came meanwhile were not followed
  }

  // Shows scores that no slider leads to, until one is moved.
  showDecision(frame) {
    this.decided = true;
    this.shown = { ...frame, t: 1 };
    this.shownKey = "decision";
    this.final = true;
    this.dispatchEvent(new Event("change"));
  }

  // The target step if it is known, the latest before it otherwise; until there is one, what was shown stays.
  show() {
    if (this.decided) return;
    const path = this.path();
    const target = this.hasSteps() ? this.look.t : 1;
    const known = path.steps.length - 1;
    if (known >= 1 || (known === 0 && target === 0)) {
      this.shown = path.steps[Math.min(target, known)];
      this.shownKey = this.key();
    } else if (path.error) this.clear();
    this.final = this.shownKey === this.key() && this.shown.t === target;
    this.dispatchEvent(new Event("change"));
  }

  order(step) {
    return (step.order ??= this.groups ? orderOf(this.groups.number, orderOf(step.rank)) : orderOf(step.rank));
  }
}

// Items by rank (places from 1; equal scores share one) or by group, in their old order where these are equal.
export function orderOf(rank, items = rank.keys()) {
  const next = new Int32Array(rank.length + 2);
  for (const place of rank) next[place + 1] += 1;
  for (let k = 1; k < next.length; k += 1) next[k] += next[k - 1];
  const order = new Int32Array(rank.length);
  for (const item of items) order[next[rank[item]]++] = item;
  return order;
}

// The items that moved most, up or down (sign 1 or -1), biggest move first; `by` is how far one moved.
export function movers(n, by, sign, top) {
  const best = [];
  let least = 0;
  for (let item = 0; item < n; item += 1) {
    const moved = sign * by(item);
    if (moved <= least) continue;
    let k = best.length;
    while (k > 0 && best[k - 1].moved < moved) k -= 1;
    best.splice(k, 0, { item, moved });
    if (best.length > top) best.pop();
    if (best.length === top) least = best[top - 1].moved;
  }
  return best;
}
