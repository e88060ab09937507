"""Broken and hostile text through the whole tool: it is refused with located messages and never crashes.

Each case runs `scaly-opt` in process. ``SCALY_IR_FULL_TESTS=1`` runs every mutation instead of a sample.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.counting import calls_of
from tests.dialects.prog.texts import ODD_TOKENS, pieces
from tests.test_seeds import SEEDS, listings
from tests.tools.running import environment, scaly_opt

ROOT: Final = Path(__file__).resolve().parents[1]
FULL: Final = bool(os.environ.get("SCALY_IR_FULL_TESTS"))

_HEAD: Final = re.compile(r"^<stdin>:(\d+):(\d+): (error|warning|note): (.+)$")
_PLACELESS: Final = re.compile(r"^scaly-opt: error: '<stdin>' is a binary file$")
_JARGON: Final = re.compile(
    r"\b(?:LPAR|RPAR|[LR]BRACE|[LR]SQB|COMMA|COLON|EQUAL|VALUE|SYMBOL|MEMREF|DTYPE|OPERATOR|STRING|FLOAT|INT|WORD|NAME|LATTRS"
    r"|\$END|Token|Traceback|NoneType|object at 0x)\b"
)


def check(data: str | bytes) -> int:
    """Run the tool on a text; check all that holds whatever the text is; return the exit code."""
    done = scaly_opt("--max-errors=0", stdin=data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    shown = repr(data if len(data) < 3000 else data[:3000])
    assert done.code in (0, 1), f"{done.code}: {done.err[:2000]}\n{shown}"
    if done.code == 0:
        assert done.err == "", f"{done.err}\n{shown}"
        again = scaly_opt(stdin=done.out)
        assert again == (0, done.out, ""), f"what is printed is no fixed point: {shown}"
        return 0
    assert done.out == "", shown
    assert done.err.replace("\n", "").replace("\t", "").isprintable(), shown
    heads = [line for line in done.err.split("\n") if re.match(r"(?:<stdin>:[0-9:]*|scaly-opt:) error: ", line)]
    assert heads, shown
    assert len(heads) == 1 or done.err.endswith(f"\n{len(heads):,} errors\n"), f"{done.err[-200:]}\n{shown}"
    places = []
    for head in heads:
        match = _HEAD.match(head)
        assert match is not None or _PLACELESS.match(head), f"no place: {head}\n{shown}"
        assert not _JARGON.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", head)), f"jargon: {head}\n{shown}"
        if match is not None:
            places.append((int(match[1]), int(match[2])))
    assert len(places) == len(set(places)), f"two errors at a place: {heads}\n{shown}"
    return 1


def _texts() -> list[str]:
    """Return the programs to break: some of our own, and the listings of the documents where these are at hand."""
    own = [file.read_text(encoding="utf-8") for file in sorted((ROOT / "testdata").rglob("*.sir"))]
    texts = [text for text in own if len(text) < 4000]
    texts = texts[:: max(1, len(texts) // 20)]
    if SEEDS.is_dir():
        documents = ("ir_reference.txt", "lowering_page.txt")
        texts += [listing.text for name in documents for listing in listings(SEEDS / name)]
    return texts


TEXTS: Final = _texts()


def _sample(cases: Sequence[str | bytes], count: int) -> Iterator[str | bytes]:
    """Yield all cases in the full run, else as many as given, spread over all of them."""
    step = 1 if FULL else max(1, len(cases) // count)
    return islice(cases, 0, None, step)


def _truncations() -> list[str | bytes]:
    encoded = [text.encode() for text in TEXTS]
    return [data[:end] for data in encoded for end in range(len(data))]


def _token_mutations() -> list[str | bytes]:
    mutated: list[str | bytes] = []
    for text in TEXTS:
        parts = pieces(text)
        for at in range(len(parts)):
            mutated.append("".join(parts[:at] + parts[at + 1 :]))
            mutated.append("".join([*parts[: at + 1], " ", *parts[at:]]))
            mutated.append("".join([*parts[:at], *parts[at + 1 : at + 2], " ", parts[at], *parts[at + 2 :]]))
    return mutated


def _replacements() -> list[str | bytes]:
    random = Random(1)
    mutated: list[str | bytes] = []
    for text in TEXTS:
        parts = pieces(text)
        for at in range(len(parts)):
            other = random.choice(ODD_TOKENS)
            mutated.append("".join([*parts[:at], " ", other, *parts[at + random.randint(0, 1) :]]))
    return mutated


def _bytes() -> list[str | bytes]:
    random = Random(2)
    mutated: list[str | bytes] = []
    for text in TEXTS:
        data = text.encode()
        for _ in range(60):
            at, byte = random.randrange(len(data)), random.choice((random.randrange(256), 0, 13, 0x22, 0x7B, 0xFF))
            mutated.append(data[:at] + bytes([byte]) + data[at + random.randint(0, 1) :])
        mutated += [random.randbytes(random.randint(1, 300)) for _ in range(10)]
    return mutated


KINDS: Final[dict[str, tuple[Callable[[], list[str | bytes]], int]]] = {
    "truncations": (_truncations, 150),
    "tokens": (_token_mutations, 240),
    "replacements": (_replacements, 160),
    "bytes": (_bytes, 100),
}


@pytest.mark.parametrize("kind", KINDS)
def test_broken_programs_are_refused_or_mean_something(kind: str) -> None:
    make, count = KINDS[kind]
    codes = [check(case) for case in _sample(make(), count)]
    assert 1 in codes


def test_programs_as_they_are_pass() -> None:
    assert [check(text) for text in TEXTS].count(0) > 5


# --- hostile text -----------------------------------------------------------------------------------------------------

Family = Callable[[int], str]
"""Texts of one kind, by how long or how deep they are."""


def nested(opening: str, inside: str, closing: str, before: str = "", after: str = "") -> Family:
    """Return texts with something inside `count` pairs of brackets."""
    return lambda count: f"{before}{opening * count}{inside}{closing * count}{after}"


def listed(entry: str, between: str = "\n", before: str = "", after: str = "") -> Family:
    """Return texts with `count` entries, in which ``#`` stands for the number of the entry."""
    return lambda count: f"{before}{between.join([entry.replace('#', str(n)) for n in range(count)])}{after}"


_LOOP: Final = "prog.for %i = 0 to 1 step 1 {kind=serial} {\n"
_ASSIGN: Final = "%x = prog.assign "
_CALL: Final = "prog.call @f() {a="
_PROC: Final = "prog.proc @f(%y: memref<1xbool>) {\n"
_TABLE: Final = "%x = prog.buffer : memref<1xbool, constant> = dense<["

_REPEATED: Final = (
    '{|}|(|)|[|]|<|>|,|:|=|"|%|@|-|.|\\|//|/|\r|\0 |\n|%"|"\\|nan<|nan<0x|memref<|memref<1x|1e|1.|-1|a.|a|%a|%a |é',
    "\uff11|\ufeff|prog.add(|prog.load %x[|prog.select(1, |prog.lt(|prog.const(|prog.cast(|my.op(|(my.op(|prog.store ",
    "prog.module {|prog.module {}|prog.proc @f() {|prog.proc @f() {}\n|{a=|[[|slice(|to |True |1 |dense<[|prog.for ",
    f"%x = |{_ASSIGN}|{_ASSIGN}1 : float64\n|{_ASSIGN}(|{_LOOP}|prog.call @f(%x)\n",
    "prog.store 1 %x[0] : float64\n|prog.store 1, %x[0] : float65\n|prog.storr 1, %x[0]\n",
)

HOSTILE: Final[dict[str, Family]] = {
    **{f"many {text!r}": nested(text, "", "") for text in "|".join(_REPEATED).split("|")},
    "closed braces": nested("{", "", "}"),
    "closed operands": nested("prog.neg(", "1", ")", _ASSIGN, " : float64"),
    "closed comparisons": nested("prog.lt(1, ", "1", ")", _ASSIGN, " : float64"),
    "closed loads": nested("prog.load %x[", "0", "]", _ASSIGN, " : float64"),
    "closed choices": nested("prog.select(", "1", ", 1, 1)", _ASSIGN, " : bool"),
    "closed applications": nested("my.op(", "1", ")", _ASSIGN, " : float64"),
    "closed nests": nested(_LOOP, "", "}", "prog.proc @f() {\n", "}"),
    "nests with mistakes": nested(_LOOP.replace("step", "stop"), "", "}"),
    "a nest cut off by a procedure": nested(_LOOP, "prog.proc @g() {}", "", "prog.proc @f() {\n"),
    "a list in attributes": nested("[", "", "]", _CALL, "}"),
    "an open list in attributes": nested("[", "", "", _CALL, "}"),
    "a map in attributes": nested("{a=", "1", "}", _CALL, "}"),
    "slices in attributes": nested("slice(", "1", ", 1, 1)", _CALL, "}"),
    "many attributes": listed("a#=1", ", ", "prog.call @f() {", "}"),
    "many quoted attributes": listed('"a\\n\\u001b#"=1', ", ", "prog.call @f() {", "}"),
    "one attribute many times": listed("a=1", ", ", "prog.call @f() {", "}"),
    "many arguments of a fragment": listed("%a#", ", ", "prog.call @f(", ")"),
    "many arguments": listed("%a#[0]", ", ", f"{_PROC}prog.call @f(", ")}"),
    "many parameters": listed("%a#: memref<1xbool>", ", ", "prog.proc @f(", ") {}"),
    "one parameter many times": listed("%a: memref<1xbool>", ", ", "prog.proc @f(", ") {}"),
    "wrong parameters": listed("%a#: memref<1xbool, private>", ", ", "prog.proc @f(", ") {}"),
    "unknown names in a statement": nested(
        "prog.add(%a, ", "1", ")", f"{_PROC}{_ASSIGN}", " : float64 {declare=True}\n}"
    ),
    "different unknown names in a statement": lambda count: (
        f"{listed('prog.add(%a#, ', '', f'{_PROC}{_ASSIGN}')(count)}1{')' * count} : float64 {{declare=True}} }}"
    ),
    "unknown names": listed("%x# = prog.assign %y# : bool {declare=True}", "\n", _PROC, "}"),
    "unknown callees": listed("prog.proc @p#() { prog.call @q#() }", "\n", "prog.module {", "}"),
    "unknown operations": listed("%x# = prog.assign prog.addd#(1, 2) : int64"),
    "buffers declared twice": listed("%x = prog.buffer : memref<1xbool, private>", "\n", _PROC, "}"),
    "buffers of one name but for its end": listed(
        "%xxxxxxxx# = prog.buffer : memref<1xbool, private>", "\n", _PROC, "}"
    ),
    "overlapping windows": listed(
        "%x# = prog.buffer : memref<4xfloat64, private> = prog.workspace offset 0",
        "\n",
        "prog.proc @f() {w_self=4} {",
        "}",
    ),
    "aliases": listed("%x# = prog.buffer : memref<1xbool, private> = prog.alias %y offset 0", "\n", _PROC, "}"),
    "a long name": nested("a", "", "", "%"),
    "a long quoted name": nested("a", "", "", '%"'),
    "two long names": lambda count: (
        f"prog.proc @f(%{'a' * count}b: memref<1xbool>) {{ {_ASSIGN}%{'a' * count}c : bool }}"
    ),
    "a long operation": nested("add", "(1, 2) : int64", "", f"{_ASSIGN}prog."),
    "a long dtype": nested("float64", "", "", f"{_ASSIGN}1 : "),
    "a long keyword": nested("pair", "", "", "prog.store_"),
    "a long dialect": nested("prog", ".store 1", ""),
    "a long number": nested("1", " : float64", "", _ASSIGN),
    "a long index": nested("1", "] : float64", "", "prog.store 1, %x["),
    "a long fraction": nested("3", " : float64", "", f"{_ASSIGN}0."),
    "a long exponent": nested("9", " : float64", "", f"{_ASSIGN}1e"),
    "a long NaN": nested("f", "> : float64", "", f"{_ASSIGN}nan<0x"),
    "a long shape": nested("1x", "float64>", "", "%x = prog.buffer : memref<"),
    "a long extent": nested("9", "xfloat64>", "", "%x = prog.buffer : memref<"),
    "a large shape": nested("999999999999999999x", "float64>", "", "%x = prog.buffer : memref<"),
    "a long count": nested("9", "} {}", "", "prog.proc @f() {input_count="),
    "a long string": nested("é", '"} {}', "", 'prog.proc @f() {hoisted_from="'),
    "a long comment": nested("/ x", "", "", "//"),
    "a long table": nested("0.5, ", "1]>", "", _TABLE.replace("bool", "float64")),
    "a long table with a letter": lambda count: f"{_TABLE}{'1, ' * (count // 2)}x{', 1' * (count // 2)}]>",
    "a long table of wrong values": nested("2, ", "0]>", "", _TABLE),
    "a long sum": nested("prog.add(1, ", "2", ")", _ASSIGN, " : int64 {declare=True}"),
    "a range of all integers": nested(
        "prog.store 1, %y[%i] : bool\n",
        "}}",
        "",
        f"{_PROC}prog.for %i = -{1 << 63} to {(1 << 63) - 1} step 1 {{kind=global}} {{",
    ),
}
"""Texts made to be as hard as possible for their size."""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_taken_or_refused(name: str) -> None:
    for count in (1, 2, 37, 1000):
        check(HOSTILE[name](count))


@pytest.mark.parametrize("levels", [1000, 100_000 if FULL else 3000])
def test_nests_and_chains_work_at_any_depth(levels: int) -> None:
    depth = min(levels, 2000)  # the indentation makes the text of deeper nests larger than anybody wants
    loops = listed("prog.for %i# = 0 to 1 step 1 {kind=serial} {\n", "", "prog.proc @f(%y: memref<1xfloat64>) {\n")(
        depth
    )
    chain = nested("prog.neg(", "prog.load %y[0]", ")", "prog.store ", ", %y[0] : float64\n")(levels)
    assert check(f"{loops}{chain}{'}' * (depth + 1)}") == 0
    assert check(f"{loops}{chain}{'}' * depth}") == 1


_QUICK: Final = (
    "many '{'",
    "many 'prog.add('",
    "closed nests",
    "many arguments",
    "different unknown names in a statement",
    "unknown callees",
    "a long table with a letter",
)


def _calls(text: str) -> int:
    return calls_of(lambda: scaly_opt(stdin=text))


@pytest.mark.parametrize("name", HOSTILE if FULL else _QUICK)
def test_work_is_linear_in_the_size_of_hostile_text(name: str) -> None:
    check(HOSTILE[name](1))  # loads what is loaded only once
    once, twice, four = [_calls(HOSTILE[name](count)) for count in (200, 400, 800)]
    # With a quadratic share the second difference would be four times the first one.
    assert four - twice <= 2.5 * (twice - once) + 2000, (once, twice, four)


def test_one_line_of_megabytes() -> None:
    count = 2_500_000 if FULL else 100_000
    table = f"memref<{count}xfloat64, constant> = dense<[{', '.join(['0.5'] * count)}]>"
    assert check(f"prog.proc @f() {{ %x = prog.buffer : {table} }}") == 0
    done = scaly_opt(stdin=HOSTILE["a long table with a letter"](count))
    assert done.code == 1
    assert done.err.startswith("<stdin>:1:")
    assert max([len(line) for line in done.err.splitlines()]) < 300


# --- any number of inputs ---------------------------------------------------------------------------------------------

_RUN: Final = """\
import sys
sys.path.insert(0, {benchmarks!r})
import mutations
{before}
sys.argv[1:] = ["--count=60", "--seed=1"]
sys.exit(mutations.main())
"""
_PLANTED: Final = """\
from scaly_ir.tools.translate.targets import Request
def fail(request, given): raise KeyError(3)
Request.apply = fail
"""


@pytest.mark.skipif(os.name != "posix", reason="limits of time and memory as POSIX has them")
@pytest.mark.parametrize(("before", "code", "found"), [("", 0, "0 findings"), (_PLANTED, 1, "': KeyError: 3\n")])
def test_the_runner_for_many_inputs_finds_what_is_wrong(before: str, code: int, found: str) -> None:
    script = _RUN.format(benchmarks=str(ROOT / "benchmarks"), before=before)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, env=environment(), check=False, encoding="utf-8")
    assert (done.returncode, done.stderr) == (code, "")
    assert "seed 1: 60 inputs (" in done.stdout
    assert found in done.stdout
