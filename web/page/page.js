// What happens: a listing comes (chosen, dropped, pasted, or the example), is read in pieces, and the answer is shown.
// Of several that come at one time the last one counts. `data-state` of the body says where it is, for tests.

let turn = 0;

const state = (word) => { document.body.dataset.state = word; };

// A name, with what would turn it round written out, as in the answer.
const shown = (name) => name.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
  (one) => `\\u{${one.charCodeAt(0).toString(16)}}`);

function trouble(words) {
  $("trouble").textContent = words;
  $("trouble").hidden = false;
  state("failed");
}

// `sources`: name, length in bytes, and a function from and to a piece's ends.
async function read(sources) {
  const mine = (turn += 1);
  const whole = sources.reduce((sum, source) => sum + source.length, 0);
  state("reading");
  $("trouble").hidden = true;
  $("results").hidden = true;
  $("status").textContent = "";
  $("reading").hidden = false;
  try {
    await engine.prepare();
    if (mine !== turn) return;
    let done = 0;
    for (const source of sources) {
      engine.file(source.name);
      for (let from = 0; from < source.length; from += PIECE) {
        const bytes = await source.piece(from, Math.min(from + PIECE, source.length));
        if (mine !== turn) return;
        engine.feed(bytes);
        done += bytes.length;
        $("progress").value = whole === 0 ? 1 : done / whole;
        $("progress-words").textContent = `Reading ${shown(source.name)}: ${size(done)} of ${size(whole)}`;
      }
      engine.endFile();
    }
    const answer = engine.answer();
    show(answer);
    document.body.dataset.memory = engine.memory();
    $("status").textContent = `Read ${counted(sources.length, "listing")}, ${size(whole)}.`;
    state("shown");
    $("results").focus({ preventScroll: true });
    $("summary").scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  } catch (error) {
    if (mine === turn) trouble(error instanceof Error ? error.message : String(error));
  } finally {
    if (mine === turn) $("reading").hidden = true;
  }
}

function readFiles(files) {
  const all = [...files];
  if (all.length === 0) return;
  read(all.map((file) => ({
    name: file.name,
    length: file.size,
    piece: async (from, to) => {
      try {
        return new Uint8Array(await file.slice(from, to).arrayBuffer());
      } catch {
        throw new Error(`${shown(file.name)} cannot be read: is it a folder, or did it change meanwhile?`);
      }
    },
  })));
}

function readText(name, text) {
  const bytes = new TextEncoder().encode(text);
  read([{ name, length: bytes.length, piece: async (from, to) => bytes.subarray(from, to) }]);
}

// The element begins in a line of its own.
const readExample = () => readText("example.txt", $("example").textContent.replace(/^\n/, ""));

$("choose").addEventListener("click", () => $("files").click());
$("files").addEventListener("change", () => {
  readFiles($("files").files);
  // The same file may be chosen again.
  $("files").value = "";
});
$("example-button").addEventListener("click", readExample);
$("paste-button").addEventListener("click", () => {
  const opens = $("paste").hidden;
  $("paste").hidden = !opens;
  $("paste-button").setAttribute("aria-expanded", String(opens));
  if (opens) $("pasted").focus();
});
$("read-pasted").addEventListener("click", () => readText("pasted text", $("pasted").value));
$("stop").addEventListener("click", () => {
  turn += 1;
  $("reading").hidden = true;
  $("status").textContent = "Stopped.";
  state("ready");
});
document.addEventListener("paste", (event) => {
  if (event.target === $("pasted")) return;
  if (event.clipboardData.files.length > 0) readFiles(event.clipboardData.files);
  else if (event.clipboardData.getData("text")) readText("pasted text", event.clipboardData.getData("text"));
});
for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    document.body.classList.toggle("over", kind === "dragenter" || kind === "dragover");
    if (kind !== "drop") return;
    if (event.dataTransfer.files.length > 0) readFiles(event.dataTransfer.files);
    else if (event.dataTransfer.getData("text")) readText("dropped text", event.dataTransfer.getData("text"));
  });
}

if (typeof WebAssembly !== "object") {
  trouble("This browser has no WebAssembly, in which the advice is computed. The command does the same: underbar advise FILE.");
} else {
  state("ready");
  const begin = () => { if (location.hash === "#example") readExample(); };
  addEventListener("hashchange", begin);
  begin();
}
