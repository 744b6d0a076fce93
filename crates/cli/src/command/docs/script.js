// Search, and the choice of a version in tables of fields. All else on the pages works without.
"use strict";

const box = document.querySelector(".search");
const input = document.getElementById("search");
const list = document.getElementById("found");
const SHOWN = 30;
let index = null;

/** Loads the list when somebody is about to search. */
function load() {
  if (index !== null) return;
  index = [];
  const script = document.createElement("script");
  script.src = "search.js";
  script.addEventListener("load", () => {
    const { entries, fields } = window.milenaSearch;
    index = entries.map(([text, kind, href]) => ({ text, kind, href, weight: 0 }));
    for (const [message, base, paths] of fields) {
      for (const path of paths) {
        const text = path.slice(path.lastIndexOf(".") + 1);
        index.push({ text, kind: `${message}.${path}`, href: base + path, weight: 3 });
      }
    }
    for (const entry of index) entry.key = `${entry.text} ${entry.kind}`.toLowerCase();
    search();
  });
  document.head.append(script);
}

/** Lower is better; null is no match. Every word has to occur. A word that is the whole text, such as a number, is best. */
function rank(entry, words) {
  if (!words.every((word) => entry.key.includes(word))) return null;
  const text = entry.text.toLowerCase();
  const first = words[0];
  const place = words.includes(text) ? 0 : text.startsWith(first) ? 1 : text.includes(first) ? 2 : 4;
  return entry.weight + 2 * place + text.length / 100;
}

function search() {
  // A minus before a number is a part of it, as in error -1.
  const words = input.value.toLowerCase().replace(/(^|\s)-(?=\d)/g, "$1\u2212").split(/[\s_-]+/).filter(Boolean);
  list.replaceChildren();
  list.hidden = words.length === 0;
  if (list.hidden || index === null) return;
  const found = [];
  for (const entry of index) {
    const plain = (text) => text.replace(/^-(?=\d)/, "\u2212").replace(/[_-]/g, " ");
    const score = rank({ ...entry, key: plain(entry.key), text: plain(entry.text) }, words);
    if (score !== null) found.push([score, entry]);
  }
  found.sort((a, b) => a[0] - b[0]);
  for (const [, entry] of found.slice(0, SHOWN)) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    const kind = document.createElement("span");
    link.href = entry.href;
    link.append(entry.text, kind);
    kind.textContent = entry.kind;
    item.append(link);
    list.append(item);
  }
  if (found.length === 0) {
    const item = document.createElement("li");
    item.innerHTML = "<p>Nothing has these words.</p>";
    list.append(item);
  } else {
    select(0);
  }
}

function select(next) {
  const links = [...list.querySelectorAll("a")];
  links.forEach((link, at) => link.setAttribute("aria-selected", String(at === next)));
  links[next]?.scrollIntoView({ block: "nearest" });
}

function selected() {
  return [...list.querySelectorAll("a")].findIndex((link) => link.getAttribute("aria-selected") === "true");
}

box.hidden = false;
input.addEventListener("focus", load);
input.addEventListener("input", search);
input.addEventListener("keydown", (event) => {
  const count = list.querySelectorAll("a").length;
  if (event.key === "Escape") {
    input.value = "";
    search();
    input.blur();
  } else if (event.key === "Enter") {
    list.querySelectorAll("a")[selected()]?.click();
  } else if (count > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    select((selected() + (event.key === "ArrowDown" ? 1 : count - 1)) % count);
  }
});
list.addEventListener("click", (event) => {
  if (event.target.closest("a")) list.hidden = true;
});
document.addEventListener("click", (event) => {
  if (!box.contains(event.target)) list.hidden = true;
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    input.focus();
  }
});

/** A choice above a table of fields: rows that the version lacks are hidden. */
for (const section of document.querySelectorAll("section.message")) {
  const [min, max] = section.dataset.versions.split("-").map(Number);
  const table = section.querySelector("table.fields");
  if (!table || max === undefined || min === max) continue;
  const label = document.createElement("label");
  const choice = document.createElement("select");
  label.className = "pick";
  label.append("Show", choice);
  choice.append(new Option("all versions", ""));
  for (let version = max; version >= min; version--) choice.append(new Option(`version ${version}`, version));
  choice.addEventListener("change", () => {
    const version = Number(choice.value);
    for (const row of table.tBodies[0].rows) {
      row.hidden = choice.value !== "" && (version < row.dataset.min || version > row.dataset.max);
    }
  });
  section.querySelector("h3").before(label);
}

/** A link to a version opens it. */
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", reveal);
reveal();
