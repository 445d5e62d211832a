"""Whether the steps of lesson 18's page lead where its table says.

usage: steps.py BUILD

From the skeleton on, with the regions of each step taken from the solution, the tests of the words behind -k pass: none fails, at
least one passes, and what is skipped waits for a region of a later step (or for what Python has not got here). After the last
step nothing waits.
"""

import pathlib
import re
import subprocess
import sys

import run
from judge import FAILED, PASSED, ROOT, SKELETON, SOLUTION, judge, prepare
from mutants import regions

PAGE = ROOT / "lessons" / "18_python_interface" / "README.md"
TORCH = ("autograd", "operators")  # regions that only PyTorch can run


def steps():
    """[(regions, words)] of the table's rows."""
    rows = re.findall(r"^\| \d \| ([^|]*) \| ([^|]*) \|$", PAGE.read_text(), re.M)
    return [(re.findall(r"`(\w+)`", write), re.findall(r"`-k (\w+)`", see)) for write, see in rows]


def with_regions(names):
    """The skeleton with these regions as the solution has them."""
    written = regions(SOLUTION.read_text())
    return re.sub(r"(^ *# \[student: (\w+)\]\n)(.*?)(^ *# \[/student\]$)",
                  lambda m: m.group(1) + (written[m.group(2)] if m.group(2) in names else m.group(3)) + m.group(4),
                  SKELETON.read_text(), flags=re.M | re.S)  # fmt: skip


def trouble(file, words, later):
    """What is not as the page says, or None."""
    status, outcomes, printed = judge(file, ["--report", "--tb=short", "-rN", *(["-k", words] if words else []), str(ROOT / "tests" / "python")], 300)
    failed = [name for name, outcome in outcomes.items() if outcome == FAILED]
    passed = [name for name, outcome in outcomes.items() if outcome == PASSED]
    waits = re.search(r"^Not started: (.*)\. What needs it", printed, re.M)
    early = [name for name in (waits.group(1).split(", ") if waits else []) if name not in later]
    if status == 0 and passed and not failed and not early:
        return None
    return f"{len(passed)} pass, {len(failed)} fail, not started: {', '.join(early) or 'nothing'}\n{printed}"


def main():
    build = pathlib.Path(sys.argv[1]).absolute()
    run.use_environment(build)
    if run.missing(run.NEEDED):
        print(f"python skipped: {sys.executable} has no {', '.join(run.missing(run.NEEDED))}")
        return 0
    subprocess.run(["cmake", "--build", str(build), "--target", *run.targets(False)], check=True, stdout=subprocess.DEVNULL)
    prepare(build, ["torch", "hypothesis", "triton"])
    folder = build / "python_steps"
    folder.mkdir(exist_ok=True)
    table, written, wrong = steps(), [], 0
    everything = [name for names, _ in table for name in names]
    if sorted(everything) != sorted(regions(SKELETON.read_text())):
        sys.exit(f"{PAGE}: the steps write {', '.join(everything)}, and the skeleton has {', '.join(regions(SKELETON.read_text()))}")
    for number, (names, words) in enumerate(table, 1):
        if run.missing(["torch"]) and any(name in TORCH for name in names):
            print(f"step {number}: skipped, needs torch")
            continue
        written += names
        later = [name for name in everything if name not in written]
        file = folder / f"step_{number}.py"
        file.write_text(with_regions(written))
        for word in [*words, *([] if later else [""])]:
            problem = trouble(file, word, later)
            wrong += problem is not None
            print(f"step {number}, {'-k ' + word if word else 'everything'}: {problem or 'as the page says'}", flush=True)
    print(f"{len(table)} steps, {wrong} not as the page says")
    return 1 if wrong or not table else 0


if __name__ == "__main__":
    sys.exit(main())
