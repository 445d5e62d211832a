/*
 * The viewer of a trace: what the warps of a block did, line by line, event by event. The page holds the trace
 * (common/simt/trace_format.h) and the sources. Nothing is loaded from anywhere; text comes into the page as text only.
 */
"use strict";

/* ---- reading a trace ------------------------------------------------------------------------------------------ */

const EVENT = { WARP: 1, LANES: 2, MARK: 3, MEET: 4, BARRIER: 5, NAMED: 6, LANDED: 7 };
const READ = 1, WRITE = 2, ATOMIC = 4, COPY = 8, UNUSED = 16;
const SPACE = { GLOBAL: 0, VARIABLE: 1, SHARED: 2, DYNAMIC: 3, NOWHERE: 4 };
const TO_DYNAMIC = 8;
const MARK = { COMMIT: 1, WAIT: 2, BULK: 3, BULK_COMMIT: 4, BULK_WAIT: 5, ARRIVE: 6, AWAIT: 7 };
const MEET = { COLLECTIVE: 0, PRODUCT: 1, SYNCWARP: 2, PRODUCTS_WAIT: 3, NAMED_ARRIVE: 4 };
/* Columns of SIMT_COUNTERS, in its order. */
const COUNTER = { LOAD_REQUESTS: 0, LOAD_SECTORS: 1, STORE_REQUESTS: 2, STORE_SECTORS: 3, SHARED_LOADS: 4,
                  SHARED_STORES: 5, CONFLICTS: 6, ATOMICS: 7, BARRIERS: 8 };
const COUNTED = 9, NO_WARP = 255, LAST_WRITE = "last write"; /* kind of a finding that is none: of an element that was asked for */
const MAGIC = "warpwise trace 1\n";

/** Numbers, one after the other, out of bytes. */
class Reader {
    constructor(bytes, at, end) {
        this.bytes = bytes;
        this.at = at;
        this.end = end;
    }
    number() {
        let value = 0, factor = 1;
        while (this.at < this.end) {
            const byte = this.bytes[this.at++];
            value += (byte & 127) * factor;
            if (byte < 128) return value;
            factor *= 128;
        }
        throw new Error("the trace is damaged");
    }
    signed() {
        const value = this.number();
        return value % 2 ? -(value + 1) / 2 : value / 2;
    }
    numbers(count) {
        return Array.from({ length: count }, () => this.number());
    }
    text() {
        const length = this.number(), from = this.at;
        this.at += length;
        return new TextDecoder().decode(this.bytes.subarray(from, this.at));
    }
}

function bytesOfBase64(text) {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
}

function readFinding(r) {
    const f = { kind: r.text(), text: r.text(), seen: r.number(), space: r.number(), address: r.number(), bytes: r.number(),
                actors: [] };
    for (let i = 0; i < 2; i++) {
        const [site, block, thread, access] = r.numbers(4);
        if (site > 0) f.actors.push({ site: site - 1, block, thread, access });
    }
    return f;
}

function readTrace(bytes) {
    const trace = { sites: [], launches: [] };
    if (new TextDecoder().decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) throw new Error("this is no trace");
    for (let at = MAGIC.length; at < bytes.length;) {
        const head = new Reader(bytes, at + 1, bytes.length), length = head.number();
        const r = new Reader(bytes, head.at, head.at + length), letter = String.fromCharCode(bytes[at]);
        const launch = trace.launches[trace.launches.length - 1];
        if (letter === "S") {
            const number = r.number(), what = r.text(), lines = [];
            for (let left = r.number(); left > 0; left--) lines.push({ file: r.text(), line: r.number() });
            trace.sites[number] = { what, lines };
        } else if (letter === "L") {
            trace.launches.push({ kernel: r.text(), grid: r.numbers(3), block: r.numbers(3), dynamic: r.number(),
                                  counters: r.numbers(COUNTED), ranges: [], blocks: [], findings: [] });
        } else if (letter === "V") {
            const range = { space: r.number(), name: r.text(), start: r.number(), bytes: r.number(), element: r.number() };
            range.extents = r.numbers(r.number());
            launch.ranges.push(range);
        } else if (letter === "B") {
            const block = { launch, index: r.number(), why: r.number(), leftOut: r.number(), counters: r.numbers(COUNTED) };
            const count = r.number();
            block.bytes = bytes.subarray(r.at, r.at + count);
            const same = launch.blocks.find(b => b.index === block.index);
            if (same) (same.more = same.more || []).push(block); /* behind a barrier of the whole grid */
            else launch.blocks.push(block);
        } else if (letter === "F") {
            launch.findings.push(readFinding(r));
        }
        at = head.at + length;
    }
    return trace;
}

/* ---- the events of a block ------------------------------------------------------------------------------------ */

function lanesOf(mask) {
    const lanes = [];
    for (let lane = 0; lane < 32; lane++) if (mask >>> lane & 1) lanes.push(lane);
    return lanes;
}

function readShape(r) {
    const shape = { access: r.number(), space: r.number(), bytes: r.number(), mask: r.number() | 0, lists: [] };
    shape.lanes = lanesOf(shape.mask);
    const copies = (shape.access & (COPY | READ)) === (COPY | READ);
    for (let list = 0; list < (copies ? 2 : 1); list++) {
        const offsets = [0];
        while (offsets.length < shape.lanes.length) {
            const step = r.signed();
            for (let times = r.number(); times > 0; times--) offsets.push(offsets[offsets.length - 1] + step);
        }
        shape.lists.push(offsets);
    }
    return shape;
}

/** The events of a block, a column for each thing that is known of them. */
class Events {
    constructor(block, warps) {
        this.kind = [];
        this.warp = [];
        this.site = [];
        this.shape = []; /* of LANES; of others what they have: a mask, a value */
        this.first = []; /* address of the first lane; of others a value */
        this.second = []; /* of a copy its place in shared memory */
        this.cost = [];
        this.warps = warps;
        this.totals = new Array(COUNTED).fill(0);
        this.nothing = new Array(COUNTED).fill(0);
        for (const part of [block, ...(block.more || [])]) this.read(new Reader(part.bytes, 0, part.bytes.length));
        this.count = this.kind.length;
        this.setTimes();
    }

    add(kind, warp, site, shape, first, second, cost) {
        this.kind.push(kind);
        this.warp.push(warp);
        this.site.push(site);
        this.shape.push(shape);
        this.first.push(first);
        this.second.push(second);
        this.cost.push(cost);
        for (let i = 0; i < COUNTED; i++) this.totals[i] += cost[i];
    }

    barriers(count) {
        const cost = this.nothing.slice();
        cost[COUNTER.BARRIERS] = count;
        return cost;
    }

    readLanes(r, flags, warp, lasts) {
        const site = r.number();
        const last = lasts[site] || (lasts[site] = { first: 0, second: 0, cost: this.nothing });
        if (!(flags & 16)) last.shape = readShape(r);
        last.first += r.signed();
        if (last.shape.lists.length > 1) last.second += r.signed();
        if (!(flags & 32)) {
            const rises = r.number();
            last.cost = this.nothing.map((_, i) => rises >> i & 1 ? r.number() : 0);
        }
        this.add(EVENT.LANES, warp, site, last.shape, last.first, last.second, last.cost);
    }

    read(r) {
        const lasts = [];
        let warp = 0;
        while (r.at < r.end) {
            const kind = r.bytes[r.at] & 15, flags = r.bytes[r.at] & 48;
            r.at++;
            if (kind === EVENT.WARP) {
                warp = r.number();
            } else if (kind === EVENT.LANES) {
                this.readLanes(r, flags, warp, lasts);
            } else if (kind === EVENT.MARK) {
                const [site, mark, mask, value] = r.numbers(4);
                this.add(kind, warp, site, mask | 0, mark, value, this.nothing);
            } else if (kind === EVENT.MEET) {
                const [site, meet, mask] = r.numbers(3);
                this.add(kind, warp, site, mask | 0, meet, 0, meet >= MEET.NAMED_ARRIVE ? this.barriers(1) : this.nothing);
            } else if (kind === EVENT.BARRIER) {
                const [site, warps] = r.numbers(2);
                this.add(kind, NO_WARP, site, warps | 0, 0, 0, this.barriers(lanesOf(warps).length));
            } else if (kind === EVENT.NAMED) {
                const [id, warps] = r.numbers(2);
                this.add(kind, NO_WARP, -1, warps | 0, id, 0, this.nothing);
            } else if (kind === EVENT.LANDED) {
                const [number, bytes, space, address] = r.numbers(4);
                this.add(kind, NO_WARP, -1, { space, bytes }, address, number, this.nothing);
            } else {
                throw new Error("the trace is damaged");
            }
        }
    }

    /*
     * When: the device knows what comes before what and no cycles. An event takes one step of its warp, and comes after
     * everything that it waited for.
     */
    setTimes() {
        const next = new Array(32).fill(0), arrived = new Map(), named = [], issued = new Map();
        const latest = warps => lanesOf(warps).reduce((t, w) => Math.max(t, next[w]), 0);
        this.time = new Int32Array(this.count);
        this.flights = []; /* what is in flight: {warp, from, to, what} */
        const landing = [], groups = new Map(), products = new Map();
        for (let e = 0; e < this.count; e++) {
            const kind = this.kind[e], warp = this.warp[e];
            let t = warp === NO_WARP ? 0 : next[warp];
            if (kind === EVENT.BARRIER || kind === EVENT.NAMED) {
                const going = this.shape[e];
                t = Math.max(latest(going), kind === EVENT.NAMED ? named[this.first[e]] || 0 : 0);
                for (const w of lanesOf(going)) next[w] = t + 1;
            } else if (kind === EVENT.LANDED) {
                const begun = issued.get(this.second[e]) || { time: 0, warp: 0 };
                t = begun.time + 1;
                landing.push({ event: e, warp: begun.warp, from: begun.time });
            } else if (kind === EVENT.MARK && this.first[e] === MARK.AWAIT) {
                t = Math.max(t, arrived.get(this.second[e]) || 0);
                for (const l of landing) t = Math.max(t, l.from + 1);
                for (const l of landing.splice(0)) {
                    this.time[l.event] = Math.max(this.time[l.event], t);
                    this.flights.push({ warp: l.warp, from: l.from, to: t, what: "bulk copy" });
                }
            }
            this.time[e] = t;
            if (warp !== NO_WARP) next[warp] = t + 1;
            if (kind === EVENT.MEET && this.first[e] >= MEET.NAMED_ARRIVE) named[this.first[e] - MEET.NAMED_ARRIVE] = t + 1;
            if (kind === EVENT.MARK && this.first[e] === MARK.ARRIVE) arrived.set(this.second[e], t + 1);
            if (kind === EVENT.MARK && this.first[e] === MARK.BULK) issued.set(this.second[e], { time: t, warp });
            this.noteFlight(e, t, groups, products);
        }
        this.length = Math.max(1, ...next, ...this.flights.map(f => f.to));
        for (const [warp, open] of groups) for (const group of open) /* nobody waits for them */
            this.flights.push({ warp, from: group.from, to: this.length, what: "copies", events: group.events });
        const order = Array.from({ length: this.count }, (_, i) => i);
        order.sort((a, b) => this.time[a] - this.time[b] || a - b);
        this.order = Int32Array.from(order);
        this.place = new Int32Array(this.count); /* in that order */
        this.order.forEach((e, i) => { this.place[e] = i; });
        this.ofWarp = Array.from({ length: this.warps }, () => []);
        for (const e of this.order) if (this.warp[e] !== NO_WARP) this.ofWarp[this.warp[e]].push(e);
    }

    /* Groups of asynchronous copies, and products in flight, of a warp: until its wait. */
    noteFlight(e, t, groups, products) {
        const warp = this.warp[e], kind = this.kind[e];
        if (kind === EVENT.LANES && this.shape[e].access & COPY) {
            const open = groups.get(warp) || groups.set(warp, []).get(warp);
            if (!open.length || open[open.length - 1].number !== undefined) open.push({ from: t, events: [] });
            open[open.length - 1].events.push(e);
        } else if (kind === EVENT.MARK && this.first[e] === MARK.COMMIT) {
            const open = groups.get(warp) || [];
            if (open.length && open[open.length - 1].number === undefined) open[open.length - 1].number = this.second[e];
        } else if (kind === EVENT.MARK && this.first[e] === MARK.WAIT) {
            const open = groups.get(warp) || [];
            while (open.length && open[0].number < this.second[e]) {
                const group = open.shift();
                this.flights.push({ warp, from: group.from, to: t, what: "copies", events: group.events, wait: e });
            }
        } else if (kind === EVENT.MEET && this.first[e] === MEET.PRODUCT && viewer.sites[this.site[e]].what.includes("async")) {
            (products.get(warp) || products.set(warp, []).get(warp)).push(t);
        } else if (kind === EVENT.MEET && this.first[e] === MEET.PRODUCTS_WAIT) {
            for (const from of products.get(warp) || []) this.flights.push({ warp, from, to: t, what: "products" });
            products.delete(warp);
        }
    }

    addresses(e, list = 0) {
        const base = list ? this.second[e] : this.first[e];
        return this.shape[e].lists[list].map(offset => base + offset);
    }
    isAccess(e) { return this.kind[e] === EVENT.LANES; }
    isShared(e) { return this.isAccess(e) && (this.shape[e].space & 7) >= SPACE.SHARED && (this.shape[e].space & 7) < SPACE.NOWHERE; }
    isGlobal(e) { return this.isAccess(e) && (this.shape[e].space & 7) < SPACE.SHARED; }
    isCopy(e) { return this.isAccess(e) && this.shape[e].lists.length > 1; }
}

/* ---- what an access costs -------------------------------------------------------------------------------------- */

/** The 32-byte sectors that lanes touch, in order of address: which lane uses which bytes of each. */
function sectorsOf(addresses, bytes) {
    const sectors = new Map();
    addresses.forEach((address, i) => {
        for (let s = Math.floor(address / 32); s <= Math.floor((address + bytes - 1) / 32); s++) {
            if (!sectors.has(s)) sectors.set(s, { number: s, users: [] });
            const from = Math.max(address, s * 32) - s * 32, to = Math.min(address + bytes, s * 32 + 32) - s * 32;
            sectors.get(s).users.push({ lane: i, from, to });
        }
    });
    return [...sectors.values()].sort((a, b) => a.number - b.number);
}

function usedBytes(sector) {
    const used = new Uint8Array(32);
    for (const u of sector.users) used.fill(1, u.from, u.to);
    return used.reduce((sum, one) => sum + one, 0);
}

function wastedBytes(addresses, bytes) {
    return sectorsOf(addresses, bytes).reduce((sum, s) => sum + 32 - usedBytes(s), 0);
}

/** Whether each lane has the address of its partner at this distance, or one of the two is idle: such groups go together. */
function partnersShare(lanes, addresses, from, to, distance) {
    for (let i = from; i < to; i++) {
        const k = lanes.indexOf(lanes[i] ^ distance, i + 1);
        if (k > 0 && k < to && addresses[k] !== addresses[i]) return false;
    }
    return true;
}

/*
 * Wavefronts of an access to shared memory: up to 4 bytes a lane by the whole warp, 8 by half warps, 16 by quarters; a bank
 * gives one word of 4 bytes per wavefront, to any number of lanes (docs/counters.md). Each is a list of {bank, word, lanes}.
 */
function wavefrontsOf(lanes, addresses, bytes, load) {
    const size = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8, wavefronts = [];
    let groups = 0;
    const endOf = (first, count) => {
        let end = first;
        while (end < lanes.length && Math.floor(lanes[end] / count) === Math.floor(lanes[first] / count)) end++;
        return end;
    };
    for (let first = 0, end; first < lanes.length; first = end) {
        end = endOf(first, size);
        const both = endOf(first, 2 * size);
        if (size < 32 && load && (partnersShare(lanes, addresses, first, both, 1) || partnersShare(lanes, addresses, first, both, 2)))
            end = both;
        const group = [], words = new Map(), used = new Array(32).fill(0);
        for (let i = first; i < end; i++) {
            for (let word = Math.floor(addresses[i] / 4); word <= Math.floor((addresses[i] + bytes - 1) / 4); word++) {
                if (!words.has(word)) {
                    const bank = word % 32, at = used[bank]++;
                    if (at === group.length) group.push([]);
                    words.set(word, { bank, word, lanes: [], group: groups });
                    group[at].push(words.get(word));
                }
                words.get(word).lanes.push(lanes[i]);
            }
        }
        wavefronts.push(...group);
        groups++;
    }
    return { wavefronts, groups };
}

const METRICS = [
    { name: "requests", help: "instructions of a warp that access memory",
      of: (v, e) => v.isAccess(e) && !(v.shape[e].access & UNUSED) ? 1 : 0 },
    { name: "sectors", help: "pieces of 32 bytes moved from and to global memory",
      of: (v, e) => v.cost[e][COUNTER.LOAD_SECTORS] + v.cost[e][COUNTER.STORE_SECTORS] },
    { name: "wavefronts", help: "passes through the banks of shared memory",
      of: (v, e) => v.cost[e][COUNTER.SHARED_LOADS] + v.cost[e][COUNTER.SHARED_STORES] },
    { name: "conflicts", help: "wavefronts beyond what lanes without bank conflicts take", of: (v, e) => v.cost[e][COUNTER.CONFLICTS] },
    { name: "wasted bytes", help: "bytes of the sectors that no lane of the instruction asked for", of: (v, e) => v.wasted(e) },
];

/* Most events of a line waste alike: by shape, and by where in a sector they begin. */
Events.prototype.wasted = function (e) {
    if (!this.isGlobal(e) || this.shape[e].access & (ATOMIC | UNUSED)) return 0;
    const shape = this.shape[e], known = shape.wasted || (shape.wasted = []), at = this.first[e] % 32;
    if (known[at] === undefined) known[at] = wastedBytes(this.addresses(e), shape.bytes);
    return known[at];
};

/* ---- what is shown --------------------------------------------------------------------------------------------- */

const COLOURS = 8;

/** All that the page shows, and where the reader is in it. */
const viewer = {
    traces: [], sources: [], /* of this page, and of one that was opened to compare */
    shown: 0, launchIndex: 0, blockIndex: 0, event: 0, metric: 0, line: null, zoom: null, cellColour: "warp",
    get trace() { return this.traces[this.shown]; },
    get sites() { return this.trace.sites; },
    get launch() { return this.trace.launches[this.launchIndex]; },
    get block() { return this.launch.blocks[this.blockIndex]; },
    get events() { return eventsOf(this.block); },
};

function eventsOf(block) {
    const threads = block.launch.block;
    if (!block.events) block.events = new Events(block, Math.ceil(threads[0] * threads[1] * threads[2] / 32));
    return block.events;
}

function element(name, properties, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties || {})) {
        if (key === "style" || key === "class" || key.startsWith("aria") || key === "role") made.setAttribute(key, value);
        else made[key] = value;
    }
    made.append(...children.filter(c => c !== null && c !== undefined));
    return made;
}

function plural(count, word) {
    return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

function shortPath(path) {
    return path.split("/").slice(-2).join("/");
}

function dimensions(extent) {
    return extent.slice(0, extent[2] > 1 ? 3 : extent[1] > 1 ? 2 : 1).join(" × ");
}

function indexIn(extent, index) {
    const all = [index % extent[0], Math.floor(index / extent[0]) % extent[1], Math.floor(index / extent[0] / extent[1])];
    return all.slice(0, extent[2] > 1 ? 3 : extent[1] > 1 ? 2 : 1).join(", ");
}

function placeOf(site, frame = 0) {
    const s = viewer.sites[site];
    return s && s.lines[frame] ? s.lines[frame] : null;
}

function lineText(site) {
    const at = placeOf(site), main = filesOf(viewer.events)[0];
    if (!at) return "an unknown line";
    const text = place => (place.file === main ? "" : shortPath(place.file).split("/").pop() + " ") + `line ${place.line}`;
    return [at, ...viewer.sites[site].lines.slice(1)].map(text).join(", called from ");
}

/** What the source calls an address: tile[2][5], out[0, 1, 5]. */
function rangeOf(space, address) {
    return viewer.launch.ranges.find(r => r.space === space && address >= r.start && address < r.start + r.bytes);
}

function indicesOf(range, address, bytes) {
    const size = range.element || bytes, index = Math.floor((address - range.start) / size), extents = range.extents;
    const parts = [];
    for (let axis = extents.length - 1, rest = index; axis >= 0; axis--) {
        parts.unshift(axis === 0 ? rest : rest % extents[axis]);
        rest = Math.floor(rest / extents[axis]);
    }
    return parts.length ? parts : [index];
}

function written(range, parts) {
    return range.space === SPACE.GLOBAL ? `[${parts.join(",")}]` : parts.map(p => `[${p}]`).join("");
}

function elementOf(range, address, bytes) {
    return written(range, indicesOf(range, address, bytes));
}

/** What of the elements' indices differs between lanes, for each lane, and what they have in common: q[0,0,3,·]. */
function labelsOf(range, addresses, bytes) {
    if (!range) return { common: "", of: addresses.map(a => "…" + (a % 65536).toString(16)) };
    const all = addresses.map(a => indicesOf(range, a, bytes)), rank = all[0].length;
    let same = 0;
    while (same < rank - 1 && all.every(parts => parts[same] === all[0][same])) same++;
    const common = all[0].map((part, axis) => axis < same ? part : "·");
    return { common: range.name + written(range, common), of: all.map(parts => parts.slice(same).join(",")) };
}

function nameOf(space, address, bytes) {
    const range = rangeOf(space, address);
    return range ? range.name + elementOf(range, address, bytes) : "0x" + address.toString(16);
}

const SPACE_NAMES = ["global", "variable", "shared", "shared", "other"];

function verbOf(shape) {
    if (shape.access & COPY) return "asynchronous copy";
    return shape.access & ATOMIC ? "atomic" : shape.access & WRITE ? "store" : "load";
}

function meetName(meet, site) {
    const what = viewer.sites[site] ? viewer.sites[site].what : "";
    if (meet >= MEET.NAMED_ARRIVE) return `named barrier ${meet - MEET.NAMED_ARRIVE}`;
    return what || ["collective", "product", "__syncwarp", "wait for products"][meet];
}

const MARK_NAMES = ["", "commits a group of copies", "waits for copies", "begins a bulk copy", "commits bulk copies",
                    "waits for bulk copies", "arrives at an mbarrier", "has waited for an mbarrier"];

/** One sentence about an event. */
function sentence(v, e) {
    const kind = v.kind[e], cost = v.cost[e], at = v.site[e] >= 0 ? lineText(v.site[e]) : "";
    if (kind === EVENT.BARRIER) return `${at}: ${viewer.sites[v.site[e]].what}, ${plural(lanesOf(v.shape[e]).length, "warp")} go on`;
    if (kind === EVENT.NAMED) return `named barrier ${v.first[e]} opens, ${plural(lanesOf(v.shape[e]).length, "warp")} go on`;
    if (kind === EVENT.LANDED) return `a bulk copy of ${plural(v.shape[e].bytes, "byte")} arrives`;
    if (kind === EVENT.MARK) return `${at}: ${MARK_NAMES[v.first[e]]}`;
    if (kind === EVENT.MEET) return `${at}: ${meetName(v.first[e], v.site[e])}`;
    const shape = v.shape[e], space = SPACE_NAMES[shape.space & 7];
    let text = `${at}: ${shape.access & COPY ? "" : space + " "}${verbOf(shape)}, ${shape.bytes} bytes per lane, ` +
        `${shape.lanes.length} of 32 lanes`;
    const sectors = cost[COUNTER.LOAD_SECTORS] + cost[COUNTER.STORE_SECTORS];
    const wavefronts = cost[COUNTER.SHARED_LOADS] + cost[COUNTER.SHARED_STORES];
    if (sectors) text += ` · ${plural(sectors, "sector")}`;
    if (v.wasted(e)) text += `, ${v.wasted(e)} bytes wasted`;
    if (wavefronts) text += ` · ${plural(wavefronts, "wavefront")}`;
    if (cost[COUNTER.CONFLICTS]) text += `, ${cost[COUNTER.CONFLICTS]} of them for conflicts`;
    if (shape.access & UNUSED) text += " · the block ended before this was counted";
    return text;
}

/* ---- the source ------------------------------------------------------------------------------------------------- */

const WORDS = /(\/\/.*|\/\*.*?\*\/|"(?:[^"\\]|\\.)*"|\b(?:if|else|for|while|do|return|const|static|inline|template|typename|struct|enum|extern|break|continue|switch|case|sizeof|constexpr|__global__|__device__|__shared__|__restrict__|__launch_bounds__|__forceinline__)\b|\b(?:void|int|unsigned|float|double|char|bool|half|half2|float2|float4|int4|size_t|u?int(?:8|16|32|64)_t)\b|^\s*#.*)/;

function coloured(text) {
    return text.split(WORDS).map((piece, i) => {
        if (i % 2 === 0) return piece;
        const kind = /^\s*#/.test(piece) ? "type" : /^\/[/*]/.test(piece) ? "comment" : piece[0] === "\"" ? "string"
            : /^(void|int|unsigned|float|double|char|bool|half|half2|float2|float4|int4|size_t|u?int\d+_t)$/.test(piece) ? "type" : "keyword";
        return element("span", { class: kind }, piece);
    });
}

/** What each line costs: of every metric a map from "file:line". */
function heatOf(v) {
    if (v.heat) return v.heat;
    v.heat = METRICS.map(() => new Map());
    for (let e = 0; e < v.count; e++) {
        const at = v.site[e] >= 0 ? placeOf(v.site[e]) : null;
        if (!at) continue;
        METRICS.forEach((metric, i) => {
            const value = metric.of(v, e), key = at.file + ":" + at.line;
            if (value) v.heat[i].set(key, (v.heat[i].get(key) || 0) + value);
        });
    }
    return v.heat;
}

function sourceOf(path) {
    return viewer.sources[viewer.shown].find(s => s.path === path);
}

/** The files of this launch, the one with the most events first. */
function filesOf(v) {
    if (v.files) return v.files;
    const files = new Map();
    for (let e = 0; e < v.count; e++) {
        const at = v.site[e] >= 0 ? placeOf(v.site[e]) : null;
        if (at) files.set(at.file, (files.get(at.file) || 0) + 1);
    }
    v.files = [...files.entries()].sort((a, b) => b[1] - a[1]).map(f => f[0]);
    return v.files;
}

function findingLines() {
    const lines = new Set();
    for (const f of viewer.launch.findings)
        for (const a of f.actors) { const at = placeOf(a.site); if (at) lines.add(at.file + ":" + at.line); }
    return lines;
}

/* The part of the file around what runs: the rest is folded away, and can be opened. */
function drawSource() {
    const v = viewer.events, heat = heatOf(v)[viewer.metric], here = placeOf(v.site[viewer.event]);
    const files = filesOf(v), wanted = viewer.line ? viewer.line.file : here ? here.file : files[0];
    const file = files.includes(wanted) ? wanted : files[0], source = sourceOf(file), box = byId("lines");
    const key = [viewer.shown, viewer.launchIndex, viewer.blockIndex, viewer.metric, file].join();
    if (box.dataset.key !== key) {
        box.dataset.key = key;
        box.replaceChildren();
        byId("file").replaceChildren(...files.map(f => element("option", { value: f, selected: f === file }, shortPath(f))));
        byId("file").hidden = files.length < 2;
        byId("metric").replaceChildren(...METRICS.map((m, i) => element("button", {
            class: i === viewer.metric ? "on" : "", title: m.help,
            onclick: () => { viewer.metric = i; draw(); } }, m.name)));
        const most = Math.max(1, ...heat.values()), red = findingLines();
        (source ? source.text.split("\n") : []).forEach((text, i) => {
            const at = file + ":" + (i + 1), value = heat.get(at) || 0;
            box.append(element("div", { class: "line" + (red.has(at) ? " found" : ""), id: "line" + (i + 1),
                                        onclick: () => chooseLine(file, i + 1) },
                element("span", { class: "heat", style: `--share:${value / most}` }, value ? value.toLocaleString("en") : ""),
                element("span", { class: "number" }, String(i + 1)),
                element("code", {}, ...coloured(text.replace(/\r$/, "")))));
        });
        if (!source) box.append(element("p", { class: "faint" }, `The source ${file || ""} is not in the page.`));
    }
    for (const old of box.querySelectorAll(".here, .chosen, .caller")) old.classList.remove("here", "chosen", "caller");
    const mark = (at, name) => {
        const line = at && at.file === file ? byId("line" + at.line) : null;
        if (line) line.classList.add(name);
        return line;
    };
    for (let frame = 1; frame < 3 && v.site[viewer.event] >= 0; frame++) mark(placeOf(v.site[viewer.event], frame), "caller");
    if (viewer.line) mark(viewer.line, "chosen");
    const line = mark(here, "here");
    if (line) box.scrollTop += Math.round(line.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3);
}

/** The chosen line's next event from here; the first one if there is none. */
function chooseLine(file, line) {
    const v = viewer.events, at = { file, line };
    viewer.line = at;
    const next = nextWhere(e => isAt(v, e, at), 1, true);
    if (next !== null) viewer.event = next;
    draw();
}

function isAt(v, e, at) {
    const place = v.site[e] >= 0 ? placeOf(v.site[e]) : null;
    return place !== null && place.file === at.file && place.line === at.line;
}

/* ---- stepping ---------------------------------------------------------------------------------------------------- */

/** The next event in time for which @p test holds, in this direction; with @p around, from the other end if there is none. */
function nextWhere(test, direction, around = false) {
    const v = viewer.events;
    for (let i = v.place[viewer.event] + direction; i >= 0 && i < v.count; i += direction) if (test(v.order[i])) return v.order[i];
    if (!around) return null;
    for (let i = direction > 0 ? 0 : v.count - 1; i >= 0 && i < v.count; i += direction) if (test(v.order[i])) return v.order[i];
    return null;
}

function warpHere() {
    const v = viewer.events;
    if (v.warp[viewer.event] !== NO_WARP) viewer.warp = v.warp[viewer.event];
    return Math.min(viewer.warp || 0, Math.max(0, v.warps - 1));
}

const STEPS = {
    next: () => { const v = viewer.events, w = warpHere(); return nextWhere(e => v.warp[e] === w || isOf(v, e, w), 1); },
    back: () => { const v = viewer.events, w = warpHere(); return nextWhere(e => v.warp[e] === w || isOf(v, e, w), -1); },
    barrier: () => nextWhere(isBarrier, 1),
    barrierBack: () => nextWhere(isBarrier, -1),
    same: () => { const v = viewer.events, at = placeOf(v.site[viewer.event]); return at ? nextWhere(e => isAt(v, e, at), 1) : null; },
    sameBack: () => { const v = viewer.events, at = placeOf(v.site[viewer.event]); return at ? nextWhere(e => isAt(v, e, at), -1) : null; },
    conflict: () => { const v = viewer.events; return nextWhere(e => v.cost[e][COUNTER.CONFLICTS] > 0, 1, true); },
    waste: () => { const v = viewer.events; return nextWhere(e => v.wasted(e) > 0, 1, true); },
    watched: () => { const v = viewer.events; return ((watchedOf(v) || { accesses: [] }).accesses.find(a => v.place[a.event] > v.place[viewer.event]) || {}).event; },
    up: () => otherWarp(-1),
    down: () => otherWarp(1),
    first: () => viewer.events.order[0],
    last: () => viewer.events.order[viewer.events.count - 1],
    finding: () => { showFinding(((viewer.findingIndex === undefined ? -1 : viewer.findingIndex) + 1) % Math.max(1, viewer.launch.findings.length)); return null; },
};
const KEYS = { ArrowRight: "next", ArrowLeft: "back", ArrowUp: "up", ArrowDown: "down", b: "barrier", B: "barrierBack", n: "same",
               N: "sameBack", c: "conflict", w: "waste", v: "watched", f: "finding", Home: "first", End: "last" };

function isBarrier(e) {
    const kind = viewer.events.kind[e];
    return kind === EVENT.BARRIER || kind === EVENT.NAMED;
}

/** Whether an event of several warps is one of this warp's. */
function isOf(v, e, warp) {
    return isBarrier(e) && (v.shape[e] >>> warp & 1) === 1;
}

function otherWarp(direction) {
    const v = viewer.events, warp = warpHere() + direction;
    if (warp < 0 || warp >= v.warps || !v.ofWarp[warp].length) return null;
    const now = v.time[viewer.event];
    return v.ofWarp[warp].reduce((best, e) => Math.abs(v.time[e] - now) < Math.abs(v.time[best] - now) ? e : best);
}

function step(how) {
    const to = STEPS[how]();
    if (to !== null && to !== undefined) {
        viewer.event = to;
        viewer.line = null;
    }
    draw();
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

const KINDS = [
    { name: "global load", colour: "s" }, { name: "global store", colour: "t" }, { name: "shared load", colour: "u" },
    { name: "shared store", colour: "v" }, { name: "asynchronous copy", colour: "y" }, { name: "atomic", colour: "w" },
    { name: "tensor-core product", colour: "z" }, { name: "other", colour: "x" },
];

function kindOf(v, e) {
    if (v.kind[e] === EVENT.MEET) return v.first[e] === MEET.PRODUCT ? 6 : 7;
    if (v.kind[e] === EVENT.MARK) return v.first[e] === MARK.BULK ? 4 : 7;
    const shape = v.shape[e];
    if (shape.access & COPY) return 4;
    if (shape.access & ATOMIC) return 5;
    return (v.isShared(e) ? 2 : 0) + (shape.access & WRITE ? 1 : 0);
}

function theme(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function canvasOf(id, width, height) {
    const canvas = byId(id), scale = window.devicePixelRatio || 1;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    return context;
}

const TIME = { left: 58, row: 26, bar: 14, top: 18 };

/** From which time to which the window shows. It follows the event. */
function windowOfTime(v, width) {
    const usual = Math.min(v.length, Math.max(40, Math.floor((width - TIME.left) / 7)));
    const zoom = viewer.zoom || (viewer.zoom = { from: 0, span: usual });
    zoom.span = Math.max(Math.min(10, v.length), Math.min(v.length, zoom.span));
    const now = v.time[viewer.event];
    if (now < zoom.from + zoom.span * 0.05 || now > zoom.from + zoom.span * 0.95) zoom.from = now - zoom.span / 2;
    zoom.from = Math.max(0, Math.min(v.length - zoom.span, zoom.from));
    return zoom;
}

function drawTime() {
    const v = viewer.events, width = byId("time").parentElement.clientWidth, zoom = windowOfTime(v, width);
    const shown = Math.max(1, v.warps), height = TIME.top + shown * TIME.row + 4, c = canvasOf("time", width, height);
    const scale = (width - TIME.left - 4) / zoom.span, x = t => TIME.left + (t - zoom.from) * scale;
    const inside = (from, to) => to >= zoom.from && from <= zoom.from + zoom.span;
    const y = w => TIME.top + w * TIME.row;
    const ink = theme("--ink"), faint = theme("--faint");
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "middle";
    c.save();
    for (let w = 0; w < shown; w++) {
        c.fillStyle = w === warpHere() ? theme("--mark") : theme("--panel");
        c.fillRect(TIME.left, y(w), width - TIME.left - 4, TIME.bar);
        c.fillStyle = w === warpHere() ? ink : faint;
        c.fillText("warp " + w, 6, y(w) + TIME.bar / 2);
    }
    c.beginPath();
    c.rect(TIME.left - 2, 0, width - TIME.left + 2, height);
    c.clip();
    drawWaits(c, v, zoom, x, y);
    const colours = KINDS.map(k => theme("--fig-" + k.colour));
    for (let w = 0; w < v.warps; w++) {
        for (const e of v.ofWarp[w]) {
            if (!inside(v.time[e], v.time[e] + 1)) continue;
            c.fillStyle = colours[kindOf(v, e)];
            const conflict = v.cost[e][COUNTER.CONFLICTS] > 0 || v.wasted(e) >= 32;
            c.fillRect(x(v.time[e]), y(w) + 1, Math.max(0.7, scale - (scale > 3 ? 1 : 0)), TIME.bar - 2);
            if (conflict && scale > 2) {
                c.fillStyle = theme("--fig-w");
                c.fillRect(x(v.time[e]), y(w) + TIME.bar - 4, scale - 1, 3);
            }
        }
    }
    for (const f of v.flights) {
        if (!inside(f.from, f.to)) continue;
        c.fillStyle = theme(f.what === "products" ? "--fig-z" : "--fig-y");
        c.fillRect(x(f.from), y(f.warp) + TIME.bar + 2, Math.max(2, (f.to + 1 - f.from) * scale - 1), 4);
    }
    drawBarriers(c, v, zoom, x, y, ink);
    drawFindingArc(c, v, x, y);
    const e = viewer.event, warps = v.warp[e] === NO_WARP ? lanesOf(isBarrier(e) ? v.shape[e] : 0) : [v.warp[e]];
    c.strokeStyle = ink;
    c.lineWidth = 2;
    for (const w of warps) c.strokeRect(x(v.time[e]) - 1, y(w) - 1, Math.max(4, scale) + 1, TIME.bar + 2);
    c.restore();
    byId("span").textContent = zoom.span >= v.length ? `${v.length} steps` : `steps ${Math.round(zoom.from)} to ${Math.round(zoom.from + zoom.span)} of ${v.length}`;
}

/* Where a warp does nothing because it waits for others: hatched. */
function drawWaits(c, v, zoom, x, y) {
    c.strokeStyle = theme("--line");
    c.lineWidth = 1;
    c.beginPath();
    const ends = v.ofWarp.map(() => -1), gap = (w, from, to) => {
        if (to - from < 1 || to < zoom.from || from > zoom.from + zoom.span) return;
        for (let at = Math.max(x(from), TIME.left - 8); at < Math.min(x(to), TIME.left + (zoom.span + 1) * 1e6); at += 5) {
            if (at > x(zoom.from + zoom.span)) break;
            c.moveTo(at, y(w) + TIME.bar - 1);
            c.lineTo(Math.min(at + 6, x(to)), y(w) + 1);
        }
    };
    for (const e of v.order) {
        const warps = v.warp[e] !== NO_WARP ? [v.warp[e]] : isBarrier(e) ? lanesOf(v.shape[e]) : [];
        for (const w of warps) {
            if (ends[w] >= 0) gap(w, ends[w], v.time[e]);
            ends[w] = v.time[e] + 1;
        }
    }
    c.stroke();
}

function drawBarriers(c, v, zoom, x, y, ink) {
    for (let e = 0, shown = 0; e < v.count; e++) {
        if (!isBarrier(e) || v.time[e] < zoom.from || v.time[e] > zoom.from + zoom.span) continue;
        const warps = lanesOf(v.shape[e]), at = x(v.time[e] + 0.5);
        c.strokeStyle = ink;
        c.lineWidth = v.kind[e] === EVENT.NAMED ? 1.5 : 2;
        c.setLineDash(v.kind[e] === EVENT.NAMED ? [3, 2] : []);
        c.beginPath();
        c.moveTo(at, y(warps[0]) - 3);
        c.lineTo(at, y(warps[warps.length - 1]) + TIME.bar + 3);
        c.stroke();
        c.setLineDash([]);
        const place = v.site[e] >= 0 ? placeOf(v.site[e]) : null;
        if (place && shown++ < 40) {
            c.fillStyle = theme("--faint");
            c.textAlign = "center";
            if (at - (c.lastLabel || -100) > 30) {
                c.fillText(String(place.line), at, 8);
                c.lastLabel = at;
            }
            c.textAlign = "left";
        }
    }
    c.lastLabel = undefined;
}

function eventAtTime(pointer) {
    const v = viewer.events, box = byId("time").getBoundingClientRect(), zoom = viewer.zoom;
    const px = pointer.clientX - box.left, py = pointer.clientY - box.top;
    const time = zoom.from + (px - TIME.left) / ((box.width - TIME.left - 4) / zoom.span);
    const warp = Math.floor((py - TIME.top + 4) / TIME.row);
    let best = null;
    for (const e of v.ofWarp[Math.max(0, Math.min(v.warps - 1, warp))] || [])
        if (best === null || Math.abs(v.time[e] + 0.5 - time) < Math.abs(v.time[best] + 0.5 - time)) best = e;
    for (let e = 0; e < v.count; e++)
        if (isBarrier(e) && best !== null && Math.abs(v.time[e] + 0.5 - time) < Math.abs(v.time[best] + 0.5 - time)) best = e;
    return best;
}

function zoomBy(factor) {
    const now = viewer.events.time[viewer.event], zoom = viewer.zoom;
    zoom.span *= factor;
    zoom.from = now - zoom.span / 2;
    drawTime();
}

/* ---- one event: lanes, sectors, banks ---------------------------------------------------------------------------- */

function laneBoxes(lanes, colourOf, textOf, titleOf) {
    const boxes = [];
    for (let lane = 0; lane < 32; lane++) {
        const i = lanes.indexOf(lane);
        boxes.push(element("div", { class: i < 0 ? "lane idle" : "lane c" + colourOf(i), title: i < 0 ? "not active" : titleOf(i) },
            element("b", {}, String(lane)), element("span", {}, i < 0 ? "–" : textOf(i))));
    }
    return element("div", { class: "lanes" }, ...boxes);
}

/** Sectors as rows of words: who uses which, and what nobody asked for. */
function sectorRows(lanes, addresses, bytes, space, colourOf) {
    const word = Math.min(4, bytes), rows = [];
    const sectors = sectorsOf(addresses, bytes);
    for (const sector of sectors.slice(0, 64)) {
        const cells = [];
        for (let at = 0; at < 32; at += word) {
            const users = sector.users.filter(u => u.from < at + word && u.to > at).map(u => lanes[u.lane]);
            const text = !users.length ? "" : users.length === 1 ? String(users[0]) : users.length + "×";
            cells.push(element("span", { class: users.length ? "cell c" + colourOf(sector) : "cell waste",
                                         title: users.length ? "lanes " + users.join(", ") : "moved, and not asked for" }, text));
        }
        rows.push(element("div", { class: "sector", title: nameOf(space, sector.number * 32, word) },
            element("span", { class: "address" }, "…" + (sector.number * 32 % 65536).toString(16).padStart(4, "0")), ...cells));
    }
    if (sectors.length > 64) rows.push(element("p", { class: "faint" }, `and ${sectors.length - 64} more`));
    return element("div", { class: "sectors" + (sectors.length > 8 ? " two" : "") }, ...rows);
}

function globalView(v, e, list = 0) {
    const shape = v.shape[e], addresses = v.addresses(e, list), space = shape.space & 7, sectors = sectorsOf(addresses, shape.bytes);
    const place = new Map(sectors.map((s, i) => [s.number, i % COLOURS]));
    const colour = i => place.get(Math.floor(addresses[i] / 32));
    const used = sectors.reduce((sum, s) => sum + usedBytes(s), 0), moved = 32 * sectors.length;
    const least = Math.ceil(used / 32), labels = labelsOf(rangeOf(space, addresses[0]), addresses, shape.bytes);
    return [
        element("p", {}, `The lanes ask for ${plural(used, "different byte")}${labels.common ? " of " + labels.common : ""}; ` +
            `${plural(sectors.length, "sector")} of 32 bytes move ${moved}`,
            moved > used ? element("b", { class: "bad" }, `: ${moved - used} are wasted.`) : ": nothing is wasted.",
            sectors.length > least ? ` Side by side they would fill ${plural(least, "sector")}.` : ""),
        laneBoxes(shape.lanes, colour, i => labels.of[i], i => `lane ${shape.lanes[i]}: ${nameOf(space, addresses[i], shape.bytes)}, address 0x${addresses[i].toString(16)}`),
        element("h4", {}, "sectors: which lane uses which word; grey is waste"),
        sectorRows(shape.lanes, addresses, shape.bytes, space, s => place.get(s.number)),
    ];
}

function bankTable(wavefronts, groups) {
    const rows = [element("div", { class: "wavefront heads" }, element("span", { class: "address" }, "bank"),
        ...Array.from({ length: 32 }, (_, bank) => element("span", { class: "cell" }, String(bank))))];
    const begun = new Set();
    wavefronts.forEach((words, i) => {
        const of = words[0].group, extra = begun.has(of);
        begun.add(of);
        const cells = Array.from({ length: 32 }, () => element("span", { class: "cell" }));
        for (const w of words) {
            cells[w.bank].className = "cell c" + (of % COLOURS);
            cells[w.bank].textContent = w.lanes.length === 1 ? String(w.lanes[0]) : w.lanes.length + "×";
            cells[w.bank].title = `bank ${w.bank}: lanes ${w.lanes.join(", ")}`;
        }
        rows.push(element("div", { class: "wavefront" + (extra ? " extra" : "") }, element("span", { class: "address" }, String(i + 1)), ...cells));
    });
    return element("div", { class: "banks", role: "img", "aria-label": `${wavefronts.length} wavefronts of ${groups} groups` }, ...rows);
}

function conflictText(found) {
    const worst = new Map();
    for (const words of found.wavefronts) for (const w of words) worst.set(w.bank, (worst.get(w.bank) || []).concat([w]));
    const [bank, words] = [...worst.entries()].sort((a, b) => b[1].length - a[1].length)[0];
    const inOne = words.filter(w => w.group === words[0].group);
    if (found.wavefronts.length === found.groups || inOne.length < 2) return "No bank has to give two words at once.";
    return `Lanes ${inOne.slice(0, 4).map(w => w.lanes[0]).join(", ")}${inOne.length > 4 ? " …" : ""} need ${inOne.length} different words of bank ${bank}: ` +
        "one wavefront for each.";
}

function sharedView(v, e) {
    const shape = v.shape[e], addresses = v.addresses(e), space = shape.space & 7, range = rangeOf(space, addresses[0]);
    const start = range ? range.start : 0, bank = address => Math.floor((address - start) / 4) % 32;
    const found = wavefrontsOf(shape.lanes, addresses.map(a => a - start), shape.bytes, !(shape.access & WRITE));
    const labels = labelsOf(range, addresses, range && range.element || shape.bytes);
    const atomic = shape.access & ATOMIC, count = found.wavefronts.length, extra = count - found.groups;
    return [
        element("p", {}, atomic ? "Atomics on shared memory go one lane a bank at a time. " :
            `${plural(count, "wavefront")}` + (found.groups > 1 ? `, at least ${found.groups} with ${shape.bytes} bytes per lane` : "") + ". ",
            !atomic && extra > 0 ? element("b", { class: "bad" }, `${extra} ${extra === 1 ? "is" : "are"} for bank conflicts. `) : "",
            atomic ? "" : conflictText(found)),
        labels.common ? element("h4", {}, `each lane's element of ${labels.common}`) : "",
        laneBoxes(shape.lanes, i => bank(addresses[i]) % COLOURS, i => labels.of[i],
                  i => `lane ${shape.lanes[i]}: ${nameOf(space, addresses[i], shape.bytes)}, bank ${bank(addresses[i])}`),
        element("h4", {}, "wavefronts and banks: which lane takes its word when"),
        bankTable(found.wavefronts, found.groups),
    ];
}

function copyView(v, e) {
    const shape = v.shape[e], to = v.addresses(e, 1), space = shape.space & TO_DYNAMIC ? SPACE.DYNAMIC : SPACE.SHARED;
    const flight = v.flights.find(f => f.events && f.events.includes(e)), range = rangeOf(space, to[0]);
    const labels = labelsOf(range, to, range && range.element || 4);
    return [
        ...globalView(v, e),
        element("h4", {}, `where they go${labels.common ? ": " + labels.common : ""}`),
        laneBoxes(shape.lanes, i => Math.floor((to[i] - (range ? range.start : 0)) / 4) % COLOURS, i => labels.of[i],
                  i => `lane ${shape.lanes[i]}: ${nameOf(space, to[i], range && range.element || 4)}`),
        element("p", {}, flight && flight.wait !== undefined ? `In flight from step ${v.time[e]} to step ${flight.to}, where the warp waits for it. ` : "No wait for it is in this trace. ",
            `${plural(v.cost[e][COUNTER.SHARED_STORES], "wavefront")} to store it.`,
            flight && flight.wait !== undefined ? element("button", { onclick: () => { viewer.event = flight.wait; draw(); } }, "go to the wait") : ""),
    ];
}

function drawEvent() {
    const v = viewer.events, e = viewer.event, box = byId("event");
    const warp = v.warp[e] !== NO_WARP ? `warp ${v.warp[e]}, ` : "";
    byId("sentence").textContent = `${warp}step ${v.time[e]}, ${sentence(v, e)}`;
    let content;
    if (v.isCopy(e)) content = copyView(v, e);
    else if (v.isShared(e)) content = sharedView(v, e);
    else if (v.isGlobal(e)) content = globalView(v, e);
    else if (v.kind[e] === EVENT.MEET) {
        const met = lanesOf(v.shape[e]);
        content = [element("p", {}, `${meetName(v.first[e], v.site[e])}: ${met.length} lanes meet.`),
                   laneBoxes(met, () => 0, () => "✓", i => "lane " + met[i])];
    } else if (v.kind[e] === EVENT.MARK) {
        const active = lanesOf(v.shape[e]);
        content = [element("p", {}, `${plural(active.length, "lane")} ${MARK_NAMES[v.first[e]].replace(/^(\w+)s /, active.length === 1 ? "$1s " : "$1 ")}` +
            (v.first[e] === MARK.WAIT ? `: all groups before number ${v.second[e]} have arrived.` : "."))];
    } else if (isBarrier(e)) {
        content = [element("p", {}, `Warps ${lanesOf(v.shape[e]).join(", ")} have come and go on. What each of them wrote before, all of them may read now.`)];
    } else {
        content = [element("p", {}, sentence(v, e) + ".")];
    }
    const words = debugWords(v, e);
    if (words) content.push(element("p", { class: "faint" }, "Stop gdb here, when the first of these lanes comes for the first time: ", element("code", {}, words)));
    box.replaceChildren(...content);
}

/** The command that stops gdb where the event's first lane is; "" if there is none. */
function debugWords(v, e) {
    const about = viewer.about[viewer.shown], file = about.name.split("/").pop();
    if (!about.debug || v.warp[e] === NO_WARP || v.site[e] < 0) return "";
    const at = [0, 1, 2].map(frame => placeOf(v.site[e], frame)).find(place => place && place.file.split("/").pop() === file);
    const lane = v.isAccess(e) ? v.shape[e].lanes[0] : lanesOf(v.shape[e])[0];
    const index = indexIn([...viewer.launch.grid.slice(0, 2), 2], viewer.block.index).replace(/ /g, "");
    return at ? `${about.debug} --block ${index} --thread ${32 * v.warp[e] + lane} --line ${at.line}` : "";
}

/* ---- variables of a thread ----------------------------------------------------------------------------------------- */

/* Optimised or not, compilers give an access another line of the same statement. */
const SAME_STATEMENT = 3;

/** Of the thread of this block that gdb watched: its accesses, each with what its variables held before it; null if none was. */
function watchedOf(v) {
    if (v.watched !== undefined) return v.watched;
    const { first, variables, name } = viewer.about[viewer.shown];
    const found = variables && variables.threads.find(t => t.launch === first + viewer.launchIndex && t.block === viewer.block.index);
    if (!found) return v.watched = null;
    const warp = Math.floor(found.thread / 32), lane = found.thread % 32, accesses = [];
    const isOne = e => v.warp[e] === warp && (v.kind[e] === EVENT.LANES ? v.shape[e].mask : v.kind[e] === EVENT.MARK ? v.shape[e] : 0) >>> lane & 1;
    let held = new Map();
    for (let e = 0; e < v.count && accesses.length < found.accesses.length; e++) {
        if (!isOne(e)) continue;
        const [line, changed, gone] = found.accesses[accesses.length];
        const places = viewer.sites[v.site[e]].lines.filter(place => place.file.split("/").pop() === name); /* where gdb looks */
        if (places.length && !places.some(place => Math.abs(place.line - line) <= SAME_STATEMENT)) break; /* gdb's run went another way */
        held = new Map(held);
        for (const number of gone) held.delete(number);
        for (let i = 0; i < changed.length; i += 2) held.set(changed[i], changed[i + 1]);
        accesses.push({ event: e, line, held, changed: new Set(changed.filter((_, i) => i % 2 === 0)) });
    }
    return v.watched = { thread: found.thread, warp, lane, accesses, whole: variables.whole && accesses.length === found.accesses.length };
}

/** The watched thread's last access up to an event, or undefined. */
function accessAt(v, e) {
    const watched = watchedOf(v);
    return watched ? watched.accesses.filter(a => v.place[a.event] <= v.place[e]).pop() : undefined;
}

/** Pointers into memory that the trace knows, by its name: &q[0,0,3,5], &tile[3][5]; other shared memory as shared + 0x40. */
function valueText(text) {
    const spaces = { shared: SPACE.SHARED, dynamic: SPACE.DYNAMIC };
    return text.replace(/\b(?:(shared|dynamic)\+)?0x([0-9a-f]+)/g, (all, space, digits) => {
        const address = parseInt(digits, 16), range = rangeOf(space ? spaces[space] : SPACE.GLOBAL, address);
        return range ? "&" + range.name + elementOf(range, address, range.element || 1) : space ? `${space} + 0x${digits}` : all;
    });
}

function variableRows(access) {
    const all = viewer.about[viewer.shown].variables.variables, frames = new Map();
    for (const [number, text] of access.held) {
        const [depth, owner, name, kind] = all[number], frame = frames.get(depth) || { owner, rows: [], nowhere: [] };
        frames.set(depth, frame);
        if (!text) frame.nowhere.push(name);
        else frame.rows.push(element("tr", { class: access.changed.has(number) ? "changed" : "" }, element("th", {}, name),
            element("td", {}, element("code", {}, valueText(text))), element("td", { class: "faint" }, kind)));
    }
    return [...frames].sort((a, b) => b[0] - a[0]).flatMap(([, frame]) => [
        element("tr", {}, element("th", { colSpan: 3, class: "faint" }, "in ", element("b", {}, frame.owner),
            frame.nowhere.length ? `; not in any register or memory here: ${frame.nowhere.join(", ")}` : "")), ...frame.rows]);
}

function drawVariables() {
    const v = viewer.events, e = viewer.event, watched = watchedOf(v), about = viewer.about[viewer.shown], box = byId("variables");
    const say = text => box.replaceChildren(element("h4", {}, "Variables"), element("p", { class: "faint" }, text));
    if (!about.variables) return say(about.noVariables ? about.noVariables + "." : "Shown of a lesson's kernel, for one thread, where gdb is installed: warpwise trace NN --thread N.");
    if (!watched || !watched.accesses.length) return say("In this block nobody has looked at them, or the thread has no access.");
    const access = accessAt(v, e), here = access && access.event === e;
    const next = watched.accesses.find(a => v.place[a.event] > v.place[e]), last = watched.accesses[watched.accesses.length - 1];
    const when = !access ? "It has accessed nothing yet." : here ? "Before this access." : `Before its access at step ${v.time[access.event]}, line ${access.line}, the last one up to here.`;
    const found = viewer.launch.findings[viewer.findingIndex], acted = found ? found.actors.filter(a => a.block === viewer.block.index) : [];
    const end = (access === last && !watched.whole ? " Nobody has looked further." : "") +
        (acted.length && !acted.some(a => a.thread === watched.thread) ? ` Those of this finding: --thread ${acted[acted.length - 1].thread}.` : "");
    return box.replaceChildren(element("h4", {}, `Variables of thread ${watched.thread}: warp ${watched.warp}, lane ${watched.lane}`),
        element("p", { class: "bar faint" }, when + end, next ? element("button", { onclick: () => step("watched"), title: "v" }, "its next access") : ""),
        access ? element("div", { class: "scroll" }, element("table", {}, element("tbody", {}, ...variableRows(access)))) : "");
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

/** Shared arrays of this launch that events touch. */
function sharedRanges() {
    return viewer.launch.ranges.filter(r => r.space === SPACE.SHARED || r.space === SPACE.DYNAMIC);
}

/** Who wrote and read each element last, up to an event in time; copies in flight have not written. */
class SharedState {
    constructor(v, range) {
        this.v = v;
        this.range = range;
        this.size = cellBytes(range);
        this.cells = Math.ceil(range.bytes / this.size);
        this.touching = Array.from(v.order).filter(e => this.touches(e));
        this.reset();
    }
    touches(e) {
        const v = this.v, kind = v.kind[e];
        if (kind === EVENT.LANDED) return v.shape[e].space === this.range.space;
        if (kind === EVENT.MARK) return v.first[e] === MARK.WAIT;
        return kind === EVENT.LANES && this.parts(e).length > 0;
    }
    /** The address lists of an event that lie in this space, and whether it writes there. */
    parts(e) {
        const v = this.v, shape = v.shape[e], parts = [];
        if (v.isCopy(e)) {
            if ((shape.space & TO_DYNAMIC ? SPACE.DYNAMIC : SPACE.SHARED) === this.range.space) parts.push({ list: 1, writes: true, late: true });
        } else if ((shape.space & 7) === this.range.space) {
            parts.push({ list: 0, writes: (shape.access & (WRITE | ATOMIC)) !== 0, late: (shape.access & COPY) !== 0 });
        }
        return parts;
    }
    reset() {
        this.writer = new Int32Array(this.cells).fill(-1);
        this.reader = new Int32Array(this.cells).fill(-1);
        this.pending = new Map(); /* cell: event of the copy that is in flight to it */
        this.done = 0;
    }
    cellsOf(address, bytes) {
        const from = Math.floor((address - this.range.start) / this.size), to = Math.floor((address + bytes - 1 - this.range.start) / this.size);
        return from < 0 || to >= this.cells ? [] : Array.from({ length: to - from + 1 }, (_, i) => from + i);
    }
    apply(e) {
        const v = this.v;
        if (v.kind[e] === EVENT.LANDED) {
            for (const cell of this.cellsOf(v.first[e], v.shape[e].bytes)) this.writer[cell] = e;
        } else if (v.kind[e] === EVENT.MARK) {
            const flight = v.flights.filter(f => f.wait === e).flatMap(f => f.events);
            for (const [cell, from] of this.pending) if (flight.includes(from)) { this.writer[cell] = from; this.pending.delete(cell); }
        } else {
            for (const part of this.parts(e))
                for (const address of v.addresses(e, part.list))
                    for (const cell of this.cellsOf(address, v.shape[e].bytes)) {
                        if (part.late) this.pending.set(cell, e);
                        else if (part.writes) this.writer[cell] = e;
                        if (!part.writes || v.shape[e].access & ATOMIC) this.reader[cell] = e;
                    }
        }
    }
    at(e) {
        const until = this.v.place[e];
        if (this.done > 0 && this.v.place[this.touching[this.done - 1]] > until) this.reset();
        while (this.done < this.touching.length && this.v.place[this.touching[this.done]] <= until) this.apply(this.touching[this.done++]);
        return this;
    }
    /** Of the lanes of an event the one that touched a cell. */
    laneAt(e, cell) {
        const v = this.v;
        if (v.kind[e] !== EVENT.LANES) return null;
        for (const part of this.parts(e)) {
            const i = v.addresses(e, part.list).findIndex(a => this.cellsOf(a, v.shape[e].bytes).includes(cell));
            if (i >= 0) return v.shape[e].lanes[i];
        }
        return null;
    }
}

/** A matrix as it is declared; other memory as words, in rows of whole lines of banks. */
function columnsOf(range, cells) {
    const last = range.extents.length > 1 ? range.extents[range.extents.length - 1] : 0;
    if (last >= 4 && last <= 264) return last;
    const line = 128 / cellBytes(range);
    return line * Math.ceil(cells / line / 96);
}

function cellBytes(range) {
    return range.extents.length > 1 && range.element || ([2, 4, 8].includes(range.element) ? range.element : 4);
}

function drawShared() {
    const v = viewer.events, ranges = sharedRanges(), section = byId("shared");
    section.hidden = ranges.length === 0;
    if (!ranges.length) return;
    const here = v.isAccess(viewer.event) ? ranges.find(r => new SharedReach(v, r).has(viewer.event)) : null;
    if (here) viewer.range = here;
    const range = ranges.includes(viewer.range) ? viewer.range : ranges[0];
    byId("array").replaceChildren(...ranges.map(r => element("option", { value: r.name, selected: r === range },
        r.name + r.extents.map(n => `[${n}]`).join(""))));
    const states = v.states || (v.states = new Map());
    if (!states.has(range)) states.set(range, new SharedState(v, range));
    const state = states.get(range).at(viewer.event), columns = columnsOf(range, state.cells), rows = Math.ceil(state.cells / columns);
    const width = section.clientWidth - 2, cell = Math.max(2, Math.min(14, Math.floor(width / columns), Math.floor(1600 / rows)));
    const c = canvasOf("cells", columns * cell + 1, rows * cell + 1), gap = cell > 4 ? 1 : 0;
    const fills = Array.from({ length: COLOURS }, (_, i) => theme("--c" + i)), empty = theme("--panel"), flying = theme("--fig-y");
    const colour = i => viewer.cellColour === "bank" ? fills[Math.floor(i * state.size / 4) % 32 % COLOURS] :
        viewer.cellColour === "reader" ? (state.reader[i] < 0 ? empty : fills[warpOf(v, state.reader[i]) % COLOURS]) :
            state.writer[i] < 0 ? empty : fills[warpOf(v, state.writer[i]) % COLOURS];
    for (let i = 0; i < state.cells; i++) {
        const x = i % columns * cell, y = Math.floor(i / columns) * cell;
        c.fillStyle = colour(i);
        c.fillRect(x, y, cell - gap, cell - gap);
        if (!state.pending.has(i)) continue;
        c.fillStyle = flying;
        c.fillRect(x, y, cell - gap, Math.max(1, (cell - gap) / 2));
    }
    c.strokeStyle = theme("--ink");
    c.lineWidth = cell > 6 ? 1.5 : 1;
    if (v.kind[viewer.event] === EVENT.LANES)
        for (const part of state.parts(viewer.event))
            for (const address of v.addresses(viewer.event, part.list))
                for (const i of state.cellsOf(address, v.shape[viewer.event].bytes))
                    c.strokeRect(i % columns * cell + 0.5, Math.floor(i / columns) * cell + 0.5, cell - 1, cell - 1);
    const written = state.writer.reduce((sum, e) => sum + (e >= 0), 0);
    byId("filled").textContent = `${written.toLocaleString("en")} of ${plural(state.cells, "element")} written at this step` +
        (state.pending.size ? `, ${state.pending.size.toLocaleString("en")} in flight` : "") + ". Outlined: what this event touches.";
    viewer.grid = { state, columns, cell, range };
}

/** Whether an event touches a range, without its whole state. */
class SharedReach {
    constructor(v, range) { this.v = v; this.range = range; }
    has(e) {
        return SharedState.prototype.parts.call(this, e).some(part => {
            const first = this.v.addresses(e, part.list)[0];
            return first >= this.range.start && first < this.range.start + this.range.bytes;
        });
    }
}

function warpOf(v, e) {
    return v.warp[e] === NO_WARP ? 0 : v.warp[e];
}

function tellCell(pointer) {
    const grid = viewer.grid, v = viewer.events, box = byId("cells").getBoundingClientRect();
    if (!grid) return;
    const i = Math.floor((pointer.clientY - box.top) / grid.cell) * grid.columns + Math.floor((pointer.clientX - box.left) / grid.cell);
    if (i < 0 || i >= grid.state.cells) return;
    const who = e => {
        const lane = grid.state.laneAt(e, i);
        return `warp ${warpOf(v, e)}${lane === null ? "" : ` lane ${lane}`}, ${v.site[e] >= 0 ? lineText(v.site[e]) : "a bulk copy"}, step ${v.time[e]}`;
    };
    const address = grid.range.start + i * grid.state.size, pending = grid.state.pending.get(i);
    byId("cell").textContent = `${nameOf(grid.range.space, address, grid.state.size)}, bank ${Math.floor(i * grid.state.size / 4) % 32}: ` +
        (pending !== undefined ? `a copy by ${who(pending)} is in flight; ` : "") +
        (grid.state.writer[i] < 0 ? "not written yet" : `written by ${who(grid.state.writer[i])}`) +
        (grid.state.reader[i] < 0 ? "; not read yet" : `; read by ${who(grid.state.reader[i])}`);
}

/* ---- findings ----------------------------------------------------------------------------------------------------- */

/** The events of a finding's two accesses, as far as this block has them: the second, and the last of the first before it. */
function eventsOfFinding(f) {
    if (f.found && f.found.block === viewer.block) return f.found.events;
    const v = viewer.events, touches = (e, a) => {
        const warp = Math.floor(a.thread / 32), lane = a.thread % 32;
        if (a.block !== viewer.block.index || v.warp[e] !== warp || v.site[e] !== a.site) return false;
        if (v.kind[e] !== EVENT.LANES) return (v.shape[e] >>> lane & 1) === 1;
        const i = v.shape[e].lanes.indexOf(lane);
        if (i < 0) return false;
        return v.shape[e].lists.some((_, list) => {
            const address = v.addresses(e, list)[i];
            return address < f.address + f.bytes && address + v.shape[e].bytes > f.address;
        });
    };
    const events = f.actors.map(() => -1), last = f.actors.length - 1;
    if (f.kind === LAST_WRITE) for (let e = v.count - 1; e >= 0 && events[last] < 0; e--) events[last] = touches(e, f.actors[last]) ? e : -1;
    else for (let e = 0; last >= 0 && e < v.count && events[last] < 0; e++)
        if (touches(e, f.actors[last]) && (last === 0 || events[0] >= 0)) events[last] = e;
        else if (last > 0 && touches(e, f.actors[0])) events[0] = e;
    f.found = { block: viewer.block, events };
    return events;
}

function showFinding(index) {
    const f = viewer.launch.findings[index];
    if (!f) return;
    viewer.findingIndex = index;
    const block = viewer.launch.blocks.findIndex(b => f.actors.some(a => a.block === b.index));
    if (block >= 0 && !f.actors.some(a => a.block === viewer.block.index)) viewer.blockIndex = block;
    const there = eventsOfFinding(f).filter(e => e >= 0);
    viewer.event = there.length ? there[there.length - 1] : Math.min(viewer.event, viewer.events.count - 1);
    viewer.line = null;
    draw();
}

function drawFinding() {
    const box = byId("findings"), all = viewer.launch.findings;
    box.hidden = all.length === 0;
    if (!all.length) return;
    const index = Math.min(viewer.findingIndex || 0, all.length - 1), f = all[index], events = eventsOfFinding(f);
    const tabs = all.length > 1 ? element("span", { class: "buttons" }, ...all.slice(0, 12).map((other, i) =>
        element("button", { class: i === index ? "on" : "", onclick: () => showFinding(i) }, `${i + 1} ${other.kind}`))) : "";
    const cards = f.actors.map((a, i) => element("div", { class: "card" },
        element("b", {}, (f.actors.length > 1 ? ["one access: ", "the other: "][i] : "here: ") + (a.access & ATOMIC ? "atomic" : a.access & WRITE ? "write" : "read")),
        element("span", {}, `block ${indexIn(viewer.launch.grid, a.block)} thread ${a.thread} (warp ${Math.floor(a.thread / 32)} lane ${a.thread % 32}), ${lineText(a.site)}`),
        events[i] >= 0 ? element("button", { onclick: () => { viewer.event = events[i]; viewer.line = null; draw(); } }, `step ${viewer.events.time[events[i]]}`)
            : element("span", { class: "faint" }, a.block !== viewer.block.index ? "not in this block" : f.kind === LAST_WRITE ? "left out" : "the access itself ended the block")));
    const told = f.kind === LAST_WRITE ? `This is the last write of ${f.text.replace(":", "[")}].` : f.text;
    box.replaceChildren(element("h2", {}, f.kind === LAST_WRITE ? "Last write " : "Finding ", tabs), element("p", { class: "told" }, told),
        element("div", { class: "cards" }, ...cards));
}

/** In the time line the two accesses, and that nothing orders them. */
function drawFindingArc(c, v, x, y) {
    const f = viewer.launch.findings[Math.min(viewer.findingIndex || 0, viewer.launch.findings.length - 1)];
    if (!f) return;
    const events = eventsOfFinding(f).filter(e => e >= 0 && v.warp[e] !== NO_WARP);
    const points = events.map(e => [x(v.time[e] + 0.5), y(v.warp[e]) + TIME.bar / 2]);
    const line = () => { c.beginPath(); c.moveTo(...points[0]); c.lineTo(...points[1]); c.stroke(); };
    const ring = ([px, py]) => { c.beginPath(); c.arc(px, py, 5, 0, 2 * Math.PI); c.fill(); c.stroke(); };
    for (const [colour, width] of [["--paper", 6], ["--fig-w", 2]]) { /* with a rim, to be seen on any bar */
        c.strokeStyle = theme(colour);
        c.fillStyle = theme("--paper");
        c.lineWidth = width;
        c.setLineDash(width > 2 ? [] : [4, 3]);
        if (points.length > 1) line();
        c.setLineDash([]);
        points.forEach(ring);
    }
}

/* ---- comparing ---------------------------------------------------------------------------------------------------- */

/** Pairs of lines of two sources: the longest common subsequence of their texts. */
function alignLines(a, b) {
    const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
    for (let i = a.length - 1; i >= 0; i--)
        for (let k = b.length - 1; k >= 0; k--)
            best[i][k] = a[i].trim() === b[k].trim() ? best[i + 1][k + 1] + 1 : Math.max(best[i + 1][k], best[i][k + 1]);
    const pairs = [];
    for (let i = 0, k = 0; i < a.length || k < b.length;) {
        if (i < a.length && k < b.length && a[i].trim() === b[k].trim()) pairs.push([i++, k++]);
        else if (k >= b.length || (i < a.length && best[i + 1][k] >= best[i][k + 1])) pairs.push([i++, -1]);
        else pairs.push([-1, k++]);
    }
    return mergeChanged(pairs);
}

/* A line that was changed is one line, not one that went and one that came. */
function mergeChanged(pairs) {
    const merged = [];
    for (let at = 0; at < pairs.length;) {
        const gone = [], come = [];
        while (at < pairs.length && pairs[at][0] >= 0 && pairs[at][1] >= 0) merged.push(pairs[at++]);
        while (at < pairs.length && (pairs[at][0] < 0 || pairs[at][1] < 0)) {
            if (pairs[at][0] >= 0) gone.push(pairs[at][0]); else come.push(pairs[at][1]);
            at++;
        }
        for (let i = 0; i < Math.max(gone.length, come.length); i++)
            merged.push([i < gone.length ? gone[i] : -1, i < come.length ? come[i] : -1]);
    }
    return merged;
}

/** One side of a comparison: the block's events, what its lines cost, the lines of its main file. */
function sideOf(which) {
    const before = viewer.shown;
    viewer.shown = which;
    const launch = viewer.traces[which].launches[Math.min(viewer.launchIndex, viewer.traces[which].launches.length - 1)];
    const block = launch.blocks.find(b => b.index === viewer.traces[before].launches[viewer.launchIndex].blocks[viewer.blockIndex].index) || launch.blocks[0];
    const v = block && eventsOf(block), heat = block && heatOf(v), file = block && filesOf(v)[0], source = block && sourceOf(file);
    viewer.shown = before;
    return block ? { v, heat, file, lines: source ? source.text.split("\n") : [], launch, block } : null;
}

function difference(before, after) {
    const change = after - before;
    return element("td", { class: change < 0 ? "less" : change > 0 ? "more" : "same" },
        change === 0 ? "=" : (change > 0 ? "+" : "−") + Math.abs(change).toLocaleString("en"));
}

function comparedRow(text, valuesA, valuesB, more) {
    const cells = METRICS.flatMap((_, i) => valuesA[i] || valuesB[i] ? [element("td", {}, valuesA[i].toLocaleString("en")),
        element("td", {}, valuesB[i].toLocaleString("en")), difference(valuesA[i], valuesB[i])] : [element("td", { colSpan: 3, class: "none" })]);
    return element("tr", more, element("th", {}, ...text), ...cells);
}

function drawCompare() {
    const box = byId("compare");
    box.hidden = viewer.traces.length < 2;
    if (box.hidden) return;
    const key = [viewer.launchIndex, viewer.blockIndex, viewer.shown].join();
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    const a = sideOf(0), b = sideOf(1), rows = [];
    if (!a || !b) return;
    const value = (side, line) => METRICS.map((_, i) => line < 0 ? 0 : side.heat[i].get(side.file + ":" + (line + 1)) || 0);
    const sum = side => METRICS.map((_, i) => [...side.heat[i].values()].reduce((s, n) => s + n, 0));
    rows.push(comparedRow(["this block"], sum(a), sum(b), { class: "sum" }));
    for (const [i, k] of alignLines(a.lines, b.lines)) {
        const before = value(a, i), after = value(b, k);
        if (![...before, ...after].some(n => n)) continue;
        const changed = i >= 0 && k >= 0 && a.lines[i].trim() !== b.lines[k].trim();
        const text = [element("span", { class: "number" }, `${i >= 0 ? i + 1 : "–"} → ${k >= 0 ? k + 1 : "–"}`),
                      element("code", {}, ...coloured((k >= 0 ? b.lines[k] : a.lines[i]).trim())), changed ? element("i", {}, "changed") : ""];
        rows.push(comparedRow(text, before, after, { onclick: () => {
            viewer.shown = k >= 0 ? 1 : 0;
            enter(viewer.launchIndex, viewer.blockIndex);
            chooseLine((k >= 0 ? b : a).file, (k >= 0 ? k : i) + 1);
        } }));
    }
    const names = viewer.about.map(t => t.name);
    box.replaceChildren(element("h2", {}, "Compared: ", element("span", { class: "faint" }, `${names[0]} → ${names[1]}, block ${indexIn(a.launch.grid, a.block.index)}`)),
        element("div", { class: "scroll" }, element("table", {},
            element("thead", {}, element("tr", {}, element("th", {}, "line"), ...METRICS.map(m => element("th", { colSpan: 3, title: m.help }, m.name)))),
            element("tbody", {}, ...rows))));
}

/** Adds the trace of another page of this kind, to compare this one with. */
function openOther(file) {
    file.text().then(text => {
        const page = new DOMParser().parseFromString(text, "text/html"), data = page.querySelector("script.trace");
        const about = page.getElementById("about");
        if (!data || !about) throw new Error(`${file.name} is no page of a trace`);
        const other = JSON.parse(about.textContent);
        viewer.traces = [viewer.traces[0], readTrace(bytesOfBase64(data.textContent))];
        viewer.sources = [viewer.sources[0], other.traces[0].sources];
        viewer.about = [viewer.about[0], { ...other.traces[0], name: file.name }];
        viewer.shown = 0;
        buildHead();
        draw();
        byId("compare").scrollIntoView();
    }).catch(error => { byId("sentence").textContent = String(error.message || error); });
}

/* ---- the page ----------------------------------------------------------------------------------------------------- */

function byId(id) {
    return document.getElementById(id);
}

const HELP = [
    ["→ ←", "next event of this warp, and the one before"], ["↑ ↓", "the warp above or below, at the same step"],
    ["b, Shift b", "next barrier, and the one before"], ["n, Shift n", "next event of this line in any warp, and the one before"],
    ["c", "next bank conflict"], ["w", "next access that wastes bytes"], ["f", "next finding"], ["v", "next access of the thread whose variables are shown"], ["Home, End", "first and last event"],
    ["+ −", "zoom the time line"], ["?", "this help"],
];

const NOTES = [
    "The device knows the order of events and no time. A step is one event of a warp; a warp's event comes after all that it waited for. So lengths in the time line say nothing of a GPU's cycles.",
    "Sectors, wavefronts and conflicts are those of SIMT_COUNTERS, exactly: every number here is the sum of its events.",
    "A sector is 32 bytes, the least that global memory moves. A bank of shared memory gives one word of 4 bytes per wavefront; the same word may go to many lanes. Banks are counted from the beginning of the array.",
    "Bars below a warp: asynchronous copies and products in flight, from their start to the wait.",
    "Variables are those of one thread, as gdb sees them in a second run, of the kernel built for a debugger: the same accesses in the same order. It shows arrays up to 8 elements.",
    "Not shown: what matrix multiplies of a warpgroup read in shared memory; what constant memory gives.",
];

function helpDialog() {
    return element("dialog", { id: "help" }, element("h2", {}, "Keys"),
        element("dl", {}, ...HELP.flatMap(([key, what]) => [element("dt", {}, key), element("dd", {}, what)])),
        element("h2", {}, "What is shown"), ...NOTES.map(n => element("p", {}, n)),
        element("form", { method: "dialog" }, element("button", {}, "close")));
}

const BUTTONS = [["first", "|◀", "first event"], ["barrierBack", "◀◀", "the barrier before"], ["back", "◀", "back"], ["next", "▶", "next event of this warp"],
                 ["barrier", "▶▶", "next barrier"], ["last", "▶|", "last event"], ["up", "▲", "warp above"], ["down", "▼", "warp below"]];

function buildPage(title) {
    document.body.prepend(
        element("header", {}, element("div", { id: "head" }), element("div", { id: "where" }, element("nav", { id: "steps", "aria-label": "stepping" },
            ...BUTTONS.map(([how, sign, what]) => element("button", { onclick: () => step(how), title: what, "aria-label": what }, sign)),
            element("button", { onclick: () => byId("help").showModal(), title: "help", "aria-label": "help" }, "?")),
            element("p", { id: "sentence", role: "status" }))),
        element("main", {},
            element("section", { id: "findings" }),
            element("section", { id: "source" }, element("h2", {}, "Source"),
                element("p", { class: "bar" }, element("select", { id: "file", onchange: change => { viewer.line = { file: change.target.value, line: 0 }; draw(); } }),
                    element("span", { id: "metric", class: "buttons" })),
                element("div", { id: "lines", tabIndex: 0, "aria-label": "source" }), element("div", { id: "variables" })),
            element("div", { id: "right" }, element("section", { id: "timeline" }, element("h2", {}, "Time "),
                element("p", { class: "bar" }, element("span", { class: "buttons" },
                    element("button", { onclick: () => zoomBy(0.5), title: "zoom in" }, "+"), element("button", { onclick: () => zoomBy(2), title: "zoom out" }, "−"),
                    element("button", { onclick: () => { viewer.zoom = { from: 0, span: viewer.events.length }; drawTime(); } }, "all")),
                    element("span", { id: "span", class: "faint" })),
                element("div", {}, element("canvas", { id: "time", role: "img", "aria-label": "events of each warp in order" })),
                element("p", { class: "legend" }, ...KINDS.map(k => element("span", {}, element("i", { style: `background: var(--fig-${k.colour})` }), k.name)),
                    element("span", {}, element("i", { class: "hatched" }), "waits"), element("span", {}, element("i", { class: "redline" }), "conflict or waste"))),
            element("section", { id: "details" }, element("h2", {}, "This event"), element("div", { id: "event" })),
            element("section", { id: "shared" }, element("h2", {}, "Shared memory"),
                element("p", { class: "bar" }, element("select", { id: "array", onchange: change => { viewer.range = sharedRanges()[change.target.selectedIndex]; drawShared(); } }),
                    element("span", { id: "cellcolour", class: "buttons" }, ...[["warp", "who wrote last"], ["reader", "who read last"], ["bank", "bank"]].map(([key, text]) =>
                        element("button", { onclick: () => { viewer.cellColour = key; draw(); }, value: key }, text)))),
                element("div", { class: "scroll" }, element("canvas", { id: "cells", onmousemove: tellCell, onclick: tellCell, role: "img", "aria-label": "elements of the array" })),
                element("p", { id: "filled", class: "faint" }), element("p", { id: "cell" }, "Point at an element to see who wrote and read it last."))),
            element("section", { id: "compare" })),
        helpDialog());
    document.title = title;
    byId("time").onclick = pointer => {
        const e = eventAtTime(pointer);
        if (e !== null) { viewer.event = e; viewer.line = null; draw(); }
    };
}

/* Which trace, launch and block are shown, and what the whole launch costs. */
function buildHead() {
    const launch = viewer.launch, total = trace => trace.launches.length;
    const choice = (label, options, index, choose) => options.length < 2 ? element("span", { class: "only" }, label ? label + " " : "", element("b", {}, options[0] || "none"))
        : element("label", {}, label + " ", element("select", { onchange: change => choose(change.target.selectedIndex) },
            ...options.map((o, i) => element("option", { selected: i === index }, o))));
    const blocks = launch.blocks.map(b => indexIn(launch.grid, b.index) + (" · " + (launch.findings.find(f => f.actors.some(a => a.block === b.index)) || { kind: "" }).kind).replace(/ · $/, ""));
    const all = launch.grid[0] * launch.grid[1] * launch.grid[2], counters = launch.counters;
    const left = viewer.block ? viewer.block.leftOut : 0, about = viewer.about[viewer.shown];
    const parts = [`${plural(counters[0] + counters[2], "global request")}, ${plural(counters[1] + counters[3], "sector")}`];
    if (counters[4] + counters[5]) parts.push(`${plural(counters[4] + counters[5], "shared wavefront")}, ${plural(counters[6], "conflict")}`);
    if (counters[7]) parts.push(plural(counters[7], "atomic"));
    if (counters[8]) parts.push(plural(counters[8], "barrier"));
    byId("head").replaceChildren(
        element("h1", {}, viewer.title),
        element("div", { class: "choices" },
            viewer.traces.length > 1 ? choice("trace", viewer.about.map(t => t.name), viewer.shown, i => { viewer.shown = i; enter(Math.min(viewer.launchIndex, total(viewer.trace) - 1), 0); })
                : element("label", { class: "other", title: "another page that warpwise trace wrote, before a change or after it" }, "compare with …",
                    element("input", { type: "file", accept: ".html", onchange: change => openOther(change.target.files[0]) })),
            choice("kernel", viewer.trace.launches.map(l => l.kernel), viewer.launchIndex, i => enter(i)),
            choice("block", blocks, viewer.blockIndex, i => enter(viewer.launchIndex, i)),
            element("span", { class: "faint" }, `${blocks.length} of ${plural(all, "block")} of ${dimensions(launch.block)} threads` +
                (about.blocksLeftOut ? `, ${about.blocksLeftOut} did not fit` : "") + (left ? `, the last ${left.toLocaleString("en")} events of this block left out` : ""))),
        element("p", { class: "faint" }, `The whole launch: ${parts.join("; ")}.`));
}

/** The finding to begin with, of those in which a block acts for which @p test holds; the last write that was asked for comes first. */
function firstFinding(launch, test) {
    const acts = f => f.actors.some(a => launch.blocks.some(b => b.index === a.block && test(b))), all = launch.findings;
    const written = all.findIndex(f => f.kind === LAST_WRITE && acts(f));
    return written >= 0 ? written : all.findIndex(acts);
}

/** Shows a block of a launch; without an index, the one of its first finding. */
function enter(launchIndex, blockIndex) {
    viewer.launchIndex = launchIndex;
    const first = viewer.launch.findings[firstFinding(viewer.launch, () => true)];
    viewer.blockIndex = blockIndex !== undefined ? blockIndex : first ? viewer.launch.blocks.findIndex(b => first.actors.some(a => a.block === b.index)) : 0;
    viewer.zoom = viewer.line = viewer.range = null;
    viewer.findingIndex = 0;
    viewer.warp = 0;
    buildHead();
    if (!viewer.block) {
        byId("sentence").textContent = "No block of this launch is in the trace.";
        document.querySelector("main").hidden = true;
        return;
    }
    document.querySelector("main").hidden = false;
    begin();
    const here = firstFinding(viewer.launch, b => b === viewer.block);
    if (here >= 0) showFinding(here);
    else draw();
}

/** Where to begin: the worst bank conflict, or the most wasteful access, and the metric that shows it; or the first event. */
function begin() {
    const v = viewer.events, worst = (value, least) => v.order.reduce((best, e) => value(e) > Math.max(least, best < 0 ? 0 : value(best)) ? e : best, -1);
    const metric = name => METRICS.findIndex(m => m.name === name);
    const conflict = worst(e => v.cost[e][COUNTER.CONFLICTS], 0), waste = conflict < 0 ? worst(e => v.wasted(e), 31) : -1;
    const first = v.ofWarp.find(events => events.length);
    viewer.metric = metric(conflict >= 0 ? "conflicts" : waste >= 0 ? "wasted bytes" : "requests");
    viewer.event = conflict >= 0 ? conflict : waste >= 0 ? waste : first ? first[0] : 0;
}

function draw() {
    if (!viewer.block || !viewer.events.count) return;
    buildHead();
    drawFinding();
    drawSource();
    drawTime();
    drawEvent();
    drawVariables();
    for (const button of byId("cellcolour").children) button.classList.toggle("on", button.value === viewer.cellColour);
    drawShared();
    drawCompare();
}

function onKey(key) {
    if (key.ctrlKey || key.metaKey || key.altKey || /^(SELECT|INPUT|TEXTAREA)$/.test(key.target.tagName) || byId("help").open) return;
    if (key.key === "?") byId("help").showModal();
    else if (key.key === "+" || key.key === "=") zoomBy(0.5);
    else if (key.key === "-") zoomBy(2);
    else if (KEYS[key.key]) step(KEYS[key.key]);
    else return;
    key.preventDefault();
}

function start() {
    const about = JSON.parse(byId("about").textContent), data = [...document.querySelectorAll("script.trace")];
    viewer.title = about.title;
    viewer.about = about.traces;
    buildPage(about.title);
    try {
        viewer.traces = data.map(d => readTrace(bytesOfBase64(d.textContent)));
        viewer.sources = about.traces.map(t => t.sources);
        const launches = viewer.trace.launches, written = launches.map(l => l.findings.some(f => f.kind === LAST_WRITE)).lastIndexOf(true);
        const found = written >= 0 ? written : launches.findIndex(l => l.findings.length);
        if (!launches.length) throw new Error("no launch is in the trace");
        enter(found >= 0 ? found : Math.max(0, launches.findIndex(l => l.blocks.length)));
    } catch (error) {
        byId("sentence").textContent = String(error.message || error);
        throw error;
    }
    document.addEventListener("keydown", onKey);
    window.addEventListener("resize", () => draw());
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
}

start();
