// The site's own script: dark and light, and the search.
"use strict";

function isDark() {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

document.getElementById("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("theme", theme); } catch (error) { /* not kept, then */ }
});

// Tables: a number stays on one line; on a telephone a column of sentences is not pressed into one of single words, and the table
// moves aside instead (site.css).
for (const table of document.querySelectorAll(".markdownTable")) {
    const columns = [];
    for (const cell of table.querySelectorAll("td")) {
        (columns[cell.cellIndex] = columns[cell.cellIndex] || []).push(cell);
        if (cell.textContent.trim().length <= 10) cell.classList.add("short");
    }
    for (const cells of columns) {
        const letters = cells.reduce((sum, cell) => sum + cell.textContent.length, 0);
        if (letters / cells.length > 32) for (const cell of cells) cell.classList.add("long");
    }
}

// The contents of a page are folded where they do not stand at the side (site.css).
for (const heading of document.querySelectorAll(".toc h3"))
    heading.addEventListener("click", () => heading.parentElement.classList.toggle("open"));

// ---- search: every word must occur in a section; titles count more than text ------------------------------------

const field = document.getElementById("search");
const found = document.getElementById("found");

function score(entry, words) {
    const [url, page, heading, text] = entry.map((part) => part.toLowerCase());
    let sum = url.startsWith("lesson_") ? 6 : 0;
    if (url.startsWith("glossary")) // what the word means comes before where it is used
        sum += words.every((word) => heading.split(/[\s,()]+/).includes(word)) ? 40 : 0;
    for (const word of words) {
        const here = (heading.includes(word) ? 8 : 0) + (page.includes(word) ? 4 : 0) + (text.includes(word) ? 1 : 0);
        if (here === 0) return -1;
        sum += here;
    }
    return sum;
}

function excerpt(text, word) {
    const at = Math.max(0, text.toLowerCase().indexOf(word) - 40);
    return (at > 0 ? "…" : "") + text.slice(at, at + 140) + (at + 140 < text.length ? "…" : "");
}

function show() {
    const words = field.value.toLowerCase().split(/\s+/).filter((word) => word.length > 0);
    found.replaceChildren();
    found.hidden = words.length === 0;
    if (words.length === 0 || typeof SEARCH_INDEX === "undefined") return;
    const hits = SEARCH_INDEX.map((entry) => [score(entry, words), entry]).filter((hit) => hit[0] > -1);
    hits.sort((a, b) => b[0] - a[0]);
    const seen = {}; // no more than two of a page
    const shown = hits.filter((hit) => (seen[hit[1][1]] = (seen[hit[1][1]] || 0) + 1) <= 2);
    for (const [, [url, page, heading, text]] of shown.slice(0, 12)) {
        const link = document.createElement("a");
        const title = document.createElement("b");
        const rest = document.createElement("span");
        link.href = url;
        title.textContent = page.replace(" · Warpwise", "") + (heading ? " › " + heading : "");
        rest.textContent = excerpt(text, words[0]);
        link.append(title, rest);
        found.append(link);
    }
    if (hits.length === 0) found.append("Nothing found.");
}

field.addEventListener("input", show);
field.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { field.value = ""; show(); }
    if (event.key === "Enter" && found.querySelector("a")) location.href = found.querySelector("a").href;
});
document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
});
document.addEventListener("click", (event) => {
    if (!found.contains(event.target) && event.target !== field) found.hidden = true;
});
found.addEventListener("click", () => { found.hidden = true; });

// index.html?q=bank+conflict begins with a search.
const wanted = new URLSearchParams(location.search).get("q");
if (wanted) {
    field.value = wanted;
    show();
}
