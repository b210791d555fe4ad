// A list of many items of which only those in sight exist; rows or a grid of cards, all of one height.

export class VirtualList {
  constructor(place, { label, render, choose, rowHeight, cardWidth, cardHeight }) {
    this.options = { rowHeight, cardWidth, cardHeight };
    this.render = render;
    this.choose = choose;
    this.active = 0; // the place that arrow keys lead to
    this.id = place.id;
    this.count = 0;
    this.grid = false;
    this.pool = [];
    this.box = document.createElement("div");
    this.box.className = "virtual";
    this.box.tabIndex = 0;
    this.box.setAttribute("role", "listbox");
    this.box.setAttribute("aria-label", label);
    this.space = document.createElement("div");
    this.space.className = "space";
    this.space.setAttribute("role", "presentation");
    this.box.append(this.space);
    place.append(this.box);
    this.box.addEventListener("scroll", () => this.paint(), { passive: true });
    this.box.addEventListener("keydown", (event) => this.press(event));
    this.box.addEventListener("click", (event) => {
      const element = event.target.closest("[role=option]");
      if (!element) return;
      this.move(element.index, false);
      this.choose(element.index);
    });
    new ResizeObserver(() => this.refresh()).observe(this.box);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { columns } = this;
    const page = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1) * columns;
    const steps = {
      ArrowDown: columns, ArrowUp: -columns, ArrowRight: 1, ArrowLeft: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
    };
    if (event.key in steps) this.move(this.active + steps[event.key]);
    else if (event.key === "Enter" || event.key === " ") this.choose(this.active);
    else return;
    event.preventDefault();
  }

  move(place, reveal = true) {
    this.active = Math.min(Math.max(place, 0), this.count - 1);
    if (reveal) this.reveal(this.active);
    this.mark();
  }

  // Says which of the items in sight is the one that Enter opens.
  mark() {
    for (const element of this.pool) {
      const here = !element.hidden && element.index === this.active;
      element.classList.toggle("active", here);
      element.setAttribute("aria-selected", String(here));
      if (here) this.box.setAttribute("aria-activedescendant", element.id);
    }
  }

  set(count, grid = this.grid) {
    this.count = count;
    this.active = Math.min(this.active, Math.max(0, count - 1));
    if (grid !== this.grid) {
      this.grid = grid;
      this.box.scrollTop = 0;
      for (const element of this.pool) element.remove();
      this.pool = [];
    }
    this.refresh();
  }

  get columns() {
    return this.grid ? Math.max(1, Math.floor(this.space.clientWidth / this.options.cardWidth)) : 1;
  }

  get height() {
    return this.grid ? this.options.cardHeight : this.options.rowHeight;
  }

  // Paints everything in sight anew: other items may be in the same places.
  refresh() {
    this.space.style.height = `${Math.ceil(this.count / this.columns) * this.height}px`;
    this.paint(true);
  }

  reveal(index) {
    const top = Math.floor(index / this.columns) * this.height;
    this.box.scrollTop = Math.max(0, top - (this.box.clientHeight - this.height) / 2);
    this.paint();
  }

  paint(anew = false) {
    if (!this.box.clientHeight) return; // not in sight
    const { columns, height } = this;
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - 2) * columns;
    const rows = Math.ceil(this.box.clientHeight / height) + 5;
    const last = Math.min(this.count, first + rows * columns);
    const needed = last - first;
    while (this.pool.length < rows * columns) {
      const element = document.createElement("div");
      element.setAttribute("role", "option");
      element.id = `${this.id}-${this.pool.length}`;
      element.className = this.grid ? "card" : "row";
      this.space.append(element);
      this.pool.push(element);
      element.index = -1;
    }
    // Element k shows the places that are k modulo the size of the pool, so that scrolling changes few of them.
    for (let k = 0; k < this.pool.length; k += 1) {
      const element = this.pool[k];
      const place = first + ((((k - first) % this.pool.length) + this.pool.length) % this.pool.length);
      const shown = place < first + needed;
      element.hidden = !shown;
      if (!shown) {
        element.index = -1;
        continue;
      }
      if (element.index === place && !anew) continue;
      if (element.index !== place || anew) {
        const x = ((place % columns) * 100) / columns;
        element.style.transform = `translateY(${Math.floor(place / columns) * height}px)`;
        element.style.left = `${x}%`;
        element.style.width = `${100 / columns}%`;
        element.style.height = `${height}px`;
      }
      element.index = place;
      element.setAttribute("aria-posinset", place + 1);
      element.setAttribute("aria-setsize", this.count);
      this.render(element, place, this.grid);
    }
    this.mark();
  }
}
