// The page: loads what it needs, shows one of four views, and says so when the server is gone.
import { getFrame, getJSON, listen } from "./api.js";
import { decide } from "./decide.js";
import { explore } from "./explore.js";
import { Gained } from "./gained.js";
import { Items } from "./items.js";
import { overview } from "./overview.js";
import { panel } from "./panel.js";
import { Ranking } from "./ranking.js";
import { teach } from "./teach.js";
import { $, amount, make } from "./words.js";

const VIEWS = ["overview", "explore", "teach", "decide"];
const KEPT = "tupi-look";

class News extends EventTarget {
  status = null;

  set(status) {
    this.status = status;
    this.dispatchEvent(new Event("change"));
  }
}

function names(frame) {
  const decoder = new TextDecoder();
  const list = new Array(frame.starts.length - 1);
  for (let k = 0; k < list.length; k += 1) list[k] = decoder.decode(frame.bytes.subarray(frame.starts[k], frame.starts[k + 1]));
  return list;
}

// Where the sliders were, if this is a reload.
function kept(facts) {
  try {
    const look = JSON.parse(sessionStorage.getItem(KEPT));
    const known = look && facts.methods.some(({ name }) => name === look.method) && facts.kernels.includes(look.kernel);
    const inGrid = known && facts.lams.includes(look.lam) && facts.sigma_w2s.includes(look.sigma_w2);
    return inGrid && look.t >= 0 && look.t <= facts.last && look.column < (facts.classes?.length ?? 1) ? look : {};
  } catch {
    return {};
  }
}

async function start() {
  const news = new News();
  const [facts, status] = await Promise.all([getJSON("/api/facts"), getJSON("/api/status")]);
  news.status = status;
  const first = kept(facts);
  const [initial, ids, titles, grouped] = await Promise.all([
    getFrame(`/api/initial?column=${first.column ?? 0}`),
    facts.has_ids ? getFrame("/api/ids") : null,
    facts.titles ? getFrame("/api/titles") : null,
    facts.group ? getFrame("/api/groups") : null,
  ]);
  const groups = grouped && { number: grouped.number, names: names(grouped) };
  const views = facts.views.length;
  const queries = groups ? `, ${amount(groups.names.length, facts.group)}` : "";
  $("about").textContent = `${amount(facts.n, "item")}, ${amount(views, "view")}${queries}`;
  document.title = `tupi: ${amount(facts.n, "item")}`;
  const ranking = new Ranking(facts, initial, status.labels, groups);
  const items = new Items(facts, ids && names(ids), titles && names(titles), groups);
  const gained = new Gained(facts, ranking, news);
  const open = panel(facts, ranking, items);
  const parts = {
    overview: overview(facts, ranking, items, open),
    explore: explore(facts, ranking, items, news, gained, open),
    teach: teach(facts, items, news),
    decide: decide(ranking, news, async () => {
      const frame = await getFrame(`/api/decided?column=${ranking.look.column}`);
      if ($("decide").hidden) return; // whoever asked for it went elsewhere meanwhile
      ranking.showDecision(frame);
      location.hash = "#overview";
    }),
  };
  document.body.dataset.ready = "true";

  const state = () => {
    const computing = !ranking.final && !ranking.path()?.error;
    const doing = news.status.doing;
    $("state").textContent = computing ? (doing ? `${doing}…` : "Computing…") : "";
  };
  ranking.addEventListener("change", () => {
    sessionStorage.setItem(KEPT, JSON.stringify(ranking.look));
    document.body.dataset.labels = ranking.shown.labels ?? ""; // for whoever measures or tests
    if (!$("overview").hidden) parts.overview.draw();
    if (!$("explore").hidden) parts.explore.draw();
    else {
      document.body.dataset.shown = `${ranking.shownKey}|${ranking.shown.t}`;
      document.body.dataset.final = String(ranking.final);
    }
    state();
  });
  news.addEventListener("change", state);
  // Rankings follow the labels where they are seen; elsewhere it can wait.
  const follow = () => {
    if (!$("overview").hidden || !$("explore").hidden) ranking.follow(news.status.labels);
  };
  news.addEventListener("change", follow);

  const show = (focus) => {
    const name = VIEWS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "overview";
    for (const view of VIEWS) $(view).hidden = view !== name;
    for (const link of document.querySelectorAll("nav a")) {
      if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    if (name === "overview") parts.overview.draw();
    else parts[name].open();
    follow();
    gained.refresh();
    if (focus) {
      scrollTo(0, 0);
      $(`${name}-title`).focus({ preventScroll: true });
    }
  };
  addEventListener("hashchange", () => {
    if (location.hash !== "#main") show(true);
  });

  if (facts.classes) {
    document.querySelector(".class-menu").hidden = false;
    $("class-menu").append(...facts.classes.map((name, k) => make("option", { value: k }, name)));
    $("class-menu").value = first.column ?? 0;
    $("class-menu").addEventListener("change", () => {
      // The initial column changes with it: begin anew, which is quick.
      sessionStorage.setItem(KEPT, JSON.stringify({ ...ranking.look, column: Number($("class-menu").value) }));
      location.reload();
    });
  }

  show(false);
  ranking.set(first);
  let gone = false;
  listen(
    (latest) => news.set(latest),
    (words) => {
      $("gone").hidden = words === null;
      if (words !== null && $("gone").textContent !== words) $("gone").textContent = words;
      if (gone && words === null && !ranking.final) ranking.set({}, { again: true });
      gone = words !== null;
    },
  );
}

start().catch((problem) => {
  $("about").textContent = "";
  $("gone").hidden = false;
  $("gone").textContent = problem instanceof TypeError ? "The server does not answer. Start it again and open the address that it prints." : problem.message;
});
