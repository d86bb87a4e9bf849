// The advice itself: web/src, compiled to WebAssembly, which stands in this page as Base64. `web/src/boundary.rs` says what
// each function does. A fault in it ends the instance; the next use makes a new one.

const PIECE = 1 << 20;

const engine = {
  module: null,
  exports: null,

  async prepare() {
    if (!this.module) {
      const text = atob(document.getElementById("wasm").textContent.trim());
      const bytes = new Uint8Array(text.length);
      for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
      this.module = await WebAssembly.compile(bytes);
    }
    if (!this.exports) this.exports = (await WebAssembly.instantiate(this.module, {})).exports;
    this.exports.begin();
  },

  // Calls `work` with the functions of the engine; says which fault of ours it was where one ends it.
  guarded(work) {
    try {
      return work(this.exports);
    } catch (error) {
      let words = String(error);
      try {
        words = this.text(this.exports.fault()) || words;
      } catch (other) {
        words += `; ${other}`;
      }
      this.exports = null;
      throw new Error(`A fault in underbar, not in your listing: ${words}`);
    }
  },

  text(place) {
    const memory = this.exports.memory.buffer;
    const length = new DataView(memory).getUint32(place, true);
    return new TextDecoder().decode(new Uint8Array(memory, place + 4, length));
  },

  put(exports, bytes) {
    const place = exports.reserve(bytes.length);
    new Uint8Array(exports.memory.buffer, place, bytes.length).set(bytes);
    return bytes.length;
  },

  file(name) {
    // Names are for reading; more of one than this is of no use.
    const bytes = new TextEncoder().encode(name.slice(0, 300));
    this.guarded((exports) => exports.file(this.put(exports, bytes)));
  },

  feed(bytes) {
    this.guarded((exports) => exports.feed(this.put(exports, bytes)));
  },

  endFile() {
    this.guarded((exports) => exports.end_file());
  },

  answer() {
    return this.guarded((exports) => JSON.parse(this.text(exports.advise())));
  },

  whatIf(options) {
    const bytes = new TextEncoder().encode(options.slice(0, 2000));
    return this.guarded((exports) => JSON.parse(this.text(exports.what_if(this.put(exports, bytes)))));
  },

  // Bytes that it has taken, for the test that they do not grow with the files.
  memory() {
    return this.exports ? this.exports.memory.buffer.byteLength : 0;
  },
};
