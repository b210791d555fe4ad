// Decide and export: run a method to its end, say what the labels say, and give everything away.
import { getJSON, post } from "./api.js";
import { $, amount, capital, make } from "./words.js";

const USES = {
  both: "all: those of the file and the answers",
  answers: "the answers alone",
  file: "those of the file alone",
  none: "none",
};
const FILES = {
  "better.csv": "Table: scores and ranks, before and after",
  "labels.csv": "Labels that were used",
  "settings.json": "Settings",
  "report.html": "Report that opens offline",
  "run.npz": "Everything, for tupi.load",
  "repeat.py": "Python script that repeats it",
  "repeat.sh": "Command that repeats it",
};

export function decide(ranking, news, showDecision) {
  let number = 0;
  let answersThen = null; // how many there were when what is shown here was decided
  let chosenUse = null;

  const choices = () => {
    const { look } = ranking;
    $("look-words").textContent = ranking.hasSteps()
      ? `${look.method} with ${look.kernel} kernels, λ ${look.lam}, σw² ${look.sigma_w2}, T ${look.t}`
      : look.method;
    const wanted = [...news.status.uses, "none"];
    const menu = $("use");
    if (wanted.join() !== [...menu.options].map((option) => option.value).join()) {
      menu.replaceChildren(...wanted.map((use) => make("option", { value: use }, USES[use])));
      if (wanted.includes(chosenUse)) menu.value = chosenUse; // else the default, which changes with the first answer
    }
    const byHand = document.querySelector("#decide-form input[name=choice]:checked").value === "look";
    menu.disabled = byHand && ranking.hasSteps();
  };

  const words = () => {
    const { running, doing, error } = news.status.decide;
    $("run").setAttribute("aria-disabled", String(running)); // not `disabled`, which would take the focus away
    $("stop").hidden = !running;
    const place = $("decide-words");
    place.classList.toggle("error", Boolean(error) && !running);
    if (running) place.textContent = `${doing || "Working"}…`;
    else if (error) place.textContent = error;
    else if (number && news.status.answers.answers !== answersThen) {
      const more = news.status.answers.answers - answersThen;
      place.textContent = more > 0 ? `${amount(more, "answer")} came in since. Decide again to use them.` : "Answers changed since. Decide again to use them.";
    } else place.textContent = number ? "Done." : "Nothing was decided yet.";
  };

  const show = (decision) => {
    $("decision").hidden = !decision;
    if (!decision) return;
    number = decision.number;
    answersThen = decision.answers;
    const evidence = decision.evidence
      ? decision.evidence.sentence
      : "No labels were used, so nothing here says whether the new scores are better.";
    const used = decision.evidence ? [`Labels that were used: ${decision.known}.`] : [];
    const { kind, head, step } = decision.verdict;
    const next = kind === "use" ? [] : [capital(step)]; // else the head says it
    const lines = [...new Set([evidence, ...next, ...used, decision.summary[0], decision.summary[1], ...decision.notes])];
    $("decision-summary").replaceChildren(make("p", { className: `verdict ${kind}` }, head), ...lines.map((line) => make("p", {}, line)));
    $("downloads").replaceChildren(
      ...decision.downloads.map((name) =>
        make("li", {}, make("a", { href: `/api/export/${name}`, download: name }, name), ` ${FILES[name] ?? ""}`),
      ),
    );
    $("repeat-words").textContent = decision.downloads.includes("labels.csv") && decision.command.includes("labels.csv")
      ? "Run in the folder where this page was started. If the labels of this page were used, put labels.csv there first."
      : "Run in the folder where this page was started.";
    const options = decision.command.split(/(?= --[a-z])/);
    $("command").replaceChildren(...options.flatMap((words, k) => (k ? [" ", make("span", {}, words.slice(1))] : [words])));
    $("python").textContent = decision.python;
  };

  const refresh = async () => {
    try {
      const decision = await getJSON("/api/decision");
      if (decision && decision.number < number) return; // a later one came before it
      show(decision);
      words();
    } catch (problem) {
      $("decide-words").textContent = problem.message;
    }
  };

  $("decide-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (news.status.decide.running) return;
    const choice = new FormData($("decide-form")).get("choice");
    try {
      await post("/api/decide", { ...ranking.look, choice, use: $("use").value || "none" });
      $("decide-words").textContent = "Starting…";
    } catch (problem) {
      $("decide-words").textContent = problem.message;
      $("decide-words").classList.add("error");
    }
  });
  $("use").addEventListener("change", () => (chosenUse = $("use").value));
  $("stop").addEventListener("click", () => post("/api/stop", {}));
  for (const input of document.querySelectorAll("#decide-form input")) input.addEventListener("change", choices);
  $("show-decision").addEventListener("click", showDecision);
  for (const button of document.querySelectorAll("[data-copy]")) {
    const label = button.textContent;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText($(button.dataset.copy).textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren($(button.dataset.copy));
        button.textContent = "Selected: copy with Ctrl+C";
      }
      setTimeout(() => (button.textContent = label), 2000);
    });
  }
  news.addEventListener("change", () => {
    choices();
    words();
    if (news.status.decide.number !== number) refresh();
  });
  ranking.addEventListener("change", choices);
  choices();
  words();
  if (news.status.decide.number) refresh();
  return { open: choices };
}
