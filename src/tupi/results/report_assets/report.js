// Draws each figure of the report in the colours of the page, and again when those change.
"use strict";
(() => {
  const inPageColours = (layout) => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    const [ink, line, card] = [colour("--ink"), colour("--line"), colour("--card")];
    const themed = structuredClone(layout);
    Object.assign(themed, {
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: ink, family: getComputedStyle(document.body).fontFamily, size: 13 },
      hoverlabel: { bgcolor: card, bordercolor: line, font: { color: ink } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("--quiet"), activecolor: ink },
    });
    for (const axis of [themed.xaxis, themed.yaxis]) {
      Object.assign(axis, { gridcolor: line, zerolinecolor: line, linecolor: line });
    }
    return themed;
  };

  const draw = () => {
    for (const plot of document.querySelectorAll("[data-figure]")) {
      const figure = JSON.parse(document.getElementById(plot.dataset.figure).textContent);
      Plotly.react(plot, figure.data, inPageColours(figure.layout), figure.config);
    }
  };

  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  matchMedia("print").addEventListener("change", draw);
})();
