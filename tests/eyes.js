// What an eye would complain about on a page as it is now: text that is cut off, lies over other text or is faint,
// headings over nothing, and controls that a screen reader could not name. If a dialog is open, the rest lies behind it.
() => {
  const within = document.querySelector("dialog[open]") ?? document.body;
  const shown = (one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const kind = (one) => (typeof one.className === "string" && one.className ? `.${one.className.trim().replaceAll(" ", ".")}` : "");
  const name = (one) => `${one.tagName.toLowerCase()}${one.id ? `#${one.id}` : ""}${kind(one)}`;

  // What the surroundings leave over of a box.
  const left = (one, box) => {
    const seen = { left: box.left, top: box.top, right: box.right, bottom: box.bottom };
    for (let at = one; at && at !== document.body; at = at.parentElement) {
      const [style, around] = [getComputedStyle(at), at.getBoundingClientRect()];
      if (style.overflowX !== "visible") Object.assign(seen, { left: Math.max(seen.left, around.left), right: Math.min(seen.right, around.right) });
      if (style.overflowY !== "visible") Object.assign(seen, { top: Math.max(seen.top, around.top), bottom: Math.min(seen.bottom, around.bottom) });
    }
    return { ...seen, width: seen.right - seen.left, height: seen.bottom - seen.top };
  };

  const texts = [];
  const walk = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || !shown(one) || one.closest("script, style, option, noscript, .skip")) continue;
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    for (const box of range.getClientRects()) {
      const seen = left(one, box);
      if (seen.width > 1 && seen.height > 1) texts.push({ node: walk.currentNode, one, box, seen, words: walk.currentNode.textContent.trim().slice(0, 40) });
    }
  }

  // What scrolls sideways may be wider. Names in lists of many items may be cut off: a click shows them whole.
  const scrolls = (one) => {
    for (let at = one; at && at !== document.body; at = at.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(at).overflowX) && at.scrollWidth > at.clientWidth + 1) return true;
    }
    return false;
  };
  const cutOff = () => [
    ...(document.documentElement.scrollWidth > innerWidth ? [`the page is ${document.documentElement.scrollWidth} wide`] : []),
    ...texts
      .filter(({ one }) => !one.closest("[role=listbox]") && !scrolls(one))
      .filter(({ box, seen }) => box.right > innerWidth + 1 || box.left < -1 || box.width - seen.width > 2)
      .map(({ one, words }) => `${name(one)}: ${words}`),
    // What stands out of a button lies under the next one.
    ...[...document.querySelectorAll("button")]
      .filter((one) => one.offsetParent && !one.closest("[role=listbox]") && one.scrollWidth > one.clientWidth + 1)
      .map((one) => `${name(one)}: “${one.textContent.trim().slice(0, 40)}” in a button that is too narrow`),
  ];

  const overlapping = () =>
    texts.flatMap(({ node, one, seen: a, words }, k) =>
      texts
        .slice(k + 1)
        .filter(({ seen: b, node: other }) => {
          if (other === node) return false; // an ellipsis takes the place of a part of it
          const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          return across > 2 && down > 0.35 * Math.min(a.height, b.height);
        })
        .map((other) => `${name(one)} “${words}” and ${name(other.one)} “${other.words}”`),
    );

  const CONTENT = "img, svg, input, select, canvas, .range, .bar-of";
  const full = (one) => one.textContent.trim() || one.matches(CONTENT) || one.querySelector(CONTENT);
  const after = (one) => {
    for (let at = one.nextElementSibling; at; at = at.nextElementSibling) if (shown(at)) return at;
    return null;
  };
  const empty = () =>
    [
      ...[...within.querySelectorAll("h2, h3, h4")].filter((one) => shown(one) && !(after(one) && full(after(one)))),
      ...[...within.querySelectorAll("figure, table, ul, ol, dl, section")].filter((one) => shown(one) && !full(one)),
    ].map((one) => `${name(one)} ${one.textContent.slice(0, 40)}`);

  const unnamed = () =>
    [...within.querySelectorAll("button, a, input, select, [role=img], [role=listbox], [tabindex='0']")]
      .filter((one) => one.checkVisibility() && !one.closest(".js-plotly-plot"))
      .filter((one) => !(one.ariaLabel || one.labels?.length || one.textContent.trim() || one.hasAttribute("aria-labelledby")))
      .map((one) => one.outerHTML.slice(0, 100));

  // Text with less contrast than 4.5 to 1; disabled controls may have less.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const linear = (byte) => (byte <= 10 ? byte / 255 / 12.92 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = rgba(colour);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (rgba(colour)[3] > 250) return colour;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  const faint = () =>
    [...new Set(texts.map(({ one }) => one))]
      .filter((one) => !one.closest("svg, :disabled, [aria-disabled=true]"))
      .filter((one) => {
        const [a, b] = [light(getComputedStyle(one).color), light(behind(one))].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05) < 4.5;
      })
      .map((one) => `${name(one)} ${one.textContent.slice(0, 30)}`);

  const checks = { "cut off": cutOff, overlapping, empty, unnamed, faint };
  return Object.entries(checks).flatMap(([what, check]) => [...new Set(check())].map((one) => `${what}: ${one}`));
}
