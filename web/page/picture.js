// The picture of sizes: a table, and in its last column now, used and suggested on one scale of powers of two.
// The figures stand in the table, so that nobody has to read them off the picture.

function pictureOfSizes(areas) {
  const all = areas.flatMap((area) => [area.now, area.used, area.suggested]).filter((bytes) => bytes > 0);
  const least = Math.floor(Math.log2(Math.min(...all)) / 2) * 2;
  const most = Math.max(Math.ceil(Math.log2(Math.max(...all)) / 2) * 2, least + 4);
  // From 3 % to 97 %, so that marks at the ends are whole.
  const place = (bytes) => `${(3 + (94 * (Math.log2(Math.max(bytes, 1)) - least)) / (most - least)).toFixed(2)}%`;
  const every = most - least > 16 ? 6 : most - least > 8 ? 4 : 2;
  const ticks = [];
  for (let power = least; power <= most; power += every) ticks.push(2 ** power);

  const scale = drawing("svg", { "aria-hidden": "true", focusable: "false" });
  for (const tick of ticks) {
    const words = drawing("text", { x: place(tick), y: "1em", "text-anchor": "middle" });
    words.textContent = size(tick);
    scale.append(words);
  }
  const head = element("tr", {},
    element("th", { scope: "col" }, "Area"),
    element("th", { scope: "col", class: "number" }, "Now"),
    element("th", { scope: "col", class: "number" }, "Used at most"),
    element("th", { scope: "col", class: "number" }, "Suggested"),
    element("td", { class: "drawn", "aria-hidden": "true" }, scale));

  const rows = areas.map((area) => element("tr", { "data-area": area.name },
    element("th", { scope: "row" }, area.name),
    element("td", { class: "number", "data-label": "Now", title: `${grouped(area.now)} bytes` }, size(area.now)),
    element("td", { class: "number", "data-label": "Used at most", title: `${grouped(area.used)} bytes` }, size(area.used)),
    element("td", { class: "number", "data-label": "Suggested" }, area.suggested === null ? "as it is" : size(area.suggested)),
    element("td", { class: "drawn", "aria-hidden": "true" }, row(area, ticks, place))));
  const table = element("table", { class: "sizes" },
    element("caption", { class: "unseen" }, "Sizes of areas: now, used at most, suggested"),
    element("thead", {}, head), element("tbody", {}, rows));
  const key = element("p", { class: "key note", "aria-hidden": "true" },
    sign("now", "set now"), sign("used", "used at most"), sign("new", "suggested"),
    `From line to line ${2 ** every} times as much.`);
  return element("div", {}, table, key);
}

function row(area, ticks, place) {
  const drawn = drawing("svg", { "aria-hidden": "true", focusable: "false" });
  for (const tick of ticks) {
    drawn.append(drawing("line", { class: "grid", x1: place(tick), x2: place(tick), y1: "0", y2: "100%" }));
  }
  const all = [area.now, area.used, area.suggested].filter((bytes) => bytes > 0);
  drawn.append(drawing("line", { class: "span", x1: place(Math.min(...all)), x2: place(Math.max(...all)), y1: "50%", y2: "50%" }));
  drawn.append(drawing("line", { class: "used", x1: place(area.used), x2: place(area.used), y1: "22%", y2: "78%" }));
  if (area.now > 0) drawn.append(drawing("circle", { class: "now", cx: place(area.now), cy: "50%", r: "4.5" }));
  if (area.suggested > 0) drawn.append(diamond(place(area.suggested), "50%"));
  return drawn;
}

function diamond(x, y) {
  return drawing("svg", { x, y, overflow: "visible", width: "1", height: "1" }, drawing("path", { class: "new", d: "M0-6.5 6 0 0 6.5-6 0Z" }));
}

function sign(what, words) {
  const drawn = drawing("svg", { focusable: "false" });
  if (what === "now") drawn.append(drawing("circle", { class: "now", cx: "50%", cy: "50%", r: "4.5" }));
  if (what === "used") drawn.append(drawing("line", { class: "used", x1: "50%", x2: "50%", y1: "10%", y2: "90%" }));
  if (what === "new") drawn.append(diamond("50%", "50%"));
  return element("span", {}, drawn, words);
}
