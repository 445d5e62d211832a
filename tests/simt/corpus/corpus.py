#!/usr/bin/env python3
"""Builds and runs public CUDA programs on the software device, and counts what nvcc builds, what simtcc builds, and what is right.

    python3 tests/simt/corpus/corpus.py FOLDER RESULTS [--sample N] [--only TEXT] [--again build|run] [--table]

FOLDER has a subfolder per source, each a checkout with a file `.commit` that says which one (`HASH DATE`). A program is
a file with a main() in a folder that has a .cu file. It is built by itself; if nvcc cannot, with the folder's other
sources that have no main(). The folders around it named like common, include or inc are searched for headers, then
those of --headers. What nvcc does not build is not tried further. Both compilers get the same files and options; among
them, cudaThreadSynchronize, which CUDA 13 no longer has, is defined as cudaDeviceSynchronize.

RESULTS keeps a folder per program with every log and result.json, so that a run goes on where it was stopped. A program
is right if it ends with exit code 0 within the time, has no finding, and does not say itself that it is wrong.
`arguments.txt` beside this script gives programs a size that ends in a minute; `judged.txt` says what became of the findings.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = {".cu", ".cpp", ".cc", ".cxx", ".c"}
HEADER_FOLDERS = {"common", "include", "inc", "src", "utils", "util"}
LIBRARIES = ["cublas", "cublasLt", "curand", "cufft", "cusolver", "cusparse", "cuda", "nvrtc", "gomp", "pthread", "m"]
MAIN = re.compile(r"^\s*(?:extern\s+\"C\"\s+)?(?:int|void|auto)?\s*\bmain\s*\(", re.M)
SAYS_WRONG = re.compile(r"\b(FAIL(ED|URE)?|Test failed|[Mm]ismatch(es)?\b(?!\w*[:=]?\s*0\b)|INCORRECT|[Ii]ncorrect|NOT OK|"
                        r"[Rr]esult(s)? (is|are) wrong|CUDA error|CUDA Error|GPUassert)\b")
SAYS_RIGHT = re.compile(r"Non-Matching CPU-GPU Outputs.*: 0\b|0 (errors|failures|mismatch)", re.I)


def read(path):
    return path.read_text(errors="replace")


def has_main(path):
    return MAIN.search(re.sub(r"//.*", "", read(path))) is not None


def programs_of(source):
    """Every file with a main() in a folder with kernels."""
    found = []
    for folder in sorted({p.parent for p in source.rglob("*.cu")}):
        for path in sorted(folder.iterdir()):
            if path.suffix in SOURCES and path.is_file() and has_main(path):
                found.append(path)
    return found


def take(items, count):
    """`count` of them at even distances."""
    if count is None or len(items) <= count:
        return items
    return [items[i * len(items) // count] for i in range(count)]


def header_folders(path, top):
    """The program's folder, and what lies around it under a usual name."""
    found = [path.parent]
    at = path.parent
    while True:
        for child in sorted(at.iterdir()):
            if child.is_dir() and child.name.lower() in HEADER_FOLDERS:
                found.append(child)
        if at == top:
            break
        at = at.parent
    return found


def run(command, log, seconds, cwd=None, environment=None):
    """Exit code (None: out of time) and seconds; output goes to `log`."""
    begin = time.monotonic()
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd,
                                   env=environment, start_new_session=True, preexec_fn=limits)
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
    return code, time.monotonic() - begin


def limits():
    os.nice(19 - os.nice(0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def first_error(log):
    for line in read(log).splitlines():
        if re.search(r"error|undefined reference|unsupported|No such file|cannot find", line):
            return line.strip()[:300]
    return ""


class Program:
    def __init__(self, path, top, results, headers):
        self.path, self.top, self.headers = path, top, headers
        self.name = str(path.relative_to(top.parent))
        self.folder = results / self.name.replace("/", "__")
        self.record = self.folder / "result.json"
        self.result = json.loads(read(self.record)) if self.record.exists() else {"program": self.name}

    def save(self):
        self.record.write_text(json.dumps(self.result, indent=1))

    def candidates(self):
        here = self.path.parent
        others = [p for folder in (here, here / "src") if folder.is_dir() for p in sorted(folder.iterdir())
                  if p.suffix in SOURCES and p != self.path and p.is_file() and not has_main(p)]
        yield [self.path]
        if others:
            yield [self.path] + [p for p in others if p.suffix == ".cu"]
            yield [self.path] + others

    def options(self):
        return [f"-I{folder}" for folder in header_folders(self.path, self.top)] + [
            f"-I{folder}" for folder in self.headers] + ["-DcudaThreadSynchronize=cudaDeviceSynchronize", "-std=c++17",
                                                         "-Xcompiler", "-fopenmp"]

    def build_with_nvcc(self, nvcc):
        if "nvcc" in self.result:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for sources in self.candidates():
            command = [nvcc, "-arch=sm_90", "-w", "-Xcicc", "-O0", "-Xptxas", "-O0", "--extended-lambda", "--expt-relaxed-constexpr",
                       "-rdc=true", "-lcudadevrt", *self.options(), *map(str, sources), "-o", str(self.folder / "gpu")]
            code, _ = run(command + [f"-l{name}" for name in LIBRARIES], self.folder / "nvcc.txt", 300)
            if code == 0:
                break
        self.result["nvcc"] = code == 0
        self.result["nvcc_error"] = "" if code == 0 else first_error(self.folder / "nvcc.txt")
        self.result["sources"] = [str(p) for p in sources]
        (self.folder / "gpu").unlink(missing_ok=True)
        self.save()

    def build(self, simtcc):
        if not self.result.get("nvcc") or "built" in self.result:
            return
        command = [simtcc, "-w", "-O2", "--extended-lambda", "--expt-relaxed-constexpr", "-rdc=true", *self.options(),
                   *self.result["sources"], "-o", str(self.folder / "simt")]
        code, seconds = run(command + [f"-l{name}" for name in LIBRARIES], self.folder / "simtcc.txt", 300)
        self.result.update(built=code == 0, build_seconds=round(seconds, 1),
                           build_error="" if code == 0 else first_error(self.folder / "simtcc.txt") or f"exit {code}")
        self.save()

    def start(self, seconds, arguments):
        program = self.folder / "simt"
        if not self.result.get("built") or "right" in self.result or not program.exists():
            return
        log = self.folder / "run.txt"
        code, spent = run([str(program), *arguments.get(self.name, [])], log, seconds, cwd=self.path.parent)
        text = read(log)[:2000000]
        findings = sorted(set(re.findall(r"^simt: ([a-z-]+):", text, re.M)) - {"note"})
        wrong = SAYS_WRONG.search(text) if not SAYS_RIGHT.search(text) else None
        self.result.update(exit=code, run_seconds=round(spent, 1), findings=findings, says=wrong.group(0) if wrong else "",
                           right=code == 0 and not findings and not wrong)
        self.save()
        program.unlink()


def arguments_of(path):
    table = {}
    if path.exists():
        for line in read(path).splitlines():
            if " | " in line and not line.startswith("#"):
                name, words = line.split(" | ", 1)
                table[name.strip()] = words.split()
    return table


def judged_of(path):
    """Program -> 'true' (its finding is true), 'skip' (it needs what is not here: a file, a second GPU), and the sentence."""
    table = {}
    if path.exists():
        for line in read(path).splitlines():
            parts = [part.strip() for part in line.split(" | ", 2)]
            if len(parts) == 3 and not line.startswith("#"):
                table[parts[0]] = (parts[1], parts[2])
    return table


def table(tops, programs, judged):
    print("| source | commit | tried | nvcc builds | simtcc builds | ran to the end | right | true findings | not right |")
    print("|---|---|---|---|---|---|---|---|---|")
    total = [0] * 7
    for top in tops:
        commit = read(top / ".commit").split() if (top / ".commit").exists() else ["?"]
        rows = [p for p in programs if p.top == top and "nvcc" in p.result]
        ended = [p for p in rows if p.result.get("built") and p.result.get("exit", -1) is not None and "exit" in p.result
                 and judged.get(p.name, ("", ""))[0] != "skip"]
        true = [p for p in ended if not p.result["right"] and judged.get(p.name, ("", ""))[0] == "true"]
        right = [p for p in ended if p.result["right"]]
        row = [len(rows), sum(p.result["nvcc"] for p in rows), sum(p.result.get("built", False) for p in rows), len(ended),
               len(right), len(true), len(ended) - len(right) - len(true)]
        total = [a + b for a, b in zip(total, row)]
        print(f"| {top.name} | {commit[0][:10]} {' '.join(commit[1:2])} | " + " | ".join(map(str, row)) + " |")
    print("| all | | " + " | ".join(map(str, total)) + " |")


def forget(program, again):
    if again == "build":
        for key in ("built", "build_error", "right"):
            program.result.pop(key, None)
    if again == "run":
        if "right" in program.result:
            program.result.pop("right")
            program.result.pop("built", None)  # the program was removed after its run


def read_command():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--headers", type=pathlib.Path, action="append", default=[], help="a folder for all programs")
    parser.add_argument("--sample", type=int, help="programs of each source, at even distances")
    parser.add_argument("--only", help="programs whose path has this text")
    parser.add_argument("--again", choices=["build", "run", "failed"], help="forget these results first")
    parser.add_argument("--stage", choices=["nvcc", "build", "run"], default="run", help="the last stage")
    parser.add_argument("--table", action="store_true", help="print the table, and do nothing else")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--lists", type=pathlib.Path, default=HERE, help="the folder of arguments.txt and judged.txt")
    parser.add_argument("--simtcc", default=str(HERE.parents[2] / "build/bin/simtcc"))
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    return parser.parse_args()


def main():
    command = read_command()
    folder, results = command.folder.resolve(), command.results.resolve()
    tops = sorted(p for p in folder.iterdir() if p.is_dir())
    programs = [Program(path, top, results, command.headers) for top in tops for path in take(programs_of(top), command.sample)]
    if command.only:
        programs = [p for p in programs if command.only in p.name]
    judged = judged_of(command.lists / "judged.txt")
    if command.table:
        table(tops, programs, judged)
        return 0
    arguments = arguments_of(command.lists / "arguments.txt")
    for number, program in enumerate(programs):
        if command.again == "failed":
            if not program.result.get("built") or not program.result.get("right"):
                forget(program, "build")
        elif command.again:
            forget(program, command.again)
        program.build_with_nvcc(command.nvcc)
        if command.stage != "nvcc":
            program.build(command.simtcc)
        if command.stage == "run":
            program.start(command.seconds, arguments)
        r = program.result
        print(f"{number + 1}/{len(programs)} {program.name}: nvcc {r.get('nvcc')}, built {r.get('built')}, right {r.get('right')} "
              f"{r.get('build_error') or ' '.join(r.get('findings', [])) or r.get('says', '')}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
