#!/usr/bin/env python3
"""Mutation testing by machine: how many small mistakes in the solutions the checker notices.

    mutation.py run   --build BUILD [--lessons 01,05] [--jobs N] [--shard K/N] [--limit N] [--again]
    mutation.py list  --build BUILD [--lessons ...]      survivors that no kept line explains
    mutation.py table --build BUILD [--out FILE]         one row a lesson, as CSV
    mutation.py lint                                     the kept lines still match their solutions
    mutation.py byhand [--lessons ...]                   mutants in tests/mutants/ that a machine makes, too

universalmutator (from PyPI) changes one line of a solution by the rules in cuda.rules, at every place they match.
Each mutant is built for the software device and judged by the checker, which stops at the first wrong item.
Lesson 18 is Python: its rules are in python.rules, its judge is tests/python, first without PyTorch, then with it.

A mutant is *killed* (some case rejects it), *does not build*, or *survives*. A survivor whose machine code is that of
the solution is *the same program*. Any other gets a case that kills it, or a paragraph in NN_topic.survivors that says
why it stays: `equivalent:` (no input within the contract shows it), `allowed:` (the contract leaves it open: speed,
extra room, a launch shape) or `beyond:` (only a size shows it that a small machine cannot hold). Then lines `- old` and
`+ new`, as `list` prints them; several pairs may share one reason.

score = killed / (killed + survivors that no line explains); `beyond` is listed apart.

Verdicts are kept as BUILD/mutation/NN_topic.csv, one row a mutant, under a name made from its text, so a run that was
stopped goes on where it was, and a mutant keeps its verdict until the solution's line changes. `--again` judges those
anew that survived. Mutants are taken in the order of their names, which is as good as chance: a run with --limit is a
sample of them all. Only Python's standard library is used, and universalmutator for `run` and `byhand`.

`byhand` prints each mutant that somebody wrote and that is, but for white space and parentheses, one of those made here: its
file says nothing that the rules do not. `kept` is one that is there for more: a line `names:` or `killed-by: simt` asks in
which words, or by which finding, the mistake is reported; another mutant may be `covered-by:` it, or a page may name it.
"""
import argparse
import collections
import concurrent.futures
import contextlib
import csv
import hashlib
import importlib.util
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import python_file

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD_SECONDS, JUDGE_SECONDS = 60, 240
KILLED, SURVIVED, SAME, BROKEN, TROUBLE = "killed", "survived", "same", "does not build", "trouble"
REASONS = ("equivalent", "allowed", "beyond")

Mutant = collections.namedtuple("Mutant", "name line old new")
# Nobody writes a list of 128 registers by hand: those of asm statements are given.
LIST = re.compile(r'"[=+]\w"\(.*,.*,.*,|"[^"]*%\d+, %\d+, %\d+')
# An array that is declared one larger is never noticed and nobody's mistake.
ROOM = re.compile(r"^\s*(const |static |__shared__ |alignas\(\w+\) )*(struct )?[A-Za-z_][\w:<>, ]* \w+(\[.*\])+;")


def lessons(chosen):
    names = sorted(p.name for p in (ROOT / "solutions").iterdir() if re.match(r"\d\d_", p.name) and solution(p.name).exists())
    return [n for n in names if not chosen or n[:2] in chosen]


def solution(lesson):
    file = ROOT / "solutions" / lesson / (lesson[3:] + ".py")
    return file if file.exists() else file.with_suffix(".cu")


def is_python(lesson):
    return solution(lesson).suffix == ".py"


def given_header(lesson, name):
    """The file of a given header; None for the lesson's own interface and for what is not of the course."""
    places = [ROOT / "lessons" / lesson / name, ROOT / "common" / "contracts" / name]
    return next((place for place in places if place.exists() and place.stem != lesson[3:]), None)


def whole_text(lesson):
    """A solution with the given headers that it includes in their places: a mistake may be in them, too.

    Each is written out where it is first included, also by another header: its guard leaves a second copy out."""
    include = re.compile(r'^#include "([a-z0-9_]+\.h)"', re.M)
    text = solution(lesson).read_text()
    own, there = set(include.findall(text)), set()

    def content(line):
        name, place = line.group(1), given_header(lesson, line.group(1))
        if place is None or name not in own:
            return line.group(0)
        if name in there:
            return ""
        there.add(name)
        return include.sub(content, place.read_text())
    return include.sub(content, text)


def name_of(old, new, occurrence):
    return hashlib.sha256(f"{old}\0{new}\0{occurrence}".encode()).hexdigest()[:12]


def code_lines(lesson):
    """The lines of a solution without their comments."""
    return lines_of(lesson, solution(lesson).read_text() if is_python(lesson) else whole_text(lesson))


def lines_of(lesson, text):
    if is_python(lesson):
        return python_file.code_lines(text)
    text = re.sub(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/',
                  lambda m: m.group(1) or "\n" * m.group(0).count("\n"), text, flags=re.S)
    # universalmutator takes `{-` for the start of a comment of another language.
    return [line.rstrip().replace("{-", "{ -") for line in text.splitlines()]


def generate(lesson):
    """All mutants of a solution, in the order of their names."""
    lines = code_lines(lesson)
    kernel, rules = ("kernel.py", "python.rules") if is_python(lesson) else ("kernel.cu", "cuda.rules")
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, kernel).write_text("\n".join(lines) + "\n")
        subprocess.run([sys.executable, "-c", "from universalmutator.genmutants import main; main()", kernel, "none",
                        "--noCheck", "--only", str(HERE / rules), "--mutantDir", folder],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
        changes = set()
        for file in pathlib.Path(folder).glob("kernel.mutant.*.*"):
            changed = file.read_text().splitlines()
            at = next((i for i, (a, b) in enumerate(zip(lines, changed)) if a != b), None)
            if at is not None and len(changed) == len(lines):
                changes.add((at, changed[at]))
        if is_python(lesson):
            changes = {(at, new) for at, new in changes if python_file.is_more_than_words(lines, at, new)}
        else:
            changes |= set(moved_barriers(lines))
    mutants, seen = [], collections.Counter()
    for at, new in sorted(changes):
        old, new = lines[at].strip(), new.strip()
        if LIST.search(lines[at]) or old == '""':  # what is left of a docstring
            continue
        if ROOM.match(lines[at]) and re.search(r"\) \+ 1\]|\[0\]", new):
            continue
        seen[old, new] += 1
        mutants.append(Mutant(name_of(old, new, seen[old, new]), at + 1, old, new))
    return sorted(mutants)


def moved_barriers(lines):
    """A barrier one statement earlier or later."""
    barrier = re.compile(r"__sync(threads|warp)\(|__pipeline_\w+\(")
    for at, line in enumerate(lines):
        for distance in (-1, 1):
            neighbour = lines[at + distance].strip() if 0 <= at + distance < len(lines) else ""
            if barrier.search(line) and neighbour.endswith(";") and not barrier.search(neighbour):
                yield at, f"/* moved {distance:+d}, past {neighbour} */ {line.strip()}"


def written(lines, mutant):
    """The text of the mutant's file."""
    lines = list(lines)
    at = mutant.line - 1
    move = re.match(r"/\* moved ([+-]1), ", mutant.new)
    if move:
        other = at + int(move.group(1))
        lines[at], lines[other] = lines[other], lines[at]
    else:
        indentation = re.match(" *", lines[at]).group(0)
        lines[at] = indentation + mutant.new
    return "\n".join(lines) + "\n"


# What a rule writes so that it fits everywhere, and a person in fewer words; both without white space.
SHORTER = [(re.compile(r"^if\(0&&\(.*\)\)[^{]*;$|^;$"), lambda m: ""),
           (re.compile(r"\((\d+)([+-])1\)"), lambda m: str(int(m[1]) + (1 if m[2] == "+" else -1))),
           (re.compile(r"\[\(([^()\[\]]+)\)\+1\]"), lambda m: f"[{m[1]}+1]")]


def plain(line):
    line = re.sub(r"\s+", "", line)
    for pattern, shorter in SHORTER:
        line = pattern.sub(shorter, line)
    return line


def sum_of(lines):
    return hashlib.sha256("".join(lines).encode()).digest()


def there_for_more(path, content, cited):
    """Whether a mutant by hand is a test of more than of its mistake."""
    return (re.search(r"^names:|^killed-by: simt", content, re.M) or f"`{path.parent.name[:2]}/{path.stem}`" in cited or
            any(f"\ncovered-by: {path.stem}\n" in other.read_text() for other in path.parent.glob("*.mutant")))


def do_byhand(options):
    """Prints the mutants of tests/mutants that generate() makes, too, and how many there are."""
    total = made = kept = 0
    cited = "".join(page.read_text() for page in (ROOT / "docs" / "results").rglob("mutation*"))
    for lesson in lessons(options.lessons):
        lines = code_lines(lesson)
        plain_lines = [plain(line) for line in lines]
        machine = {}
        for mutant in generate(lesson):
            at = mutant.line - 1
            change = written(lines, mutant).splitlines()[at - 1 if at else 0:at + 2]
            begin = at - 1 if at else 0
            machine[sum_of(plain_lines[:begin] + [plain(line) for line in change] + plain_lines[begin + len(change):])] = mutant
        text = solution(lesson).read_text() if is_python(lesson) else whole_text(lesson)
        for path in sorted((ROOT / "tests" / "mutants" / lesson).glob("*.mutant")):
            content, changed = path.read_text(), text
            for old, new in re.findall(r"^<<<<\n(.*?)^====\n(.*?)^>>>>$", content, re.M | re.S):
                changed = changed.replace(old, new)
            total += 1
            same = machine.get(sum_of([plain(line) for line in lines_of(lesson, changed)]))
            if same:
                more = bool(there_for_more(path, content, cited))
                made, kept = made + 1, kept + more
                print(f"{'kept' if more else 'made'} {lesson}/{path.stem}:{same.line}\n- {same.old}\n+ {same.new}")
    print(f"{made} of {total} mutants by hand are machine-made ones, too; {kept} of them are there for more")


def run(arguments, seconds, **more):
    """Exit status and output; everything that was started is ended when the time is over."""
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="replace", start_new_session=True, **more)
    try:
        output, _ = process.communicate(timeout=seconds)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return None, output


class Judge:
    def __init__(self, build, lesson):
        self.build, self.lesson = pathlib.Path(build).resolve(), lesson
        self.includes = ["-I", str(ROOT / "lessons" / lesson), "-I", str(ROOT / "common" / "contracts"), "-I", str(ROOT / "common" / "decode")]
        self.lines = code_lines(lesson)
        self.same = self.machine_code("\n".join(self.lines) + "\n")

    def compiled(self, text, folder, *flags):
        kernel = pathlib.Path(folder) / (self.lesson[3:] + ".cu")
        kernel.write_text(text)
        return run([str(self.build / "bin/simtcc"), *flags, *self.includes, str(kernel)], BUILD_SECONDS,
                   cwd=folder, env=dict(os.environ, TMPDIR=str(folder)))

    def machine_code(self, text):
        """What the compiler makes of it, without names of files and lines; None if it does not build."""
        with tempfile.TemporaryDirectory() as folder:
            code, _ = self.compiled(text, folder, "-O2", "-g0", "-c", "-o", folder + "/object.o")
            if code != 0:
                return None
            _, listing = run(["objdump", "-d", "-r", "--no-show-raw-insn", folder + "/object.o"], BUILD_SECONDS)
            return hashlib.sha256("\n".join(listing.splitlines()[3:]).encode()).hexdigest()

    def check(self, runner, seconds):
        """The checker's exit status and output, with so many seconds for a case."""
        return run([str(self.build / "bin/checker"), "--lesson", self.lesson, "--runner", runner, "--device", "simt",
                    "--time-limit", str(seconds), "--fail-fast"], JUDGE_SECONDS, cwd=pathlib.Path(runner).parent,
                   env=dict(os.environ, SIMT_WORKERS="1"))

    def judge(self, mutant):
        with tempfile.TemporaryDirectory() as folder:
            library = str(self.build / f"lib/librunner_{self.lesson}_simt.a")
            text = written(self.lines, mutant)
            code, _ = self.compiled(text, folder, "-Og", "-fno-var-tracking", library, "-o", folder + "/runner")
            if code != 0:
                return BROKEN, ""
            code, output = self.check(folder + "/runner", 20)
            # A slow case on a busy machine is no mistake: what is late gets more time before it counts as killed.
            if re.search(r"^\s+TIMEOUT\s+case ", output, re.M):
                code, output = self.check(folder + "/runner", 100)
        case = re.search(r"^\s+\w+\s+case (\S+):", output, re.M)
        if code in (1, 77, None):
            return KILLED, case.group(1) if case else "time" if code is None else "not started" if code == 77 else ""
        if code != 0:
            return TROUBLE, output.strip().splitlines()[-1] if output.strip() else ""
        return (SAME if self.machine_code(text) == self.same else SURVIVED), ""


def journal_path(build, lesson):
    return pathlib.Path(build) / "mutation" / f"{lesson}.csv"


def read_journal(build, lesson):
    """The last verdict of each mutant."""
    path = journal_path(build, lesson)
    rows = {}
    if path.exists():
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                rows[row["name"]] = row
    return rows


def do_run(options):
    if importlib.util.find_spec("universalmutator") is None:
        sys.exit("universalmutator is not there: python3 -m pip install universalmutator (a virtual environment will do)")
    part, parts = (int(x) for x in options.shard.split("/"))
    for lesson in lessons(options.lessons):
        path = journal_path(options.build, lesson)
        path.parent.mkdir(parents=True, exist_ok=True)
        known = read_journal(options.build, lesson)
        mutants = [m for i, m in enumerate(generate(lesson)) if i % parts == part - 1][:options.limit]
        redo = {TROUBLE} | ({SURVIVED} if options.again else set())
        todo = [m for m in mutants if m.name not in known or known[m.name]["verdict"] in redo]
        print(f"{lesson}: {len(mutants)} mutants, {len(todo)} to judge", flush=True)
        judge = python_file.Judge(options.build, lesson) if is_python(lesson) else Judge(options.build, lesson)
        new_file = not path.exists()
        with open(path, "a", newline="", buffering=1) as file, \
                concurrent.futures.ThreadPoolExecutor(1 if is_python(lesson) else options.jobs) as pool:
            out = csv.writer(file, lineterminator="\n")
            if new_file:
                out.writerow(["name", "line", "old", "new", "verdict", "case"])
            waiting = {pool.submit(judge.judge, m): m for m in todo}
            for done in concurrent.futures.as_completed(waiting):
                m = waiting[done]
                verdict, case = done.result()
                out.writerow([m.name, m.line, m.old, m.new, verdict, case])
                if verdict in (SURVIVED, TROUBLE):
                    print(f"{verdict} {lesson}:{m.line}\n- {m.old}\n+ {m.new} {case}", flush=True)


def kept_lines(lesson):
    """(old, new) -> reason, from NN_topic.survivors; new may be `*`: whatever becomes of that line."""
    path = HERE / f"{lesson}.survivors"
    kept, reason, old = {}, None, None
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        where = f"{path.name}:{number}"
        if re.match(r"(%s): \S" % "|".join(REASONS), line):
            reason = line.split(":")[0]
        elif line.startswith("- "):
            old = line[2:].strip()
        elif line == "+" or line.startswith("+ "):  # `+` alone: the line is removed
            if reason is None or old is None:
                sys.exit(f"{where}: a reason and a line `- old` come first")
            kept[old, line[2:].strip()] = reason
        elif line.strip() and not line.startswith(("#", "  ")):
            sys.exit(f"{where}: neither a reason ({', '.join(REASONS)}) nor `- old` nor `+ new`")
        if not line.strip():
            reason = old = None
    return kept


def reason_for(kept, row):
    return kept.get((row["old"], row["new"]))


def current(build, lesson):
    """The verdicts of mutants whose line still stands in the solution."""
    lines = {line.strip() for line in code_lines(lesson)}
    return [row for row in read_journal(build, lesson).values() if row["old"] in lines]


def do_list(options):
    for lesson in lessons(options.lessons):
        kept = kept_lines(lesson)
        for row in sorted(current(options.build, lesson), key=lambda r: int(r["line"])):
            if row["verdict"] == SURVIVED and not reason_for(kept, row):
                print(f"{lesson}:{row['line']}\n- {row['old']}\n+ {row['new']}")


def at_most(count):
    """The rule of three: what none of so many showed is rarer than this in the whole, at 95% confidence."""
    return f"{300.0 / count[KILLED]:.1f}%" if count[KILLED] and not count[SURVIVED] else "-"


COLUMNS = (BROKEN, SAME, KILLED, "equivalent", "allowed", "beyond", SURVIVED)  # of the table, before the score
HEADING = ["table", "lesson", "mutants judged", "do not build", "the same program", "killed", "equivalent", "allowed", "beyond",
           "survive", "score", "missed, at most"]
TABLE = "Score"


def rows_there(page):
    """What a table says of each lesson: lessons that were judged elsewhere keep their rows."""
    with open(page, newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["lesson"]: collections.Counter({column: int(row[name]) for column, name in zip(COLUMNS, HEADING[3:10])})
            for row in rows if row["lesson"] != "all"}


def do_table(options):
    rows, total = [HEADING], collections.Counter()
    there = rows_there(options.out) if options.out else {}
    for lesson in lessons(options.lessons):
        kept, count = kept_lines(lesson), collections.Counter()
        for row in current(options.build, lesson):
            reason = reason_for(kept, row) if row["verdict"] == SURVIVED else None
            count[reason or row["verdict"]] += 1
        count = count or there.get(lesson, count)
        judged = sum(count.values())
        if judged == 0:
            continue
        total += count
        decided = count[KILLED] + count[SURVIVED]
        score = f"{100.0 * count[KILLED] / decided:.1f}%" if decided else "-"
        rows.append([TABLE, lesson, judged, *(count[column] for column in COLUMNS), score, at_most(count)])
    rows.append([TABLE, "all", sum(total.values()), *(total[column] for column in COLUMNS), "", ""])
    with open(options.out, "w", newline="") if options.out else contextlib.nullcontext(sys.stdout) as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def do_lint(options):
    wrong = 0
    for lesson in lessons(options.lessons):
        lines = {line.strip() for line in code_lines(lesson)}
        for (old, new), _ in kept_lines(lesson).items():
            if old not in lines:
                print(f"{lesson}.survivors: the solution has no line `{old}`")
                wrong = 1
    sys.exit(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "list", "table", "lint", "byhand"])
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--lessons", type=lambda text: text.split(","), default=[])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--shard", default="1/1")
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    {"run": do_run, "list": do_list, "table": do_table, "lint": do_lint, "byhand": do_byhand}[options.what](options)


if __name__ == "__main__":
    main()
