#!/usr/bin/env python3
"""corpus.py on a corpus of a few files, with compilers that are shell scripts: what is counted, and what is done again.

    python3 tests/simt/corpus/corpus_test.py
"""
import contextlib
import io
import json
import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import corpus  # noqa: E402

# A "program" is the part of its source behind RUN, as a shell script.
COMPILER = """#!/bin/sh
for word; do
    case $previous in -o) out=$word;; esac
    previous=$word
    case $word in *.cu) sources="$sources $word"; grep -q "$0_ERROR" "$word" && { echo "$word:1: error: $0 says no"; exit 1; };; esac
done
echo "$sources" >>"$0.log"
case $sources in
*b/main.cu*part.cu*) ;;
*b/main.cu*) echo "undefined reference to part"; exit 1;;
esac
set -- $sources
(echo "#!/bin/sh"; sed -n 's/^RUN //p' "$1") >"$out"
chmod +x "$out"
"""
FILES = {
    "a/right.cu": "int main()\nRUN echo 3 mismatches: 0",
    "a/size.cu": "int main()\nRUN test $1 = 64",
    "a/says.cu": "int main()\nRUN echo Test FAILED",
    "a/finding.cu": "int main()\nRUN echo 'simt: shared-race: tile[3]' >&2\nRUN echo 'simt: note: x' >&2\nRUN exit 86",
    "a/judged.cu": "int main()\nRUN echo 'simt: leak: 1 allocation' >&2\nRUN exit 86",
    "a/needs.cu": "int main()\nRUN exit 1",
    "a/slow.cu": "int main()\nRUN sleep 30",
    "a/comment.cu": "// int main()",
    "b/main.cu": "int main()\nRUN exit 0",
    "b/part.cu": "int part()",
    "c/refused.cu": "int main()\nsimtcc_ERROR",
    "d/bad.cu": "int main()\nnvcc_ERROR",
    "e/host.c": "int main()",
}
ARGUMENTS = "# size\nsuite/a/size.cu | 64\n"
JUDGED = "# what became\nsuite/a/judged.cu | true | it is\nsuite/a/needs.cu | skip | a file\n"


class CorpusTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)
        for name, text in FILES.items():
            self.write("corpus/suite/" + name, text.replace("nvcc_ERROR", f"{self.root}/nvcc_ERROR")
                       .replace("simtcc_ERROR", f"{self.root}/simtcc_ERROR") + "\n")
        self.write("corpus/suite/.commit", "0123456789abcdef 2020-02-02\n")
        self.write("arguments.txt", ARGUMENTS)
        self.write("judged.txt", JUDGED)
        for compiler in ("nvcc", "simtcc"):
            self.write(compiler, COMPILER).chmod(stat.S_IRWXU)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_corpus(self, *options):
        command = ["corpus.py", str(self.root / "corpus"), str(self.root / "results"), "--seconds", "3", "--nvcc",
                   str(self.root / "nvcc"), "--simtcc", str(self.root / "simtcc"), "--lists", str(self.root), *options]
        sys.argv, before = command, sys.argv
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                self.assertEqual(corpus.main(), 0)
        finally:
            sys.argv = before
        return out.getvalue()

    def result(self, name):
        return json.loads((self.root / "results" / f"suite__{name.replace('/', '__')}" / "result.json").read_text())

    def builds(self, compiler):
        return (self.root / f"{compiler}.log").read_text().splitlines()

    def test_counts(self):
        said = self.run_corpus()
        self.assertEqual(len(said.splitlines()), 10)
        self.assertTrue(self.result("a/right.cu")["right"])
        self.assertTrue(self.result("a/size.cu")["right"])
        self.assertEqual((self.result("a/says.cu")["right"], self.result("a/says.cu")["says"]), (False, "FAILED"))
        self.assertEqual(self.result("a/finding.cu")["findings"], ["shared-race"])
        self.assertIsNone(self.result("a/slow.cu")["exit"])
        self.assertEqual([pathlib.Path(p).name for p in self.result("b/main.cu")["sources"]], ["main.cu", "part.cu"])
        self.assertFalse(self.result("c/refused.cu")["built"])
        self.assertIn("simtcc says no", self.result("c/refused.cu")["build_error"])
        self.assertFalse(self.result("d/bad.cu")["nvcc"])
        self.assertNotIn("built", self.result("d/bad.cu"))
        # tried, nvcc builds, simtcc builds, ended but for what needs a file, right, true, not right
        row = "| suite | 0123456789 2020-02-02 | 10 | 9 | 8 | 6 | 3 | 1 | 2 |"
        self.assertIn(row, self.run_corpus("--table"))
        self.assertIn("| all | | 10 | 9 | 8 | 6 | 3 | 1 | 2 |", self.run_corpus("--table"))

    def test_goes_on_where_it_stopped(self):
        self.run_corpus("--only", "right", "--stage", "nvcc")
        self.assertNotIn("built", self.result("a/right.cu"))
        self.run_corpus("--only", "right")
        self.run_corpus("--only", "right")
        self.assertEqual((len(self.builds("nvcc")), len(self.builds("simtcc"))), (1, 1))
        self.run_corpus("--only", "right", "--again", "build")
        self.assertEqual((len(self.builds("nvcc")), len(self.builds("simtcc"))), (1, 2))
        self.assertTrue(self.result("a/right.cu")["right"])

    def test_failed_again(self):
        self.run_corpus("--only", "a/s")
        self.write("corpus/suite/a/says.cu", "int main()\nRUN echo PASSED\n")
        before = len(self.builds("simtcc"))
        self.run_corpus("--only", "a/s", "--again", "failed")
        self.assertTrue(self.result("a/says.cu")["right"])
        self.assertEqual(len(self.builds("simtcc")), before + 2)  # says.cu and slow.cu, not size.cu

    def test_sample(self):
        self.assertEqual(corpus.take(list(range(10)), 4), [0, 2, 5, 7])
        self.assertEqual(corpus.take([1, 2], 4), [1, 2])
        self.assertEqual(len(self.run_corpus("--sample", "3", "--stage", "nvcc").splitlines()), 3)


if __name__ == "__main__":
    unittest.main()
