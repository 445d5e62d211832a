"""Wrong files of lesson 18, which its tests must reject, and right ones of another make, which they must accept.

usage: mutants.py BUILD [--quick] [--names] [NAME...]

tests/mutants/18_python_interface/NAME.mutant says what is replaced in the solution, and which tests must fail (tests/mutants/README.md).
tests/variants/18_python_interface/NAME.py holds regions of the skeleton, written in another way than the solution's.
Those that need PyTorch are skipped where there is none. --quick judges a few that need lesson 05 alone. --names counts how
often the first screen of a student's check says what the mistake is: what it says of a cause has the words of the line `names:`.
"""

import pathlib
import re
import subprocess
import sys

import run
from judge import FAILED, PASSED, ROOT, SKELETON, SKIPPED, SOLUTION, judge, prepare

MUTANTS = ROOT / "tests" / "mutants" / "18_python_interface"
VARIANTS = ROOT / "tests" / "variants" / "18_python_interface"
QUICK = ("causal_forgotten", "plan_written_into", "strides_not_checked")
SCREEN_LINES = 24
NEEDS = {"test_torch.py": "torch", "test_triton.py": "triton", "test_properties.py": "hypothesis"}


class Mutant:
    def __init__(self, path):
        text = path.read_text()
        self.name = path.stem
        self.killed_by = [test.strip() for test in re.search(r"^killed-by: (.*)$", text, re.M).group(1).split(",")]
        self.names = re.search(r"^names: (.*)$", text, re.M).group(1)
        self.blocks = re.findall(r"^<<<<\n(.*?)^====\n(.*?)^>>>>$", text, re.M | re.S)
        self.missing = run.missing([module for file, module in NEEDS.items() if any(t.startswith(file) for t in self.killed_by)])

    def text(self):
        """The solution with its mistake."""
        text = SOLUTION.read_text()
        for old, new in self.blocks:
            if text.count(old) != 1:
                sys.exit(f"{self.name}: this text is in the solution {text.count(old)} times, and should be once:\n{old}")
            text = text.replace(old, new)
        return text


def regions(text):
    """{name: lines} of what stands between [student: name] and [/student]."""
    return dict(re.findall(r"^ *# \[student: (\w+)\]\n(.*?)^ *# \[/student\]$", text, re.M | re.S))


def variant_text(path):
    """The skeleton with the variant's regions, and the solution's where the variant has none."""
    own = {**regions(SOLUTION.read_text()), **regions(path.read_text())}
    return re.sub(r"(^ *# \[student: (\w+)\]\n)(.*?)(^ *# \[/student\]$)",
                  lambda m: m.group(1) + own.pop(m.group(2)) + m.group(4), SKELETON.read_text(), flags=re.M | re.S)  # fmt: skip


def fell(test, outcomes):
    """Whether a test, or one of its parameters if none is named, has failed."""
    return any(outcome == FAILED for name, outcome in outcomes.items() if name == test or name.startswith(f"{test}["))


def judge_mutant(mutant, folder, quick):
    """What is wrong, or None."""
    file = folder / f"{mutant.name}.py"
    file.write_text(mutant.text())
    tests = [f"{ROOT}/tests/python/{test}" for test in mutant.killed_by]
    status, outcomes, printed = judge(file, ["--tb=no", *(["-m", "quick"] if quick else []), *tests])
    if not outcomes and status is not None:
        return "no test ran:\n" + printed
    alive = [test for test in mutant.killed_by if not fell(test, outcomes)]
    return f"not rejected by {', '.join(alive)}" if alive and status is not None else None


def screen_of(mutant, folder):
    """What the first screen of a student's check says of causes, in small letters."""
    file = folder / f"{mutant.name}.py"
    file.write_text(mutant.text())
    tests = ROOT / "tests" / "python"
    _, _, printed = judge(file, ["--report", "--tb=no", "-rN", "--disable-warnings", f"--ignore={tests}/test_triton.py", str(tests)])
    lines = [line for line in printed.splitlines()[:SCREEN_LINES] if re.match(r" +(what|about) ", line)]
    return "\n".join(lines).lower()


def count_named(mutants, folder):
    named = 0
    for mutant in mutants:
        screen = screen_of(mutant, folder)
        is_named = re.search(mutant.names, screen, re.S) is not None
        named += is_named
        print(f"{'NAMED     ' if is_named else 'NOT NAMED '} {mutant.name}", flush=True)
        if not is_named:
            print(screen)
    print(f"18_python_interface: {len(mutants)} mistakes, {named} named")
    return 0


def judge_variant(path, folder):
    file = folder / f"{path.stem}.py"
    file.write_text(variant_text(path))
    status, outcomes, printed = judge(file, ["--tb=short", "-rs", str(ROOT / "tests" / "python")], 300)
    failed = [name for name, outcome in outcomes.items() if outcome == FAILED]
    begun = [name for name, outcome in outcomes.items() if outcome == PASSED]
    skipped = [name for name, outcome in outcomes.items() if outcome == SKIPPED]
    if status == 0 and begun and "not started" not in printed:
        return None
    return f"{len(failed)} tests fail, {len(skipped)} are skipped, {len(begun)} pass:\n{printed}"


def main():
    build, quick, names = pathlib.Path(sys.argv[1]).absolute(), "--quick" in sys.argv, "--names" in sys.argv
    chosen = [word for word in sys.argv[2:] if word not in ("--quick", "--names")]
    run.use_environment(build)
    if run.missing(run.NEEDED):
        print(f"python skipped: {sys.executable} has no {', '.join(run.missing(run.NEEDED))}")
        return 0
    subprocess.run(["cmake", "--build", str(build), "--target", *run.targets(quick)], check=True, stdout=subprocess.DEVNULL)
    mutants = [Mutant(path) for path in sorted(MUTANTS.glob("*.mutant"))]
    variants = sorted(VARIANTS.glob("*.py"))
    if quick or chosen:
        mutants = [m for m in mutants if m.name in (chosen or QUICK)]
        variants = [] if quick else [v for v in variants if v.stem in chosen]
    prepare(build, [] if quick else ["torch", "hypothesis", "triton"])
    folder = build / "python_mutants"
    folder.mkdir(exist_ok=True)
    if names:
        return count_named([mutant for mutant in mutants if not mutant.missing], folder)
    wrong = 0
    for mutant in mutants:
        if mutant.missing:
            print(f"mutant  {mutant.name}: skipped, needs {', '.join(mutant.missing)}")
            continue
        problem = judge_mutant(mutant, folder, quick)
        wrong += problem is not None
        print(f"mutant  {mutant.name}: {problem or 'rejected'}", flush=True)
    for path in variants:
        problem = judge_variant(path, folder)
        wrong += problem is not None
        print(f"variant {path.stem}: {problem or 'accepted'}", flush=True)
    print(f"{len(mutants)} mutants, {len(variants)} variants, {wrong} not judged as they should be")
    return 1 if wrong or not mutants else 0


if __name__ == "__main__":
    sys.exit(main())
