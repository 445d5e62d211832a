"""What all tests of the Python package share, and the report that a student reads."""

import collections
import inspect

import numpy
import pytest

import warpwise

SHOWN = 5  # tests of which the report says what went wrong
ALSO = 6  # parameters that it names of the others of the same test
REGIONS = ("structure", "plan", "launch", "validate", "layout", "autograd", "operators")  # as the page's steps go


def pytest_addoption(parser):
    parser.addoption("--report", action="store_true", help="say of each test that fails what it is about and what is wrong")


def pytest_configure(config):
    config.addinivalue_line("markers", "quick: needs lesson 05 alone")


CALL = "test_call.py"  # what C is given, tested without a kernel: first by its name, too


def pytest_runtest_setup(item):
    """A kernel that is given wrong addresses may end this process, and with it the report that says so."""
    if item.config.getoption("--report") and item.session.testsfailed and item.path.name != CALL:
        failed = item.config.pluginmanager.getplugin("terminalreporter").stats.get("failed", [])
        if any(CALL in report.nodeid for report in failed):
            pytest.skip(f"a test of {CALL} fails")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """What a student has yet to write fails no test."""
    try:
        return (yield)
    except warpwise.NotStartedError as error:
        pytest.skip(f"not started: {error}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.about = " ".join((inspect.getdoc(item.function) or "").split("\n\n")[0].split())
    return report


def what_is_wrong(report):
    """The message of the exception, as one line; of one that wraps another, that of the other, too."""
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = [line.strip() for line in (crash.message if crash else str(report.longrepr)).splitlines() if line.strip()]
    wraps = len(lines) > 1 and lines[0].endswith(":")
    return " ".join(lines[: 2 if wraps else 1]).removeprefix("AssertionError: ").removeprefix("Failed: ")


def pytest_terminal_summary(terminalreporter, config):
    if not config.getoption("--report"):
        return
    failed = [report for report in terminalreporter.stats.get("failed", []) if report.when == "call"]
    alike = {}  # tests that differ by parameters alone
    for report in failed:
        alike.setdefault(report.nodeid.partition("[")[0], []).append(report)
    for report, *others in list(alike.values())[:SHOWN]:
        terminalreporter.write_line(f"\n  FAIL  {report.nodeid.rpartition('/')[2]}")
        if report.about:
            terminalreporter.write_line(f"        about  {report.about}")
        terminalreporter.write_line(f"        what   {what_is_wrong(report)}")
        if others:
            named = [other.nodeid.partition("[")[2].removesuffix("]") for other in others[:ALSO]]
            rest = f", and {len(others) - ALSO} more" if len(others) > ALSO else ""
            terminalreporter.write_line(f"        also   {', '.join(named)}{rest}")
    if failed:
        fail = "1 test fails" if len(failed) == 1 else f"{len(failed)} tests fail"
        terminalreporter.write_line(f"\n{fail}. Add --tb=short -k WORDS to see where, of tests whose name has the words.")
        if any(CALL in report.nodeid for report in failed):
            terminalreporter.write_line(f"What C is given is wrong ({CALL}), so no kernel is started: the other tests are skipped.")
    skipped = terminalreporter.stats.get("skipped", [])
    waiting = {what_is_started(report) for report in skipped} - {""}
    if waiting and not getattr(warpwise.interface.AttentionArgs, "_fields_", []):
        waiting.add("structure")  # a plan needs it, and is the first to say so
    if waiting:
        regions = [name for name in REGIONS if name in waiting] + sorted(waiting - set(REGIONS))
        terminalreporter.write_line(f"\nNot started: {', '.join(regions)}. What needs it is skipped.")
    reasons = collections.Counter(why_skipped(report) for report in skipped if not what_is_started(report))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"Skipped, {count}: {reason}")
    if warpwise.interface.torch is None:
        terminalreporter.write_line("\nPython has no PyTorch here: nothing of autograd and operators was tested.")


def why_skipped(report):
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)


def what_is_started(report):
    """The region that a skipped test waits for."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    _, _, region = reason.partition("not started: ")
    return region.partition(" = ")[0]


@pytest.fixture
def random():
    return numpy.random.default_rng(20180601)
