/*
 * Drives the viewer of a page as a reader does, and says in #driven what came of it. What the page computes from addresses,
 * sectors and wavefronts, must be what the device counted for the event.
 */
"use strict";
(() => {
    const wrong = [], found = { events: 0, sectors: 0, wavefronts: 0, flights: 0, findings: 0, watched: 0, indices: 0, named: 0, acting: 0, written: 0 };
    const expect = (holds, what) => { if (!holds && wrong.length < 20) wrong.push(what); };
    const press = key => document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    window.addEventListener("error", event => wrong.push(event.message));

    function checkCosts(v) {
        for (let e = 0; e < v.count; e++) {
            if (!v.isAccess(e) || v.shape[e].access & (ATOMIC | COPY | UNUSED)) continue;
            const shape = v.shape[e], cost = v.cost[e], where = `event ${e} of line ${(placeOf(v.site[e]) || {}).line}`;
            if (v.isGlobal(e)) {
                const sectors = sectorsOf(v.addresses(e), shape.bytes).length;
                expect(sectors === cost[COUNTER.LOAD_SECTORS] + cost[COUNTER.STORE_SECTORS], `sectors of ${where}: ${sectors}`);
                found.sectors += sectors;
            } else {
                const count = wavefrontsOf(shape.lanes, v.addresses(e), shape.bytes, !(shape.access & WRITE)).wavefronts.length;
                expect(count === cost[COUNTER.SHARED_LOADS] + cost[COUNTER.SHARED_STORES], `wavefronts of ${where}: ${count}`);
                found.wavefronts += count;
            }
        }
    }

    function checkBlock(v, block) {
        const counted = [block, ...(block.more || [])].reduce((sum, b) => sum.map((n, i) => n + b.counters[i]), new Array(COUNTED).fill(0));
        expect(block.leftOut || String(counted) === String(v.totals), `totals of block ${block.index}: ${v.totals}, counted ${counted}`);
        for (let e = 1; e < v.count; e++) if (v.warp[e] === v.warp[e - 1] && v.warp[e] !== NO_WARP) expect(v.time[e] > v.time[e - 1], `times of event ${e}`);
        for (const flight of v.flights) expect(flight.to > flight.from, "something arrives before it began");
        for (let e = 0; e < v.count; e++) { /* never in the device itself, whose sources no page has */
            const at = v.site[e] >= 0 ? placeOf(v.site[e]) : null;
            expect(v.site[e] < 0 || at && sourceOf(at.file), `event ${e} of kind ${v.kind[e]} is at ${at ? at.file + ":" + at.line : "no line"}`);
        }
        found.events += v.count;
        found.flights += v.flights.length;
        checkCosts(v);
    }

    /* Of the thread that gdb watched: each access has its variables. Lesson 02 stores tile[r + i][c]: those are the indices of its address. */
    function checkVariables(v) {
        const watched = watchedOf(v), about = viewer.about[viewer.shown];
        if (!watched) return;
        expect(watched.whole, `variables of block ${viewer.block.index} end after ${watched.accesses.length} accesses`);
        for (const access of watched.accesses) {
            const e = access.event, held = new Map([...access.held].map(([n, text]) => [about.variables.variables[n].slice(1, 3).join("."), Number(text)]));
            for (const text of access.held.values()) { /* a pointer into shared memory is shown by what lies there */
                if (!text.startsWith("shared+")) continue;
                expect(/^(&[a-z_]+(\[\d+\])+|shared [+] 0x[0-9a-f]+)$/.test(valueText(text)), `${text} is shown as ${valueText(text)}`);
                found.named += valueText(text).startsWith("&");
            }
            const [r, i, c] = ["r", "i", "c"].map(name => held.get("load_tile." + name));
            found.watched++;
            if (!v.isShared(e) || !(v.shape[e].access & WRITE) || r === undefined) continue;
            const address = v.addresses(e)[v.shape[e].lanes.indexOf(watched.lane)], range = rangeOf(v.shape[e].space & 7, address);
            expect(String(indicesOf(range, address, v.shape[e].bytes)) === String([r + i, c]), `event ${e} is of ${r + i}, ${c}`);
            found.indices++;
        }
        viewer.event = watched.accesses[0].event;
        press("v");
        expect(watched.accesses.length < 2 || viewer.event === watched.accesses[1].event, "v goes to the next access");
        expect(byId("variables").textContent.includes(`thread ${watched.thread}`), "the thread is named");
    }

    function walk() {
        const v = viewer.events, steps = new Set();
        press("Home");
        expect(viewer.event === v.order[0], "Home goes to the first event");
        for (let i = 0; i < 20; i++) { steps.add(viewer.event); press("ArrowRight"); }
        const there = viewer.event;
        press("ArrowRight");
        press("ArrowLeft");
        expect(viewer.event === there || v.place[viewer.event] <= v.place[there], "a step back undoes a step");
        for (const key of ["ArrowDown", "ArrowUp", "b", "n", "N", "c", "w", "B", "+", "-"]) press(key);
        press("End");
        expect(viewer.event === v.order[v.count - 1], "End goes to the last event");
        expect(steps.size > Math.min(5, v.ofWarp[0].length - 1), "steps go on");
        for (const range of sharedRanges()) {
            const whole = new SharedState(v, range), again = new SharedState(v, range);
            whole.at(v.order[v.count - 1]);
            for (const e of [v.order[Math.floor(v.count / 2)], v.order[0], v.order[v.count - 1]]) again.at(e);
            expect(String(whole.writer) === String(again.writer), `going back changes ${range.name}`);
        }
    }

    /* The first finding is between warps, where there is such a one, and its thread is the one whose variables are there. */
    function checkFirstFinding() {
        const warps = f => new Set(f.actors.map(a => `${a.block}:${Math.floor(a.thread / 32)}`)).size, all = viewer.launch.findings;
        if (!all.length) return;
        showFinding(0);
        expect(warps(all[0]) > 1 || all.every(f => warps(f) < 2), "a finding between warps comes first");
        const watched = watchedOf(viewer.events), here = all[0].actors.filter(a => a.block === viewer.block.index);
        if (!watched || !here.length) return;
        expect(watched.thread === here[here.length - 1].thread, `variables are of thread ${watched.thread}`);
        found.acting++;
    }

    function checkFindings() {
        checkFirstFinding();
        viewer.launch.findings.forEach((f, i) => {
            showFinding(i);
            found.findings++;
            expect(byId("findings").textContent.includes(f.kind), `finding ${i} is told`);
            if (f.actors.length === 2 && f.actors.every(a => a.block === viewer.block.index))
                expect(eventsOfFinding(f).every(e => e >= 0), `both accesses of ${f.kind} are found`);
        });
    }

    /* A page of an element begins where its last value is written, and shows the variables of the thread that does that. */
    function checkLastWrite() {
        const f = viewer.launch.findings[viewer.findingIndex];
        if (!f || f.kind !== LAST_WRITE) return;
        const v = viewer.events, [name, index] = f.text.split(":"), watched = watchedOf(v);
        const writes = e => v.isAccess(e) && v.shape[e].access & WRITE && v.addresses(e).some(at => at < f.address + f.bytes && at + v.shape[e].bytes > f.address);
        expect(nameOf(SPACE.GLOBAL, f.address, f.bytes) === `${name}[${index}]`, `${f.text} is not where it is said to be`);
        const bulk = v.kind[viewer.event] === EVENT.MARK && v.first[viewer.event] === MARK.BULK;
        expect(writes(viewer.event) || bulk, `event ${viewer.event} does not write ${f.text}`);
        for (let e = viewer.event + 1; e < v.count; e++) expect(!writes(e), `event ${e} writes ${f.text} later`);
        expect(watched && watched.thread === f.actors[0].thread && accessAt(v, viewer.event).event === viewer.event, "variables are not of its writer");
        found.written++;
    }

    function drive() {
        let walks = 0;
        checkLastWrite();
        viewer.traces.forEach((trace, which) => {
            viewer.shown = which;
            trace.launches.forEach((launch, l) => launch.blocks.forEach((block, b) => {
                enter(l, b);
                checkBlock(viewer.events, block);
                if (viewer.events.count && walks++ < 3) walk();
                checkVariables(viewer.events);
                checkFindings();
            }));
        });
        if (viewer.traces.length > 1) expect(document.querySelectorAll("#compare tbody tr").length > 1, "traces are compared");
        byId("help").showModal();
        expect(byId("help").open, "there is help");
        byId("help").close();
        expect(document.scrollingElement.scrollWidth <= window.innerWidth, `the page is ${document.scrollingElement.scrollWidth} wide of ${window.innerWidth}`);
    }

    try { drive(); } catch (error) { wrong.push(String(error.stack || error)); }
    const result = document.createElement("p");
    result.id = "driven";
    result.textContent = (wrong.length ? "WRONG: " + wrong.join("; ") : "RIGHT: ") + JSON.stringify(found);
    document.body.append(result);
})();
