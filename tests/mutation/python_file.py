"""What mutation.py does otherwise for a solution that is Python: lesson 18."""

import ast
import io
import pathlib
import re
import sys
import tempfile
import tokenize

TESTS = pathlib.Path(__file__).resolve().parent.parent / "python"
# In this order: what needs no kernel first. Triton's attention does not go through the interface.
FIRST = ("test_call.py", "test_refused.py", "test_numpy.py")
THEN = ("test_torch.py", *FIRST, "test_properties.py")
LIBRARIES = ("torch", "hypothesis", "triton", "torch._dynamo", "torch._functorch.aot_autograd")
HIDDEN = ("torch", "triton")  # pytest itself wants Hypothesis where it is installed


def code_lines(text):
    """The lines without comments and docstrings."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [" " * node.col_offset + '""'] + [""] * (node.end_lineno - node.lineno)
    return [line.rstrip() for line in lines]


class WithoutWords(ast.NodeTransformer):
    """Replaces what is only said to the caller: f-strings, and strings of more than one word."""

    def visit_JoinedStr(self, node):
        return ast.Constant("")

    def visit_Constant(self, node):
        return ast.Constant("") if isinstance(node.value, str) and " " in node.value else node


def meaning(lines):
    """The program as a tree, without its words; None if it is no Python."""
    try:
        return ast.dump(WithoutWords().visit(ast.parse("\n".join(lines) + "\n")))
    except SyntaxError:
        return None


def without_defaults(line):
    return re.sub(r"=[^,)]+", "", line).strip()


def is_more_than_words(lines, at, new):
    """Whether a changed line changes more than a message or, in a given line `def`, the names of arguments: what is no Python at
    all is left out, too."""
    if re.match(" *def ", lines[at]) and without_defaults(lines[at]) != without_defaults(new):
        return False
    changed = list(lines)
    changed[at] = new
    return meaning(changed) not in (None, meaning(lines))


class Judge:
    """Judges by tests/python: first as where NumPy is all there is, then with PyTorch and Hypothesis, if they are here."""

    def __init__(self, build, lesson):
        import mutation

        sys.path.insert(0, str(TESTS))
        import judge

        self.words, self.judge_file, self.lines = mutation, judge.judge, mutation.code_lines(lesson)
        judge.prepare(build, LIBRARIES)
        self.has_more = any(name in sys.modules for name in LIBRARIES)

    def judge(self, mutant):
        words = self.words
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "interface.py"
            file.write_text(words.written(self.lines, mutant))
            for files, hidden, mark in ((FIRST, HIDDEN, "numpy"), (THEN, (), "torch"))[: 1 + self.has_more]:
                options = ["-x", "--tb=line", "--assert=plain", *(str(TESTS / name) for name in files)]
                status, outcomes, printed = self.judge_file(file, options, 240, hidden)
                if status is None:
                    return words.KILLED, f"{mark} time, or the process died"
                failed = next((name for name, outcome in outcomes.items() if outcome == "failed"), None)
                if failed:
                    return words.KILLED, f"{mark} {failed}"
                if not outcomes:
                    return words.BROKEN, printed.strip().splitlines()[-1]
                if any(outcome == "skipped" for outcome in outcomes.values()) and "not started" in printed:
                    return words.KILLED, f"{mark} not started"
                if status != 0:
                    return words.TROUBLE, printed.strip().splitlines()[-1]
        return words.SURVIVED, ""
