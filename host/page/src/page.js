(() => {
"use strict";
// Makes the pictures answer. All figures are in the page already; without this script only the moving is missing.

// Over time: a slider and the pointer choose a moment; its figures come from the table below.
const moment = document.getElementById("moment");
const rows = [...document.querySelectorAll(".points tbody tr")];
if (moment && rows.length > 0) {
  const plot = document.querySelector(".plot");
  const cursor = plot.querySelector(".cursor");
  const output = document.querySelector(".moment output");
  const heads = [...document.querySelectorAll(".points thead th")].map((head) => head.textContent);
  const cells = rows.map((row) => [...row.cells]);
  const times = cells.map((row) => Number(row[0].querySelector("data").value));
  const end = Number(plot.dataset.end) || 1;
  const show = () => {
    cursor.setAttribute("visibility", "visible");
    tell();
  };
  const tell = () => {
    const at = Number(moment.value);
    const words = cells[at].map((cell, place) => (place === 0 ? cell.textContent : `${heads[place]} ${cell.textContent}`));
    output.textContent = words.filter((_, place) => place !== 1).join(", ");
    const place = `${(100 * times[at]) / end}%`;
    cursor.setAttribute("x1", place);
    cursor.setAttribute("x2", place);
    moment.setAttribute("aria-valuetext", output.textContent);
  };
  moment.parentElement.hidden = false;
  tell();
  moment.addEventListener("input", show);
  plot.addEventListener("pointermove", (event) => {
    const box = plot.getBoundingClientRect();
    const time = (end * (event.clientX - box.left)) / box.width;
    const next = times.findIndex((each) => each >= time);
    moment.value = String(next < 0 ? times.length - 1 : next);
    show();
  });
}

// Call sites: zoom by click or Enter, arrows from frame to frame, Escape for all, search by name.
for (const graph of document.querySelectorAll("[data-flame]")) {
  const picture = graph.querySelector(".frames");
  const tools = graph.querySelector(".tools");
  const [input, button, output] = ["input", "button", "output"].map((name) => tools.querySelector(name));
  const frames = [...picture.querySelectorAll(".f")].map((element) => ({
    element,
    from: parseFloat(element.getAttribute("x")),
    width: parseFloat(element.getAttribute("width")),
    level: Number(element.getAttribute("aria-level")),
    value: Number(element.dataset.v),
    words: element.getAttribute("aria-label"),
  }));
  const by = new Map(frames.map((frame) => [frame.element, frame]));
  const holds = (outer, inner) => inner.from >= outer.from - 1e-6 && inner.from + inner.width <= outer.from + outer.width + 1e-6;
  let whole = frames[0];
  const zoom = (to) => {
    whole = to;
    for (const frame of frames) {
      const isAbove = frame.level < to.level && holds(frame, to);
      const isInside = frame.level >= to.level && holds(to, frame);
      frame.element.toggleAttribute("hidden", !isAbove && !isInside);
      frame.element.classList.toggle("above", isAbove);
      frame.element.setAttribute("x", isAbove ? "0%" : `${(100 * (frame.from - to.from)) / to.width}%`);
      frame.element.setAttribute("width", isAbove ? "100%" : `${(100 * frame.width) / to.width}%`);
    }
    graph.dataset.zoomed = to.words;
  };
  const focus = (frame) => {
    if (!frame || frame.element.hasAttribute("hidden")) return;
    for (const each of frames) each.element.setAttribute("tabindex", each === frame ? "0" : "-1");
    frame.element.focus();
  };
  const search = () => {
    const wanted = input.value.trim().toLowerCase();
    let sum = 0;
    let count = 0;
    // A frame inside a frame that was found is in its sum already.
    let outer = [];
    for (const frame of frames) {
      const isFound = wanted !== "" && frame.words.toLowerCase().split(": ")[0].includes(wanted);
      frame.element.classList.toggle("found", isFound);
      if (!isFound) continue;
      count += 1;
      if (!outer.some((each) => each.level < frame.level && holds(each, frame))) {
        outer.push(frame);
        sum += frame.value;
      }
    }
    const share = Math.round((1000 * sum) / (frames[0].value || 1)) / 10;
    output.textContent = wanted === "" ? "" : `${count} found, ${share} %`;
  };
  tools.hidden = false;
  input.addEventListener("input", search);
  button.addEventListener("click", () => { input.value = ""; search(); zoom(frames[0]); });
  picture.addEventListener("click", (event) => {
    const frame = by.get(event.target.closest(".f"));
    if (frame) { focus(frame); zoom(frame); }
  });
  picture.addEventListener("keydown", (event) => {
    const here = by.get(event.target.closest(".f"));
    if (!here) return;
    const next = {
      Enter: () => zoom(here),
      " ": () => zoom(here),
      Escape: () => zoom(frames[0]),
      ArrowUp: () => focus(frames.find((frame) => frame.level === here.level - 1 && holds(frame, here))),
      ArrowDown: () => focus(frames.find((frame) => frame.level === here.level + 1 && holds(here, frame) && !frame.element.hasAttribute("hidden"))),
      ArrowLeft: () => focus(frames.filter((frame) => frame.level === here.level && frame.from < here.from && !frame.element.hasAttribute("hidden")).at(-1)),
      ArrowRight: () => focus(frames.find((frame) => frame.level === here.level && frame.from > here.from && !frame.element.hasAttribute("hidden"))),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    next();
  });
}

// On paper everything is open.
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
});
})();
