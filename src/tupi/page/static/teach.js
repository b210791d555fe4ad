// Teach: two items side by side, and an answer that is on the disk before the page says so.
import { getJSON, post, Refused } from "./api.js";
import { interval } from "./gained.js";
import { $, amount, make } from "./words.js";

const KEYS = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "equal", s: "skip", S: "skip" };
const AGAIN = 1500; // milliseconds until an answer that could not be sent is sent again

export function teach(facts, items, news) {
  let asked = null;
  let busy = false;
  let progress = null;
  const buttons = { left: $("choose-left"), right: $("choose-right"), equal: $("choose-equal"), skip: $("choose-skip") };

  const id = (() => {
    let mine = localStorage.getItem("tupi-rater-id");
    if (!mine) localStorage.setItem("tupi-rater-id", (mine = crypto.randomUUID().slice(0, 8)));
    return mine;
  })();
  $("rater").value = localStorage.getItem("tupi-rater-name") ?? "";
  const rater = () => ($("rater").value.trim() ? `${$("rater").value.trim()} (${id})` : id);

  const side = (button, item, where) => {
    const parts = [];
    if (facts.has_pictures) {
      const image = make("img", { src: `/api/image/${item.item}`, alt: `Item ${item.name}` });
      image.addEventListener("error", () => image.replaceWith(make("span", { className: "quiet" }, "no picture")));
      parts.push(image);
    }
    parts.push(make("span", { className: "name" }, item.name));
    for (const [name, value] of Object.entries(item.facts)) parts.push(make("span", { className: "fact" }, `${name}: ${value}`));
    button.replaceChildren(...parts);
    button.setAttribute("aria-label", `The ${where} one, ${item.name}, is higher`);
  };

  const enable = () => {
    // Not `disabled`, which would take the focus away from whoever answers by keyboard.
    for (const button of Object.values(buttons)) button.setAttribute("aria-disabled", String(busy || !asked));
    $("undo").setAttribute("aria-disabled", String(busy || !progress?.mine));
  };

  const show = (reply) => {
    asked = reply.question;
    progress = reply.progress;
    $("pair").hidden = !asked;
    $("pair-words").textContent = asked ? "" : "All pairs were asked. Thank you.";
    if (asked) {
      side(buttons.left, asked.left, "left");
      side(buttons.right, asked.right, "right");
    }
    enable();
  };

  const count = () => {
    const others = progress.answers - progress.mine;
    const all = others ? `, and ${amount(others, "answer")} by ${amount(progress.raters - (progress.mine ? 1 : 0), "other")}` : "";
    return `Saved: ${amount(progress.mine, "answer")} of yours${all}.`;
  };

  // Sends until the server has it: the key makes sure that what arrives twice counts once.
  const send = async (path, words) => {
    busy = true;
    enable();
    localStorage.setItem("tupi-unsent", JSON.stringify({ path, words }));
    for (;;) {
      try {
        const reply = await post(path, words);
        localStorage.removeItem("tupi-unsent");
        busy = false;
        show(reply);
        $("saved").textContent = path === "/api/undo" ? (reply.undone ? `Undone. ${count()}` : "Nothing to undo.") : count();
        $("saved").classList.remove("error");
        return;
      } catch (problem) {
        $("saved").classList.add("error");
        if (problem instanceof Refused && problem.status !== 500) {
          if (problem.status !== 403) localStorage.removeItem("tupi-unsent"); // the next run can still have it
          busy = false;
          enable();
          $("saved").textContent = `Not saved. ${problem.message}`;
          return;
        }
        $("saved").textContent = "Not saved yet: the server does not answer. Trying again.";
        await new Promise((resolve) => setTimeout(resolve, AGAIN));
      }
    }
  };

  const answer = (verdict) => {
    if (busy || !asked) return;
    send("/api/answer", {
      rater: rater(), key: crypto.randomUUID(), answer: verdict, left: asked.left.item, right: asked.right.item,
    });
  };

  const undo = () => {
    if (!busy && progress?.mine) send("/api/undo", { rater: rater(), key: crypto.randomUUID() });
  };

  for (const [verdict, button] of Object.entries(buttons)) button.addEventListener("click", () => answer(verdict));
  $("undo").addEventListener("click", undo);
  document.addEventListener("keydown", (event) => {
    if ($("teach").hidden || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) return;
    if (event.key in KEYS) answer(KEYS[event.key]);
    else if (event.key === "u" || event.key === "U") undo();
    else return;
    event.preventDefault();
  });

  const ask = async () => {
    if (!facts.can_teach) {
      $("pair").hidden = true;
      $("teach-words").textContent = "Class scores have no higher and lower, so there are no pairs to ask about. Pass known classes as --labels instead.";
      return;
    }
    $("pair-words").textContent = asked ? "" : "Choosing a pair…";
    try {
      show(await getJSON(`/api/question?${new URLSearchParams({ rater: rater() })}`));
      if (!$("saved").textContent) $("saved").textContent = progress.answers ? count() : "No answers yet.";
    } catch (problem) {
      $("pair-words").textContent = problem.message;
    }
  };

  $("rater").addEventListener("change", () => {
    localStorage.setItem("tupi-rater-name", $("rater").value.trim());
    $("saved").textContent = "";
    ask();
  });

  const gain = () => {
    const found = news.status.gain;
    $("gain-bar").hidden = !found || found.low === null;
    if (!found) {
      $("gain-words").textContent = "Not known yet. It takes some answers.";
      return;
    }
    const late = found.current ? "" : " Newer answers are being counted.";
    $("gain-words").textContent = found.sentence + late;
    if (found.low !== null) $("gain-bar").replaceChildren(interval(found));
  };

  news.addEventListener("change", gain);
  gain();

  const open = async () => {
    if (busy) return;
    const unsent = localStorage.getItem("tupi-unsent");
    await ask();
    if (unsent) {
      const { path, words } = JSON.parse(unsent);
      if (asked) send(path, words); // a reload in the middle must not lose it
    }
  };
  return { open };
}
