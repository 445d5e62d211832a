/* Source, PTX and SASS of a kernel side by side: what became of a line, and what it costs in registers. */
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

/* Of an SM, by compute capability: warps, blocks, KiB of shared memory, bytes of it that a block takes beside its own. From the
   table "Technical Specifications per Compute Capability" of NVIDIA's CUDA C++ Programming Guide. */
const SM = { 75: [32, 16, 64, 0], 80: [64, 32, 164, 1024], 86: [48, 16, 100, 1024], 87: [48, 16, 164, 1024], 89: [48, 24, 100, 1024],
             90: [64, 32, 228, 1024], 100: [64, 32, 228, 1024], 103: [64, 32, 228, 1024], 120: [48, 32, 100, 1024] };
const REGISTERS = 65536;

function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
}

const ownFile = path => path.split("/").pop() === data.file.split("/").pop();

/** Instructions of each kernel in SASS: {address, text, line, live}; a line of 0 is another file's. */
function readSass() {
    const kernels = new Map(), live = new Map();
    let name = "";
    for (const text of data.live.split("\n")) {
        const section = text.match(/\.section\s+\.text\.([^,]+),/), at = text.match(/\/\*([0-9a-f]{4,})\*\/.*\/\/\s*\|\s*(\d+)\s/);
        if (section) name = section[1];
        else if (at) live.set(name + at[1], Number(at[2]));
    }
    let line = 0, label = "";
    for (const text of data.lines.split("\n")) {
        const section = text.match(/\.section\s+\.text\.([^,]+),/), place = text.match(/\/\/##\s+File "([^"]+)", line (\d+)/);
        const at = text.match(/\/\*([0-9a-f]{4,})\*\/ ?(.*?) ?;/);
        if (section) { name = section[1]; line = 0; kernels.set(name, []); }
        else if (place) line = ownFile(place[1]) ? Number(place[2]) : 0;
        else if (/^\.L/.test(text)) label = text.split(":")[0];
        else if (at && kernels.has(name)) {
            kernels.get(name).push({ address: at[1], text: at[2], line, live: live.get(name + at[1]) || 0, label });
            label = "";
        }
    }
    return kernels;
}

/** Lines of PTX of each kernel: {text, line}. */
function readPtx() {
    const files = new Map(), kernels = new Map();
    let rows = null, line = 0;
    for (const text of data.ptx.split("\n")) {
        const file = text.match(/\.file\s+(\d+)\s+"([^"]+)"/);
        if (file) files.set(file[1], file[2]);
    }
    for (const text of data.ptx.split("\n")) {
        const entry = text.match(/\.entry ([\w$]+)/), place = text.match(/^\s*\.loc\s+(\d+) (\d+)/);
        if (entry) kernels.set(entry[1], rows = []);
        if (place) line = ownFile(files.get(place[1]) || "") ? Number(place[2]) : 0;
        else if (rows && text.trim()) rows.push({ text: text.replace(/^\s+/, "  ").replace(/\t/g, " "), line: /^\s*[.{}()]/.test(text) ? 0 : line });
        if (/^}/.test(text)) rows = null;
    }
    return kernels;
}

const sass = readSass(), ptx = readPtx(), source = data.source.split("\n");
const kernels = data.kernels.filter(k => sass.has(k.symbol));

/** The region of each line of the source, by its marks; else the function that it is in. */
const regions = (() => {
    let region = "", inside = "";
    return source.map(text => {
        const open = text.match(/\/\/ \[student: (\w+)\]/), begins = text.replace(/\b__\w+__\(.*?\)/g, "").match(/^[A-Za-z_].*?\b(\w+)\(/);
        if (begins) inside = begins[1];
        if (open) region = open[1];
        const now = region || inside || "";
        if (/\/\/ \[\/student\]/.test(text)) region = "";
        return now;
    });
})();

const isSpill = text => /\b(LDL|STL)\b/.test(text);
const usesTensorCores = text => /\b([HIQ]?G?MMA|HGMMA|IGMMA|QGMMA)\b/.test(text);
const isMemory = text => /\b(LDG|STG|LDS|STS|LDSM|LDGSTS|UTMALDG|ATOM|RED)/.test(text);

const threads = element("input", { type: "number", min: 32, max: 1024, step: 32, value: 256 });
const dynamic = element("input", { type: "number", min: 0, max: 233472, step: 1024, value: 0 });
const choice = element("select", {}, ...kernels.map(k => element("option", { textContent: k.name })));
const resources = element("div"), table = element("div"), panes = {};
let chosen = 0;

function kernel() { return kernels[choice.selectedIndex]; }

/** Warps that an SM holds by each limit. */
function occupancy(k) {
    const [warps, blocks, kib, reserved] = SM[data.arch] || SM[90], ofBlock = Math.ceil(Math.max(1, threads.value) / 32);
    const perWarp = Math.ceil(Math.max(1, k.registers) * 32 / 256) * 256;
    const shared = Math.ceil((Math.max(0, k.shared) + Number(dynamic.value) + reserved) / 128) * 128;
    const rows = [["warps of an SM", Math.floor(warps / ofBlock)], ["blocks of an SM", blocks],
                  [`registers: ${k.registers} per thread`, Math.floor(Math.floor(REGISTERS / perWarp / 4) * 4 / ofBlock)],
                  [`shared memory: ${shared.toLocaleString("en")} bytes per block`, shared ? Math.floor(kib * 1024 / shared) : blocks]];
    return { rows, warps, ofBlock, least: Math.min(...rows.map(r => r[1])) };
}

function drawResources() {
    const k = kernel(), o = occupancy(k), held = o.least * o.ofBlock;
    const spills = sass.get(k.symbol).filter(i => isSpill(i.text)).length;
    resources.replaceChildren(
        element("h2", { textContent: `Occupancy on sm_${data.arch}` }),
        element("p", {}, "threads per block ", threads, " dynamic shared memory, bytes ", dynamic),
        element("table", {}, element("tr", {}, element("th", { textContent: "limit" }), element("th", { textContent: "blocks" }), element("th", { textContent: "warps" })),
            ...o.rows.map(([what, blocks]) => element("tr", { className: blocks === o.least ? "limit" : "" }, element("td", { textContent: what }),
                element("td", { textContent: blocks }), element("td", { textContent: Math.min(o.warps, blocks * o.ofBlock) })))),
        element("p", {}, element("b", { textContent: `${held} of ${o.warps} warps` }), o.least ? ", limited by what is red." : ": such a block does not fit."),
        element("p", { className: k.spilled > 0 || spills ? "bad" : "faint", textContent: k.spilled > 0 || spills
            ? `${k.spilled} bytes of registers spilled; ${spills} instructions load or store local memory.` : "Nothing is spilled." }),
        k.serialised ? element("p", { className: "bad", textContent: "ptxas has serialised the wgmmas." }) : "");
}

/** What stands behind each region: instructions, memory, tensor cores, spills, the most registers that live at once. */
function drawRegions() {
    const rows = new Map();
    for (const i of sass.get(kernel().symbol)) {
        const name = i.line ? regions[i.line - 1] || "" : "", key = name || "other code";
        const row = rows.get(key) || rows.set(key, { first: i.line, all: 0, memory: 0, tensor: 0, spills: 0, live: 0 }).get(key);
        row.all++;
        row.memory += isMemory(i.text);
        row.tensor += usesTensorCores(i.text);
        row.spills += isSpill(i.text);
        if (i.live > row.live) { row.live = i.live; row.first = i.line || row.first; }
    }
    const heads = ["region", "instructions", "memory", "tensor cores", "spills", "live registers"];
    table.replaceChildren(element("h2", { textContent: "By region of the source" }), element("table", {}, element("tr", {}, ...heads.map(h => element("th", { textContent: h }))),
        ...[...rows].sort((a, b) => b[1].all - a[1].all).map(([name, r]) => element("tr", { onclick: () => choose(r.first), title: "go to the line with the most live registers" },
            ...[name, r.all, r.memory, r.tensor || "", r.spills || "", r.live].map((v, i) => element("td", { textContent: v, className: i === 4 && v ? "bad" : "" }))))));
}

function row(line, mark, share, text, className) {
    const made = element("div", { className: className || "", onclick: () => choose(line) }, element("b", { textContent: mark }), text);
    made.dataset.line = line;
    made.firstChild.style.setProperty("--share", share + "%");
    return made;
}

function drawPanes() {
    const instructions = sass.get(kernel().symbol), ofLine = new Map();
    for (const i of instructions) if (i.line) ofLine.set(i.line, (ofLine.get(i.line) || 0) + 1);
    const most = Math.max(1, ...ofLine.values()), peak = Math.max(1, ...instructions.map(i => i.live));
    panes.source.replaceChildren(...source.map((text, i) => row(i + 1, i + 1, 100 * (ofLine.get(i + 1) || 0) / most, text)));
    panes.ptx.replaceChildren(...(ptx.get(kernel().symbol) || []).map(p => row(p.line, p.line || "", 0, p.text)));
    panes.sass.replaceChildren(...instructions.map(i => row(i.line, i.live || "", 100 * i.live / peak,
        `${i.address} ${i.label ? i.label + ": " : ""}${i.text}`, isSpill(i.text) ? "spill" : "")));
}

/** Marks a line of the source and what became of it; scrolls there where it is out of sight. */
function choose(line) {
    chosen = line;
    for (const pane of Object.values(panes)) {
        let first = null;
        for (const div of pane.children) {
            const on = line > 0 && Number(div.dataset.line) === line;
            div.classList.toggle("on", on);
            if (on && !first) first = div;
        }
        if (!first) continue;
        const at = first.offsetTop - pane.offsetTop;
        if (at < pane.scrollTop || at > pane.scrollTop + pane.clientHeight - 20) pane.scrollTop = at - pane.clientHeight / 3;
    }
}

function draw() {
    const bound = (ptx.get(kernel().symbol) || []).map(p => p.text.match(/\.maxntid\s+(\d+)(?:, (\d+), (\d+))?/)).find(m => m);
    if (bound) threads.value = bound.slice(1).reduce((product, n) => product * Number(n || 1), 1);
    drawResources();
    drawRegions();
    drawPanes();
    const worst = sass.get(kernel().symbol).reduce((best, i) => i.line && i.live > best.live ? i : best, { live: 0, line: 0 });
    choose(worst.line);
}

const pane = (key, title) => element("section", {}, element("h2", {}, title), panes[key] = element("div", { className: "code", tabIndex: 0 }));
if (kernels.length === 0) {
    document.body.append(element("p", { textContent: "No kernel is in it yet: a template is compiled when something launches it." }));
} else {
    document.body.append(element("h1", { textContent: data.title }), choice,
        element("span", { className: "faint", textContent: ` ${data.file}, sm_${data.arch}. Click on a line to see what became of it.${data.leftOut ? ` ${data.leftOut} more kernels did not fit.` : ""}` }),
        element("div", { className: "facts" }, resources, table),
        element("main", { id: "panes" }, pane("source", "Source: instructions"), pane("ptx", "PTX: line"), pane("sass", "SASS: live registers")));
    choice.onchange = draw;
    threads.oninput = dynamic.oninput = drawResources;
    draw();
}
