// Teach: which of two items is higher, or what one item is; an answer is on the disk before the page says so.
import { getJSON, post, Refused } from "./api.js";
import { interval } from "./gained.js";
import { $, amount, make } from "./words.js";

const AGAIN = 1500; // milliseconds until an answer that could not be sent is sent again
const MOST_KEYS = 9; // classes that a digit can mean
const TITLES = { pairs: "Which is higher?", values: "What is its value?", classes: "Which class is it?" };

export function teach(facts, items, news) {
  let asked = null;
  let busy = false;
  let turn = 0; // counts what was sent and asked: a question that arrives after a later answer is no longer the question
  let progress = null;
  const sides = { left: $("choose-left"), right: $("choose-right") };
  const pairs = facts.asks === "pairs";
  const single = !pairs;
  const classes = facts.asks === "classes" ? facts.answers.map((name) => make("button", { type: "button" }, name)) : [];
  const buttons = [...Object.values(sides), ...classes, $("choose-equal"), $("choose-skip"), $("save-value")];

  const id = (() => {
    let mine = localStorage.getItem("tupi-rater-id");
    if (!mine) localStorage.setItem("tupi-rater-id", (mine = crypto.randomUUID().slice(0, 8)));
    return mine;
  })();
  $("rater").value = localStorage.getItem("tupi-rater-name") ?? "";
  const rater = () => ($("rater").value.trim() ? `${$("rater").value.trim()} (${id})` : id);

  const introduce = () => {
    const keys = (...list) => ["Keys: ", ...list.flatMap(([key, meaning], k) => [make("kbd", {}, key), ` ${meaning}${k + 1 < list.length ? ", " : "."}`])];
    $("teach-title").textContent = TITLES[facts.asks];
    $("choose-equal").hidden = single;
    $("class-choices").hidden = facts.asks !== "classes";
    $("value-form").hidden = facts.asks !== "values";
    $("class-choices").replaceChildren(...classes);
    const last = [["S", "skip"], ["U", "undo"]];
    if (pairs) {
      const both = facts.group ? ` Both are of one ${facts.group}.` : "";
      $("teach-words").textContent = `Choose the item that should rank higher.${both}`;
      $("teach-keys").replaceChildren(...keys(["←", "left"], ["→", "right"], ["↓", "equal"], ...last));
    } else if (facts.asks === "classes") {
      const of = facts.positive ? ` The predictions are probabilities of class ${facts.positive}.` : "";
      $("teach-words").textContent = `Choose the class that the item is of.${of} Items are drawn at random, so your answers also judge what is gained.`;
      const some = classes.length <= MOST_KEYS ? [[`1 to ${classes.length}`, "the classes in their order"]] : [];
      $("teach-keys").replaceChildren(...keys(...some, ...last));
    } else {
      $("teach-words").textContent = "Type the true value of the item, in the units of the predictions. Items are drawn at random, so your answers also judge what is gained.";
      $("teach-keys").replaceChildren(...keys(["Enter", "saves"]));
    }
  };

  const card = (place, item) => {
    const parts = [];
    if (facts.has_pictures) {
      const image = make("img", { src: `/api/image/${item.item}`, alt: `Item ${item.title || item.name}` });
      image.addEventListener("error", () => image.replaceWith(make("span", { className: "quiet" }, "no picture")));
      parts.push(image);
    }
    parts.push(make("span", { className: "name" }, item.title || item.name));
    if (item.title) parts.push(make("span", { className: "fact" }, item.name));
    for (const [name, value] of Object.entries(item.facts)) parts.push(make("span", { className: "fact" }, `${name}: ${value}`));
    place.replaceChildren(...parts);
  };

  const enable = () => {
    // Not `disabled`, which would take the focus away from whoever answers by keyboard.
    for (const button of buttons) button.setAttribute("aria-disabled", String(busy || !asked));
    $("undo").setAttribute("aria-disabled", String(busy || !progress?.mine));
  };

  const show = (reply) => {
    asked = reply.question;
    progress = reply.progress;
    $("pair").hidden = !asked || single;
    $("single").hidden = !asked || pairs;
    $("pair-words").textContent = asked ? "" : `All ${pairs ? "pairs" : "items"} were asked about. Thank you.`;
    if (asked && single) {
      card($("single-item"), asked.item);
      $("value").value = "";
      if (facts.asks === "values" && !$("teach").hidden && matchMedia("(pointer: fine)").matches) $("value").focus();
    } else if (asked) {
      if (facts.group) $("teach-title").textContent = `Which is higher for ${facts.group} “${asked.left.group}”?`;
      for (const [where, button] of Object.entries(sides)) {
        card(button, asked[where]);
        button.setAttribute("aria-label", `The ${where} one, ${asked[where].title || asked[where].name}, is higher`);
      }
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
    turn += 1;
    const mine = turn;
    enable();
    const unsent = JSON.stringify({ path, words });
    const forget = () => {
      if (localStorage.getItem("tupi-unsent") === unsent) localStorage.removeItem("tupi-unsent"); // else another window's
    };
    localStorage.setItem("tupi-unsent", unsent);
    for (;;) {
      try {
        const reply = await post(path, words);
        forget();
        busy = false;
        if (mine !== turn) return enable(); // somebody else answers here by now, and was asked something else
        show(reply);
        $("saved").textContent = path === "/api/undo" ? (reply.undone ? `Undone. ${count()}` : "Nothing to undo.") : count();
        $("saved").classList.remove("error");
        return;
      } catch (problem) {
        $("saved").classList.add("error");
        if (problem instanceof Refused && problem.status !== 500) {
          if (problem.status !== 403) forget(); // the next run can still have it
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

  const say = (words) => {
    if (!busy && asked) send("/api/answer", { rater: rater(), key: crypto.randomUUID(), ...words });
  };
  const compare = (answer) => asked && say({ answer, left: asked.left.item, right: asked.right.item });
  const tell = (value) => asked && say({ item: asked.item.item, value });
  const skip = () => (pairs ? compare("skip") : tell(null));
  const undo = () => {
    if (!busy && progress?.mine) send("/api/undo", { rater: rater(), key: crypto.randomUUID() });
  };

  for (const [where, button] of Object.entries(sides)) button.addEventListener("click", () => compare(where));
  for (const [k, button] of classes.entries()) button.addEventListener("click", () => tell(facts.answers[k]));
  $("choose-equal").addEventListener("click", () => compare("equal"));
  $("choose-skip").addEventListener("click", skip);
  $("undo").addEventListener("click", undo);
  $("value-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = $("value").value.trim().replace(",", ".");
    const value = Number(text);
    if (text && Number.isFinite(value)) tell(value);
    else $("pair-words").textContent = `“${$("value").value}” is not a number. A number such as 12.5 is accepted.`;
  });

  const press = (key) => {
    const pair = { ArrowLeft: "left", ArrowRight: "right", ArrowDown: "equal" };
    if (pairs && key in pair) compare(pair[key]);
    else if (key.toLowerCase() === "s") skip();
    else if (key.toLowerCase() === "u") undo();
    else if (classes.length <= MOST_KEYS && facts.answers?.[Number(key) - 1] !== undefined) tell(facts.answers[Number(key) - 1]);
    else return false;
    return true;
  };
  document.addEventListener("keydown", (event) => {
    if ($("teach").hidden || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input, select, textarea")) return;
    if (press(event.key)) event.preventDefault();
  });

  const ask = async () => {
    $("pair-words").textContent = asked ? "" : "Choosing what to ask…";
    turn += 1;
    const mine = turn;
    try {
      const reply = await getJSON(`/api/question?${new URLSearchParams({ rater: rater() })}`);
      if (mine !== turn) return;
      show(reply);
      if (!$("saved").textContent) $("saved").textContent = progress.answers ? count() : "No answers yet.";
    } catch (problem) {
      if (mine === turn) $("pair-words").textContent = problem.message;
    }
  };

  $("rater").addEventListener("change", () => {
    localStorage.setItem("tupi-rater-name", $("rater").value.trim());
    $("saved").textContent = "";
    asked = progress = null; // these were for whoever answered until now
    enable();
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
  introduce();

  const open = async () => {
    if (busy) return;
    const unsent = localStorage.getItem("tupi-unsent");
    await ask();
    if (unsent) {
      const { path, words } = JSON.parse(unsent);
      if (asked && !busy) send(path, words); // a reload in the middle must not lose it
    }
  };
  return { open };
}
