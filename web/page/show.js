// The answer as a report: summary, then program by program what to set, what stays, the option text; then doubts, timings,
// and what was understood.

// So many programs are shown at once; the rest on request.
const PROGRAMS = 20;
// An option, or values by their names where there are no options.
const NAMED = (advice) => (advice.values || []).map((value) => `${value.name}=${value.value}`);
const SETS = (advice) => advice.option !== null || NAMED(advice).length > 0;
const WAYS = { raise: "Raise", lower: "Lower", change: "Change", no_change: "No change", no_advice: "No advice" };

let form = "ceeopts";
let serial = 0;
// What shows the texts of each program in the form that was chosen.
let fills = [];

function show(answer) {
  const place = $("results");
  fills = [];
  place.replaceChildren(...[summary(answer), contents(answer)].filter(Boolean));
  programs(place, answer, 0);
  place.append(...[whatIf(answer), lints(answer), doubts(answer), absent(answer), inForce(answer), timings(answer), understood(answer)].filter(Boolean));
  place.hidden = false;
  $("version").textContent = `underbar ${answer.version}, on this machine, in this page.`;
}

function summary(answer) {
  const advice = answer.programs.flatMap((program) => program.advice);
  const sets = advice.filter(SETS).length;
  const runs = answer.programs.reduce((sum, program) => sum + program.runs, 0);
  const lines = answer.files.reduce((sum, file) => sum + file.lines, 0);
  const from = answer.files.length === 1 ? answer.files[0].name : counted(answer.files.length, "file");
  const made = element("section", { "aria-labelledby": "in-short", id: "summary" }, element("h2", { id: "in-short" }, "In short"));
  const read = `${from}, ${counted(lines, "line")}:`;
  if (runs === 0 && advice.length === 0) {
    const found = answer.files.reduce((sum, file) => sum + file.items, 0);
    const why = found > 0
      ? "something was recognised, but no storage report, on which advice would rest."
      : "nothing in it is known here.";
    made.append(element("p", { class: "summary" }, `${read} ${why}`));
    if (answer.lint.length > 0) made.append(element("p", {}, element("a", { href: "#lints" }, counted(answer.lint.length, "remark")), " about option texts."));
    made.append(element("p", {}, "Run the program once with RPTSTG(ON), not in production, since the report slows the run, and give its whole output."));
  } else {
    const kept = advice.filter((one) => one.kind === "no_change").length;
    const unsure = advice.filter((one) => one.kind === "no_advice").length;
    const parts = [sets === 0 ? "nothing to set" : counted(sets, "value") + " to set"];
    if (kept > 0) parts.push(`${grouped(kept)} right as ${kept === 1 ? "it is" : "they are"}`);
    if (unsure > 0) parts.push(`${counted(unsure, "observation")} without advice`);
    if (answer.lint.length > 0) parts.push(`${counted(answer.lint.length, "remark")} about option texts`);
    if (answer.doubts.length > 0) parts.push(counted(answer.doubts.length, "doubt"));
    made.append(element("p", { class: "summary" },
      `${read} ${runs > 0 ? `${counted(runs, "storage report")} of ` : ""}${counted(answer.programs.length, "program")}; ${joined(parts)}.`));
    if (answer.doubts.length > 0) {
      made.append(element("p", {}, element("a", { href: "#doubts" }, "What is not certain, or was not read"), " is named with its line."));
    }
  }
  for (const file of answer.files) {
    if (file.saved) {
      made.append(note(`${file.name} begins like a report that underbar saved. It is no listing and was not read here; the command reads it: underbar advise.`));
    } else if (file.items === 0 && answer.files.length > 1) {
      made.append(note(`${file.name}: nothing in it is known here.`));
    }
  }
  if (answer.left_out > 0) {
    made.append(note(`There is more than is kept at one time: ${counted(answer.left_out, "item")} left out.`));
  }
  return made;
}

const note = (words) => element("p", { class: "note" }, words);

function contents(answer) {
  if (answer.programs.length < 2) return null;
  const rows = answer.programs.slice(0, PROGRAMS).map((program, at) => {
    const sets = program.advice.filter(SETS).flatMap((advice) => (advice.option === null ? NAMED(advice) : [advice.option]).map((text) => text.replace(/[(=].*$/s, "")));
    const names = joined([...new Set(sets)]);
    return element("li", {}, element("a", { href: `#program-${at}` }, program.name), names ? `: ${names}` : ": nothing to set");
  });
  return element("nav", { "aria-label": "Programs" }, element("ul", { class: "contents" }, rows));
}

function programs(place, answer, from) {
  const shown = answer.programs.slice(from, from + PROGRAMS);
  const made = shown.map((program, at) => ofProgram(program, answer, from + at));
  const left = answer.programs.length - from - shown.length;
  if (left > 0) {
    const more = element("p", {}, element("button", { type: "button", "data-more": "" }, `Show ${Math.min(left, PROGRAMS)} more of ${counted(left, "program")}`));
    more.firstChild.addEventListener("click", () => {
      const holder = element("div");
      programs(holder, answer, from + shown.length);
      const first = holder.querySelector("h2");
      more.replaceWith(...holder.childNodes);
      first.tabIndex = -1;
      first.focus();
    });
    made.push(more);
  }
  place.append(...made);
}

function ofProgram(program, answer, at) {
  const title = `program-${at}`;
  const made = element("section", { class: "program", "aria-labelledby": title, "data-program": program.name },
    element("h2", { id: title, tabindex: "-1" }, program.name));
  if (program.runs > 0) made.append(note(program.runs === 1 ? "One run." : `${grouped(program.runs)} runs.`));
  if (program.areas.length > 0) made.append(pictureOfSizes(program.areas));
  const sets = program.advice.filter(SETS);
  if (sets.length > 0) {
    made.append(element("h3", {}, "What to set"), ...sets.map((advice) => ofAdvice(advice, answer)));
  } else {
    made.append(element("p", {}, "Nothing to set."));
  }
  if (program.texts.length > 0) made.append(...texts(program));
  const named = sets.flatMap(NAMED);
  if (named.length > 0) made.append(...values(named));
  if (program.runs === 0 && sets.length > 0) {
    made.append(note("Then run it once more under the same load, with the same report, and compare: one run each, no interval."));
  }
  const stays = program.advice.filter((advice) => !SETS(advice));
  if (stays.length > 0) {
    made.append(element("h3", {}, "What stays as it is, and why"), ...stays.map((advice) => ofAdvice(advice, answer)));
  }
  return made;
}

function ofAdvice(advice, answer) {
  const fromto = element("p", { class: "fromto" },
    element("span", { class: `way ${advice.kind}` }, WAYS[advice.kind] || advice.kind),
    element("span", {}, element("span", { class: "label" }, "now "), element("span", { class: "option", "data-field": "now" }, advice.now)));
  if (SETS(advice)) {
    fromto.append(element("span", {}, element("span", { class: "arrow", "aria-hidden": "true" }, "→"), element("span", { class: "label" }, "suggested "),
      element("span", { class: "option suggested", "data-field": "option" }, advice.option ?? NAMED(advice).join(" "))));
  }
  const list = element("dl", {});
  const add = (name, field, ...what) => list.append(element("dt", {}, name), element("dd", { "data-field": field }, ...what));
  if (advice.evidence.length > 0) add("Evidence", "evidence", evidence(advice.evidence));
  if (SETS(advice) || advice.effect !== "") {
    add("Expected", "effect", advice.effect);
    add("Risk", "risk", advice.risk);
  }
  add("Confidence", "confidence", advice.confidence);
  add("Rule", "rule", rule(advice.rule, answer.rules[advice.rule]));
  return element("article", { class: "advice", "data-kind": advice.kind, "data-rule": advice.rule },
    fromto, element("p", { class: "reason", "data-field": "reason" }, advice.reason), list);
}

function evidence(lines) {
  return element("ul", { class: "evidence" }, lines.map((line) => element("li", {},
    element("span", { class: "where" }, `${line.file}:${line.line}`), element("span", { class: "words" }, line.text))));
}

// `explain` answers "id: title", an empty line, then "Name:   words" lines.
function rule(id, explained) {
  if (!explained) return element("code", {}, id);
  const [title, , ...rest] = explained.trimEnd().split("\n");
  const list = element("dl", {});
  for (const line of rest) {
    const cut = line.indexOf(":");
    list.append(element("dt", {}, line.slice(0, cut)), element("dd", {}, line.slice(cut + 1).trim()));
  }
  return element("details", { class: "rule" }, element("summary", {}, element("code", {}, id), title.slice(id.length + 1)), list);
}

function texts(program) {
  const name = `form-${(serial += 1)}`;
  const keep = copied("keep");
  const once = copied("once");
  const choice = element("fieldset", {}, element("legend", {}, "In the form of"));
  const fill = () => {
    const text = program.texts.find((one) => one.form === form) || program.texts[0];
    keep.pre.textContent = text.keep;
    once.pre.textContent = text.once ?? "";
    for (const radio of choice.querySelectorAll("input")) radio.checked = radio.value === text.form;
  };
  for (const text of program.texts) {
    const radio = element("input", { type: "radio", name, value: text.form });
    // One choice for all programs.
    radio.addEventListener("change", () => {
      form = text.form;
      for (const each of fills) each();
    });
    choice.append(element("label", {}, radio, text.title));
  }
  fills.push(fill);
  fill();
  const made = [element("h3", {}, "The options"), choice, keep.made];
  if (program.texts.every((text) => text.once === null)) return made;
  return [...made,
    element("h3", {}, "Run it once more"),
    element("p", {}, "To see what it does, run the program once with these and the two reports, not in production, since RPTSTG itself slows the run:"),
    once.made,
    element("p", { class: "note" }, "Then give the old and the new listing to ", element("code", {}, "underbar diff OLD NEW"),
      ": one run each, no interval, so a small difference in time says nothing; numbers of segments and sizes do."),
  ];
}

function values(named) {
  const { pre, made } = copied("values");
  pre.textContent = `${named.join("\n")}\n`;
  return [element("h3", {}, "The values"), element("p", {}, "Values, not a command: check each name and its unit with HELP."), made];
}

function copied(what) {
  const pre = element("pre", { tabindex: "0", "data-text": what, role: "group", "aria-label": { keep: "Options", once: "Options for one more run", values: "Values" }[what] });
  const said = element("span", { class: "copied", role: "status" });
  const button = element("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    said.textContent = (await copy(pre)) ? "Copied." : "It is selected: copy it with Ctrl+C.";
  });
  return { pre, made: element("div", { class: "text" }, pre, button, said) };
}

// The clipboard is not open to every page from a file; then the text is selected and copied the old way.
async function copy(pre) {
  try {
    await navigator.clipboard.writeText(pre.textContent);
    return true;
  } catch {
    const range = document.createRange();
    range.selectNodeContents(pre);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }
}

function section(id, title, ...what) {
  return element("section", { class: "program", "aria-labelledby": id }, element("h2", { id, tabindex: "-1" }, title), ...what);
}

// Other sizes than those suggested: an estimate by the rules' own replay of the requests.
function whatIf(answer) {
  const lists = answer.programs.some((program) => program.advice.some((advice) => advice.rule === "tpf-avl-size"));
  const heaps = answer.programs.some((program) => program.runs > 0);
  if (!lists && !heaps) return null;
  const names = [heaps ? "HEAP or HEAPPOOLS" : "", lists ? "HAVSZ1 and so on, or AVL for those that are advised" : ""].filter(Boolean).join("; ");
  const input = element("input", { id: "what-if-options", type: "text", size: "30", spellcheck: "false", autocomplete: "off", value: heaps ? "HEAP(64M,16M)" : "AVL" });
  const place = element("div", { class: "wide", "aria-live": "polite" });
  const made = element("form", {}, element("label", { for: "what-if-options" }, `Values of ${names}`),
    element("p", { class: "ask" }, input, element("button", {}, "Replay")));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    try {
      place.replaceChildren(outcomes(engine.whatIf(input.value)));
    } catch (error) {
      place.replaceChildren(element("p", { class: "trouble" }, error.message));
    }
  });
  return section("what-if", "What if",
    element("p", {}, "What other sizes would have come to, before anything is changed: the requests of each program's last report, drawn anew. An estimate, since a report does not tell when storage was freed."),
    made, place);
}

function outcomes(all) {
  if (all.error) return element("p", { class: "trouble" }, all.error);
  if (all.length === 0) return note("No report here shows requests to replay.");
  const texts = all.filter((one) => one.text).map((one) => element("pre", {}, one.text));
  const heaps = all.filter((one) => one.outcomes);
  if (heaps.length === 0) return element("div", { id: "outcomes" }, ...texts);
  const notes = heaps.flatMap((one) => one.notes.map((words) => note(`${one.program}: ${words}`)));
  const head = ["Program", "Values", "Segments", "Bytes", "Of these, waste"].map((words, at) => element("th", { scope: "col", class: at > 1 ? "number" : null }, words));
  const rows = heaps.flatMap((one) => one.outcomes.map((outcome, at) => element("tr", {},
    element("td", {}, at === 0 ? one.program : ""),
    element("td", { class: "option" }, outcome.option),
    element("td", { class: "number" }, outcome.segments === null ? "–" : grouped(outcome.segments),
      at === 0 && one.measured !== null ? ` (measured: ${grouped(one.measured)})` : ""),
    element("td", { class: "number" }, size(outcome.bytes)),
    element("td", { class: "number" }, size(outcome.waste)))));
  const table = element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows));
  return element("div", { id: "outcomes" }, table, ...notes, ...texts);
}

function lints(answer) {
  if (answer.lint.length === 0) return null;
  const most = 200;
  const rows = answer.lint.slice(0, most).map((one) => element("article", { class: "advice", "data-lint": one.rule },
    element("p", { class: "reason", "data-field": "words" }, one.words),
    element("dl", {}, element("dt", {}, "Lines"), element("dd", {}, evidence(one.evidence)),
      element("dt", {}, "Check"), element("dd", {}, rule(one.rule, answer.rules[one.rule])))));
  const made = section("lints", "About option texts", ...rows);
  if (answer.lint.length > most) made.append(note(`And ${grouped(answer.lint.length - most)} more; underbar advise names all.`));
  return made;
}

function inForce(answer) {
  if (answer.in_force.length === 0) return null;
  const head = ["Option", "Last set", "Program", "Line"].map((words, at) => element("th", { scope: "col", class: at > 2 ? "number" : null }, words));
  const rows = answer.in_force.map((one) => element("tr", {},
    element("td", { class: "option" }, `${one.option.negative ? "NO" : ""}${one.option.name}(${one.option.values})`),
    element("td", {}, `${one.option.source}${one.option.overridable === false ? ", cannot be overridden" : ""}`),
    element("td", {}, one.program === null ? "–" : one.program),
    element("td", { class: "number" }, `${answer.files.length > 1 ? `${one.file}:` : ""}${one.option.evidence.line}`)));
  return section("in-force", "In force as far as is known, and set where",
    element("div", { class: "wide" }, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows))));
}

function doubts(answer) {
  if (answer.doubts.length === 0) return null;
  const most = 200;
  const rows = answer.doubts.slice(0, most).map((doubt) => element("li", {},
    element("span", { class: "where" }, doubt.place), element("span", { class: "words" }, doubt.why)));
  const made = section("doubts", "Not certain, or not read",
    element("p", {}, "What is only likely sets nothing: no advice is better than a wrong one."),
    element("ul", { class: "doubts" }, rows));
  if (answer.doubts.length > most) made.append(note(`And ${grouped(answer.doubts.length - most)} more; underbar advise names all.`));
  return made;
}

function absent(answer) {
  if (answer.programs.every((program) => program.runs === 0)) return null;
  return note("Not in these figures: storage got before options are read, heap managers of vendors, the reserve stack.");
}

function timings(answer) {
  if (answer.steps.length === 0) return null;
  const most = 200;
  const head = ["Step", "Code", "CPU", "Elapsed", "EXCP", "Line"].map((words, at) => element("th", { scope: "col", class: at > 1 ? "number" : null }, words));
  const rows = answer.steps.slice(0, most).map((step) => element("tr", {},
    element("th", { scope: "row" }, step.names.join(" ")),
    element("td", {}, step.code === null ? "–" : step.code),
    element("td", { class: "number" }, time(step.cpu)),
    element("td", { class: "number" }, time(step.elapsed)),
    element("td", { class: "number" }, step.excp === null ? "–" : grouped(step.excp)),
    element("td", { class: "number" }, step.evidence ? `${answer.files.length > 1 ? `${step.file}:` : ""}${step.evidence.line}` : "–")));
  const made = section("timings", "Step timings",
    element("div", { class: "wide" }, element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows))));
  if (answer.steps.length > most) made.append(note(`And ${grouped(answer.steps.length - most)} more.`));
  return made;
}

function understood(answer) {
  if (answer.understood.length === 0) return null;
  const many = answer.files.length > 1;
  const rows = answer.understood.map((item) => {
    const title = (many ? `${answer.files[item.file].name}: ` : "") + item.title;
    if (item.details.length === 0) return element("li", {}, title);
    return element("li", {}, element("details", {}, element("summary", {}, title),
      element("ul", {}, item.details.map((words) => element("li", {}, words)))));
  });
  const made = section("understood", "What was understood",
    element("ul", { class: "plain" }, rows));
  if (answer.understood_beyond > 0) made.append(note(`And ${counted(answer.understood_beyond, "item")} more, which the advice counts all the same.`));
  return made;
}
