#!/usr/bin/env python3
"""Counts what the software device finds in the labelled programs of others, built with simtcc: found, missed, false alarms, precision, recall.

    python3 tests/simt/peer_suites.py LIST [--seconds 60] [--jobs 2] [--table]

LIST has a line per run, `SUITE | PROGRAM | LABEL | COMMAND`. The label is the suite's own: `wrong` or `right`,
or, where it is about races and barriers only, `racy` or `race-free`; then other kinds of findings do not count. A program may have several
lines (inputs, sizes): it is found if one of its runs has a finding, and clean if all end without. A program that simtcc does not
build has one line, with no command. peer_labels.txt beside this script overrules labels that are wrong, with the reason of each.

A finding is a line `simt: KIND:` on stderr other than `leak`: no suite labels memory that is never freed. `unsupported` counts as not
built. A run that neither ends in time nor has a finding is counted as not ended, and then its program as neither missed nor clean.
Results are kept in LIST.results, a line per run, so that a run goes on where it was stopped.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys

LABELS = pathlib.Path(__file__).resolve().parent / "peer_labels.txt"
FINDING = re.compile(r"^simt: ([a-z-]+): .*", re.M)
COUNTED = {"divergent-barrier", "deadlock", "clean", "not ended", "not built", "crash"}  # for labels about races
VERDICTS = ["found", "missed", "false alarm", "clean", "not ended", "not built"]


def read_lines(path, fields):
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [tuple(part.strip() for part in line.split("|", fields - 1)) for line in lines]


def run(command, seconds):
    """What one run shows: a kind of finding, `clean`, `not ended`, `not built`, or `crash`; and the finding's first line."""
    if not command:
        return "not built", ""
    process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        text, ended = process.communicate(timeout=seconds)[1], True
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        text, ended = process.communicate()[1], False
    text = text.decode(errors="replace")
    findings = [m for m in FINDING.finditer(text) if m[1] not in ("leak", "note")]
    findings.sort(key=lambda m: not m[1].endswith("-race"))
    for found in findings:
        if found[1] != "unsupported":
            where = re.search(r" at (\S+:\d+)", text[found.start():])
            return found[1], found[0][6:] + (f" at {where[1]}" if where else "")
    if findings:
        return "not built", findings[0][0][6:]
    if not ended:
        return "not ended", ""
    return ("crash", f"signal {-process.returncode}") if process.returncode < 0 else ("clean", "")


def verdict(label, outcomes):
    if label in ("racy", "race-free"):
        outcomes = [kind if kind in COUNTED or kind.endswith("-race") else "clean" for kind in outcomes]
    label = {"racy": "wrong", "race-free": "right"}.get(label, label)
    for outcome in ("not built", "crash"):
        if outcome in outcomes:
            return "not built" if outcome == "not built" else "missed" if label == "wrong" else "false alarm"
    if set(outcomes) - {"clean", "not ended"}:
        return "found" if label == "wrong" else "false alarm"
    if "not ended" in outcomes:
        return "not ended"
    return "missed" if label == "wrong" else "clean"


def share(part, whole):
    return f"{part / whole:.3f}" if whole else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60, help="time that a run has")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="only count what was run before")
    options = parser.parse_args()

    runs = read_lines(options.list, 4)
    kept = pathlib.Path(f"{options.list}.results")
    results = {r[:3]: r[3:] for r in read_lines(kept, 5)} if kept.exists() else {}
    todo = [] if options.table else [r for r in runs if (r[0], r[1], r[3]) not in {(k[0], k[1], k[2]) for k in results}]
    with kept.open("a") as file, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for one, result in zip(todo, pool.map(lambda r: run(r[3], options.seconds), todo)):
            key = one[0], one[1], one[3].replace("|", "¦")
            results[one[0], one[1], one[3]] = result
            print(*key, *(part.replace("|", "¦") for part in result), sep=" | ", file=file, flush=True)

    labels = {(suite, program): (label, why) for suite, program, label, why in read_lines(LABELS, 4)}
    programs = {}
    for suite, program, label, command in runs:
        if (suite, program, command) in results:
            programs.setdefault((suite, program, label), []).append(results[suite, program, command])
    counts = {}
    for (suite, program, label), outcomes in programs.items():
        overruled = labels.get((suite, program))
        result = verdict(overruled[0] if overruled else label, [outcome for outcome, _ in outcomes])
        of_suite = counts.setdefault(suite, dict.fromkeys(VERDICTS + ["wrong labels"], 0))
        of_suite[result] += 1
        of_suite["wrong labels"] += overruled is not None
        if result in ("missed", "false alarm", "not ended"):
            print(f"{result}: {suite} {program}: {next((text for kind, text in outcomes if text), '')}", file=sys.stderr)
    print("| suite | programs | " + " | ".join(VERDICTS) + " | wrong labels | precision | recall |\n" + "|---" * 11 + "|")
    for suite, c in counts.items():
        print(f"| {suite} | {sum(c[v] for v in VERDICTS)} | " + " | ".join(str(c[v]) for v in VERDICTS) +
              f" | {c['wrong labels']} | {share(c['found'], c['found'] + c['false alarm'])} | {share(c['found'], c['found'] + c['missed'])} |")


if __name__ == "__main__":
    main()
