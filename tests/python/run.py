"""Tests of the Python package, where Python has what they need. Otherwise one line says what is missing.

usage: run.py BUILD [--quick] [--student] [OPTIONS OF PYTEST...]

BUILD is the course's build folder; BUILD/venv is where a virtual environment may lie (common/python/README.md). --quick builds
and tests lesson 05 alone, which takes seconds. --student tests lessons/18_python_interface/python_interface.py, and reports for
a student: of what fails a line each, in place of pytest's pages.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
NEEDED = ("numpy", "pytest")
USED = ("torch", "hypothesis", "triton")


def missing(names):
    return [name for name in names if importlib.util.find_spec(name) is None]


def use_environment(build):
    """Goes on with the virtual environment's Python, if there is one."""
    python = build / "venv" / "bin" / "python"
    if python.exists() and pathlib.Path(sys.prefix) != build / "venv":
        os.execv(python, [str(python), *sys.argv])


def targets(quick):
    """What to build before the tests run; nvcc takes minutes for what only a GPU could run."""
    if quick:
        return ["warpwise_simt", "warpwise_worker_05"]
    gpu = any(pathlib.Path(device).exists() for device in ("/dev/nvidiactl", "/dev/dxg"))  # Linux, WSL2
    return ["warpwise_library" if gpu else "warpwise_library_simt"]


def main():
    build, quick, student = pathlib.Path(sys.argv[1]).absolute(), "--quick" in sys.argv, "--student" in sys.argv
    options = [word for word in sys.argv[2:] if word not in ("--quick", "--student")]
    use_environment(build)
    if missing(NEEDED):
        print(f"python skipped: {sys.executable} has no {', '.join(missing(NEEDED + USED))}")
        return 0
    if missing(USED):
        print(f"python: tests that need {', '.join(missing(USED))} are left out")
    if not quick and not any((build / "python" / "warpwise" / "lib").glob("*.so")):
        print(f"python: builds the library first{'; with nvcc that takes minutes' if targets(quick) == ['warpwise_library'] else ''}", flush=True)
    cores = str(len(os.sched_getaffinity(0)))
    make = ["cmake", "--build", str(build), "--parallel", cores, "--target", *targets(quick)]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    environment = dict(os.environ, PYTHONPATH=str(build / "python"), PYTHONDONTWRITEBYTECODE="1")
    if student:
        lesson = HERE.parent.parent / "lessons" / "18_python_interface"
        environment["WARPWISE_INTERFACE"] = str(lesson / "python_interface.py")
    marks = ["-m", "quick"] if quick else []
    shown = ["--report", "-rN", "--disable-warnings", *([] if any(word.startswith("--tb") for word in options) else ["--tb=no"])] if student else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *shown, *marks, str(HERE), *options]
    return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
