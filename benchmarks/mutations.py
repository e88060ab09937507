"""How the tools stand a great many broken inputs: nothing may crash, hang, or print what does not read back.

    python benchmarks/mutations.py                        10,000 inputs from testdata/, some minutes
    python benchmarks/mutations.py --count=1000000 --seed=7 --keep=findings
    python benchmarks/mutations.py --seed=7 --only=4711   one of them again, with what was run
    python benchmarks/mutations.py --texts=FOLDER         more .sir files to start from
    python benchmarks/mutations.py --cc='cc -std=gnu11'   let a compiler read the C that comes out

An input is a file of `testdata/` with some changes (`mutators`), or a command line with some, or a golden test. It is
made from the seed and its number alone. Whatever verifies goes through random passes, forms of print, translations and
the evaluator. All runs are in this process, each a call of the tool's ``main``. A finding is

- exit code 3, or an exception that leaves the tool;
- an exit code that does not fit, or an error that is not told;
- a run of more CPU seconds than `--limit`;
- text that verifies and does not read back to the same node, or a translation that is no Python, JSON or C.

It measures the checkout it stands in. Exit code 1 when there is a finding.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from random import Random
from typing import Any, get_type_hints

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mutators import mutated, mutated_word  # noqa: E402

from scaly_ir.passes import PASSES  # noqa: E402
from scaly_ir.tools.golden import execute, golden_file, matcher  # noqa: E402
from scaly_ir.tools.golden.commands import find  # noqa: E402
from scaly_ir.tools.golden.isolation import isolated  # noqa: E402
from scaly_ir.tools.golden.run_line import Paths  # noqa: E402
from scaly_ir.tools.golden.update import KeptError, update  # noqa: E402

FORMS = (
    *("--generic", "--print-locations", "--print-users", "--print-locations --print-users", "--generic --print-users"),
    *("--print-ir-diff", "--print-ir-after-all", "--print-ir-before-all --print-ir-module-scope", "--color=always"),
    *("--statistics", "--statistics=json", "--timing=json", "--diagnostics=json", "-v", "--print-ir-after-change"),
    *("--elide-constants=1", "--no-verify-each", "--split-input-file", "--verify-diagnostics", "--dump-pipeline"),
    "--print-ir-tree-dir=tree",
)
"""Options of scaly-opt for what verifies."""
_OTHER_TEXT = ("--elide", "--split", "--verify-diag", "--color")
"""Options after which the output is not what is read back."""
TARGETS = (
    *("c", "c", "header", "dot", "json", "python", "sir"),
    *("c{annotate}", "c{line_directives}", "c{dialect=c}", "c{vector_math=true}"),
)
RUNS = ("--digits=3", "--trace", "--check-finite", "--print=summary", "--print=none", "--in=0=fill:1")
ANSWERS = (
    "--help",
    "--version",
    "--list-passes",
    "--list-ops",
    "--list-dialects",
    "--list-targets",
    "--describe=lower",
)
_UNSAFE = re.compile(r"cc|engine|compare|sanitize|repeat|test|keep|plugin|reduce|check(?!s|-)|crash|max-time|jobs|/")
"""What a command line must not have: it would run other programs, take its time on purpose, or write elsewhere."""
_LARGEST = 40
"""No number of a text that is evaluated is larger, or its loops could rightly take for ever."""
_COUNT = re.compile(r"(?<![\w.%@$])\d+(?=[^\w.]|x)|(?<=x)\d+(?=x)")
_OPEN_END = re.compile(r" to (?!-?\d+ step)[^\n]* step|while")
_SHOWN = 2000
_TEMPORARY = Path("golden.tmp")


class Hang(BaseException):
    """A run took too long."""


@dataclass
class Fuzzer:
    """Makes inputs and runs tools on them; counts what was run and keeps what was found."""

    texts: Sequence[str]
    seed: int
    limit: float
    keep: Path | None = None
    show: bool = False
    compiler: Sequence[str] = ()
    inputs: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    number: int = 0
    found: int = 0
    """How many findings the input at hand has."""

    def __post_init__(self) -> None:
        """Take command lines from the golden tests, and signals for the limit of time."""
        lines = [line for text in self.texts for line in re.findall(r"// RUN:\s*scaly-(?:opt|translate|run) .*", text)]
        self.command_lines = [words for line in lines if (words := _words(line))]
        self.golden = [text for text in self.texts if "// RUN:" in text]
        self.all_words = [word for words in self.command_lines for word in words[1:]] + list(FORMS)
        self.passes = {name: _options(name) for name in PASSES}
        signal.signal(signal.SIGPROF, _raise_hang)
        signal.signal(signal.SIGALRM, _raise_hang)

    def input(self, number: int) -> None:
        """Make an input and do all there is to do with it."""
        self.number, self.found = number, 0
        random = Random(f"{self.seed}:{number}")
        kind = random.random()
        if kind < 0.8:
            self._text(random)
        elif kind < 0.9:
            self._command_line(random)
        else:
            self._golden(random)

    # --- texts --------------------------------------------------------------------------------------------------------

    def _text(self, random: Random) -> None:
        self.inputs["texts"] += 1
        text = mutated(random.choice(self.texts), self.texts, random)
        code, out = self.run("scaly-opt", ["--max-errors=0", "--verify-roundtrip"], text)
        if code != 0:
            return
        self.inputs["texts that verify"] += 1
        for work in random.sample((self._again, self._passes, self._forms, self._translated, self._evaluated), 3):
            work(text, out, random)

    def _again(self, text: str, out: str, random: Random) -> None:
        _, again = self.run("scaly-opt", [], out)
        if again != out:
            self.finding("what is printed is no fixed point", ["scaly-opt"], out, again)

    def _passes(self, text: str, out: str, random: Random) -> None:
        argv = [f"--pass={self._pipeline(out, random)}"]
        argv += random.sample(("--verify-roundtrip", "--no-verify-each", "-v", "--statistics"), random.randrange(3))
        code, made = self.run("scaly-opt", argv, text)
        if code == 0 and random.randrange(2):
            random.choice((self._translated, self._evaluated, self._again))(made, made, random)

    def _forms(self, text: str, out: str, random: Random) -> None:
        forms = [word for form in random.sample(FORMS, random.choice((1, 1, 2, 3))) for word in form.split()]
        passes = [f"--pass={self._pipeline(out, random)}"] if random.randrange(2) else []
        code, made = self.run("scaly-opt", [*forms, *passes], text, wanted=(0, 1))
        if code == 0 and not passes and not any([form.startswith(_OTHER_TEXT) for form in forms]):
            _, again = self.run("scaly-opt", [], made)
            if again != out:
                self.finding("what is printed in this form reads back as something else", forms, text, again)

    def _pipeline(self, text: str, random: Random) -> str:
        steps = []
        if "expr." in text and random.randrange(2):
            steps.append("lower")
        elif "buffer." in text and random.randrange(2):
            steps.append("matrix_to_prog")
        for name in random.choices(tuple(self.passes), k=random.choice((0, 1, 1, 2, 4))):
            options = [option for option in self.passes[name] if random.randrange(3) == 0]
            given = " ".join([f"{key}={random.choice(values)}" for key, values in options])
            steps.append(f"{name}{{{given}}}" if given else name)
        return ",".join(steps or ["default"])

    def _translated(self, text: str, out: str, random: Random) -> None:
        target = random.choice(TARGETS)
        code, made = self.run("scaly-translate", [f"--to={target}"], text)
        if code == 0 and target in ("python", "json"):
            try:
                json.loads(made) if target == "json" else compile(made, "<made>", "exec")
            except (ValueError, SyntaxError, RecursionError) as failure:
                self.finding(f"the translation is no {target}: {failure}", [target], text, made)
        if code == 0 and self.compiler and target.startswith("c"):
            self._compiled(text, target, made)

    def _compiled(self, text: str, target: str, source: str) -> None:
        self.runs["compiler"] += 1
        command = [*self.compiler, "-fsyntax-only", "-x", "c", "-"]
        done = subprocess.run(command, input=source.encode(), capture_output=True, check=False)
        if done.returncode:
            self.finding("the translation is no C", [target], text, done.stderr.decode(errors="replace"))

    def _evaluated(self, text: str, out: str, random: Random) -> None:
        if _ends_soon(out):
            options = random.sample(RUNS, random.randrange(3))
            self.run("scaly-run", ["-", "--random=0", *options], text, wanted=(0, 1, 2))

    # --- command lines and golden tests -------------------------------------------------------------------------------

    def _command_line(self, random: Random) -> None:
        self.inputs["command lines"] += 1
        tool, *words = random.choice(self.command_lines)
        words = list(words)
        for _ in range(random.choice((1, 1, 2, 3))):
            at = random.randrange(len(words) + 1)
            word = mutated_word(random.choice((*words, *self.all_words[:1])), self.all_words, random)
            words[at : at + random.randrange(2)] = [random.choice((word, word, word, random.choice(ANSWERS)))]
        if not any([_UNSAFE.search(word) for word in words]):
            text = random.choice(self.texts)
            self.run(tool, words, text, wanted=(0, 1, 2))

    def _golden(self, random: Random) -> None:
        """Load a mutated golden test and run it, unless that takes other programs."""
        self.inputs["golden tests"] += 1
        text = mutated(random.choice(self.golden), self.golden, random)
        path = Path("golden.sir")
        path.write_bytes(text.encode("utf-8", "surrogatepass"))

        def work() -> None:
            try:
                test = golden_file.load(path, "golden.sir")
            except golden_file.BadTestFileError:
                return
            safe = True
            for line in test.runs:
                words = [word.text for command in line.commands() for word in tuple(command.all_words())[1:]]
                names = {command.name for command in line.commands()}
                safe &= "scaly-run" not in names or _ends_soon(text)
                safe &= names <= {"scaly-opt", "scaly-translate", "scaly-run", "filecheck", "FileCheck", "cat", "echo"}
                safe &= not any([_UNSAFE.search(re.sub("%[sSt]", "", word)) for word in words])
            for line in test.runs if safe else ():
                self._golden_run(test, line, text)
            if safe:
                self._golden_update(path)

        self.guarded(["golden"], text, work)

    def _golden_run(self, test: Any, line: Any, text: str) -> None:
        paths = Paths(test.path, _TEMPORARY.resolve())
        with isolated(Path()) as changes:
            done = execute.run(test, line, paths, check=matcher.check)
        self.runs["golden command"] += len(done)
        for command in done:
            if command.trace or command.code == execute.INTERNAL_ERROR:
                said = f"{command.trace}\n{command.stderr.decode(errors='replace')}"
                self.finding(f"exit code {command.code}", ["golden", command.name], text, said)
        if changes:
            self.finding(f"a golden test {changes}", ["golden"], text)

    def _golden_update(self, path: Path) -> None:
        """Make the checks anew, and leave the file as it is."""
        self.runs["golden update"] += 1
        with contextlib.suppress(golden_file.BadTestFileError, KeptError), isolated(Path()):
            path = path.resolve()
            update(path, path.name, Paths(path, _TEMPORARY.resolve()), Path("kept"), "golden.sir", force=True)

    # --- runs ---------------------------------------------------------------------------------------------------------

    def run(self, tool: str, argv: list[str], stdin: str, wanted: tuple[int, ...] = (0, 1)) -> tuple[int, str]:
        """Run a tool in this process; return its exit code and output, and keep what is wrong with them."""
        self.runs[tool] += 1
        main = find(tool)
        assert main is not None
        out, err = _Sink(), _Sink()
        code = -1

        def work() -> None:
            nonlocal code
            data = io.BytesIO(stdin.encode("utf-8", "surrogatepass"))
            streams = [io.TextIOWrapper(stream, encoding="utf-8", newline="") for stream in (data, out, err)]
            code = main(list(argv), *streams)

        self.guarded([tool, *argv], stdin, work)
        said = err.getvalue().decode("utf-8", "replace")
        if self.show:
            print(f"{tool} {shlex.join(argv)} -> {code}\n{said[:_SHOWN]}")
        if code not in (*wanted, -1):
            self.finding(f"exit code {code}", [tool, *argv], stdin, said)
        elif code > 0 and "error" not in said and "-q" not in argv and "--quiet" not in argv:
            self.finding("no error is told", [tool, *argv], stdin, said)
        elif "reads back as other IR" in said or "is printed of" in said:
            self.finding("what is printed does not read back", [tool, *argv], stdin, said)
        elif "Traceback" in said and "--traceback" not in argv:
            self.finding("a traceback", [tool, *argv], stdin, said)
        return code, out.getvalue().decode("utf-8", "replace")

    def guarded(self, argv: Sequence[str], text: str, work: Any) -> None:
        """Do some work; what leaves it, or takes too long, is a finding."""
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        signal.setitimer(signal.ITIMER_REAL, 20 * self.limit)  # for what waits
        try:
            work()
        except (Hang, Exception) as failure:
            self.finding(type(failure).__name__, argv, text, traceback.format_exc())
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def finding(self, what: str, argv: Sequence[str], text: str, said: str = "") -> None:
        """Count a finding, by what it is and the last line that was said, and keep it."""
        lines = [line for line in said.splitlines() if "error" in line.lower()] or said.splitlines()[-1:]
        key = f"{what}: {lines[-1].strip()[:150] if lines else ''}"
        self.findings[key] += 1
        if self.findings[key] > 5 and not self.show:
            return
        report = f"seed {self.seed}, input {self.number}: {key}\n{shlex.join(argv)}\n{said[-2 * _SHOWN :]}\n"
        print(report, flush=True)
        if self.keep is not None:
            self.found += 1
            path = self.keep / f"{self.seed}-{self.number}-{self.found}"
            path.with_suffix(".txt").write_text(report, encoding="utf-8", errors="replace")
            path.with_suffix(".sir").write_text(text, encoding="utf-8", errors="surrogatepass")

    def counts(self) -> str:
        """Return what was run so far, in one line."""
        pairs = [f"{count:,} {name}" for name, count in (self.inputs + self.runs).items()]
        inputs = sum([count for name, count in self.inputs.items() if name != "texts that verify"])
        return f"{inputs:,} inputs ({', '.join(pairs)} runs); {sum(self.findings.values())} findings"


def _ends_soon(text: str) -> bool:
    """Tell whether a program may be evaluated: its loops are few and short."""
    small = all([len(number) < 3 and int(number) <= _LARGEST for number in _COUNT.findall(text)])
    return small and text.count("prog.for") + text.count("affine.for") < 9 and not _OPEN_END.search(text)


class _Sink(io.BytesIO):
    """Bytes that outlive the text stream around them."""

    def close(self) -> None:
        """Stay open."""


def _raise_hang(*_: object) -> None:
    raise Hang


def _words(line: str) -> list[str]:
    """Return the first command of a RUN line without the file, or nothing when it is not fit for this."""
    try:
        words = shlex.split(line.removeprefix("// RUN:"))
    except ValueError:
        return []
    end = next((at for at, word in enumerate(words) if word in ("|", "&&", "2>&1", ">", "<")), len(words))
    words = ["-" if word == "%s" else word for word in words[:end]]
    return [] if any([_UNSAFE.search(word) for word in words]) else words


def _options(name: str) -> list[tuple[str, list[str]]]:
    """Return the options of a pass with values that they may have."""
    from scaly_ir.pass_manager import load_pass

    cls = load_pass(PASSES, name)
    hints = get_type_hints(cls)
    values = {bool: ["true", "false"], int: ["0", "1", "2", "3", "8", "1000"], float: ["0.0", "1.5"]}
    found = []
    for option in fields(cls):
        literal = getattr(hints[option.name], "__args__", ())
        choices = values.get(hints[option.name], [str(value) for value in literal if isinstance(value, (str, int))])
        if choices:
            found.append((option.name, choices))
    return found


def texts(folders: Sequence[Path]) -> list[str]:
    """Return the texts to start from, the small files of some folders."""
    files = [file for folder in folders for file in sorted(folder.rglob("*.sir")) if file.stat().st_size < 4000]
    return [file.read_bytes().decode("utf-8", "replace") for file in files]


@contextlib.contextmanager
def scratch() -> Iterator[None]:
    """Work in an empty folder."""
    before, folder = os.getcwd(), tempfile.mkdtemp(prefix="scaly-mutations-")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of the one input to run")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    parser.add_argument("--limit", type=float, default=10.0, help="CPU seconds that a run may take")
    parser.add_argument("--memory", type=float, default=4.0, help="GiB that the process may take")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a folder with more files")
    parser.add_argument("--cc", default="", help="a compiler that is to take the C that is made, which is slow")
    parser.add_argument("--keep", type=Path, help="a folder for what is found")
    given = parser.parse_args()
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
        given.keep = given.keep.resolve()
    size = int(given.memory * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    bases = texts([ROOT / "testdata", *given.texts])
    show = given.only is not None
    fuzzer = Fuzzer(bases, given.seed, given.limit, given.keep, show, shlex.split(given.cc))
    first = given.first if given.only is None else given.only
    start = time.monotonic()
    with scratch():
        for number in range(first, first + (given.count if given.only is None else 1)):
            fuzzer.input(number)
            if number % 10_000 == 9_999:
                print(f"{time.monotonic() - start:.0f} s: {fuzzer.counts()}", flush=True)
            if time.monotonic() - start > given.seconds:
                break
    print(f"seed {given.seed}: {fuzzer.counts()}, {time.monotonic() - start:.0f} s")
    for key, count in fuzzer.findings.most_common():
        print(f"{count:6}  {key}")
    return 1 if fuzzer.findings else 0


if __name__ == "__main__":
    sys.exit(main())
