"""Judges a file of lesson 18 by the tests of this folder, in a process of its own that need not load PyTorch anew.

What the tests import is loaded once, here; each file is judged in a child made by fork, which loads the package with that file.
"""

import contextlib
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOLUTION = ROOT / "solutions" / "18_python_interface" / "python_interface.py"
SKELETON = ROOT / "lessons" / "18_python_interface" / "python_interface.py"
FAILED, PASSED, SKIPPED = "failed", "passed", "skipped"
NOT_JUDGED = 99  # exit status of a child in which pytest itself could not run


def finds_gpu():
    """Whether PyTorch finds a GPU. Asked in a process of its own: in a child of one that has asked, CUDA does not work."""
    asked = subprocess.run([sys.executable, "-c", "import sys, torch; sys.exit(not torch.cuda.is_available())"], stderr=subprocess.DEVNULL)
    return asked.returncode == 0


def prepare(build, modules):
    """The package's folder is on the path, and what the tests use is loaded: of `modules` those that are installed."""
    if "triton" in modules and not finds_gpu():
        os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported
    os.environ.pop("WARPWISE_INTERFACE", None)
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(pathlib.Path(build).resolve() / "python"))
    for name in ("numpy", "pytest", *modules):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


class Outcomes:
    """A plugin of pytest: what became of each test, as {"test_x.py::test_y[z]": outcome}."""

    def __init__(self):
        self.found = {}

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("/")[2]
        if self.found.get(name) not in (FAILED, SKIPPED):  # the end of a test that was skipped passes
            self.found[name] = report.outcome


def run_tests(file, options, hidden, answer):
    """In the child: runs pytest, writes the outcomes to the file descriptor `answer`."""
    import pytest

    for name in hidden:
        sys.modules[name] = None  # an import fails
    os.environ["WARPWISE_INTERFACE"] = str(file)
    outcomes = Outcomes()
    status = int(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT), *options], plugins=[outcomes]))
    os.write(answer, json.dumps([status, outcomes.found]).encode())


def judge(file, options, seconds=120, hidden=()):
    """(status of pytest, or None if time was up or the process died; outcomes; what was printed). hidden: modules not to find."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as answer:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            try:
                run_tests(file, options, hidden, answer.fileno())
            except BaseException:
                traceback.print_exc()
                os._exit(NOT_JUDGED)
            os._exit(0)
        status = wait_for(child, seconds)
        output.seek(0), answer.seek(0)
        printed, answered = output.read().decode(errors="replace"), answer.read()
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == NOT_JUDGED:
        raise RuntimeError(printed)
    status, outcomes = json.loads(answered) if answered else (None, {})
    return status, outcomes, printed


def wait_for(child, seconds):
    """Until it ends, with what status; when time is up, it is ended with all that it has started."""
    until = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended != 0:
            return status
        if time.monotonic() > until:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            return os.waitpid(child, 0)[1]
        time.sleep(0.005)
