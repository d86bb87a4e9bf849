// Small helpers: elements, numbers as people write them. Text only ever becomes text, never markup: what stands in a listing
// cannot become part of the page.

const $ = (id) => document.getElementById(id);

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

// The name space of drawings is taken from one that is there, so that no address stands in this page.
function drawing(name, attributes, ...children) {
  const made = document.createElementNS($("svg").namespaceURI, name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const grouped = (number) => Number(number).toLocaleString("en-US");
const counted = (number, one, many) => `${grouped(number)} ${number === 1 ? one : many || `${one}s`}`;

// 1.2M: three digits that count.
function size(bytes) {
  let value = bytes;
  for (const unit of ["", "K", "M", "G", "T"]) {
    if (value < 1024 || unit === "T") {
      const digits = value >= 100 || Number.isInteger(value) ? 0 : value >= 10 ? 1 : 2;
      return `${Number(value.toFixed(digits))}${unit}`;
    }
    value /= 1024;
  }
  return String(bytes);
}

// Hundredths of a second.
function time(hundredths) {
  return hundredths === null ? "–" : `${(hundredths / 100).toFixed(2)} s`;
}

function joined(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}
