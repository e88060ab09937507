"""Broken and hostile text through the whole tool: it is refused with located messages, in linear time, and never crashes.

Each case runs `scaly-opt` in process. ``SCALY_IR_FULL_TESTS=1`` runs every mutation instead of a sample.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import pytest

from tests.dialects.prog.texts import ODD_TOKENS, pieces
from tests.test_seeds import SEEDS, listings
from tests.tools.running import scaly_opt

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
    heads = [line for line in done.err.splitlines() if re.search(r": error: ", line[:80])]
    assert heads, shown
    places = []
    for head in heads:
        match = _HEAD.match(head)
        assert match is not None or _PLACELESS.match(head), f"no place: {head}\n{shown}"
        assert not _JARGON.search(re.sub(r"'[^']*'|\"[^\"]*\"", "", head)), f"jargon: {head}\n{shown}"
        if match is not None:
            places.append((int(match[1]), int(match[2])))
    assert places == sorted(set(places)), f"not in order, or two errors at a place: {heads}\n{shown}"
    return 1


def _texts() -> list[str]:
    """Return the programs to break: our own, and the listings that the format comes from where they are at hand."""
    files = sorted((ROOT / "testdata").rglob("*.sir"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    if SEEDS.is_dir():
        documents = ("ir_reference.txt", "lowering_page.txt")
        texts += [listing.text for name in documents for listing in listings(SEEDS / name)]
    return [text for text in texts if len(text) < 4000]


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
    assert set(codes) == {0, 1}


def test_programs_as_they_are_pass() -> None:
    assert [check(text) for text in TEXTS].count(0) > 5


# --- hostile text --------------------------------------------------------------------------------------------------------

_LOOP: Final = "prog.for %i = 0 to 1 step 1 {kind=serial} {\n"
_ASSIGN: Final = "%x = prog.assign "


def _numbered(line: str) -> Callable[[int], str]:
    return lambda count: "".join([line.format(number) for number in range(count)])


HOSTILE: Final[dict[str, Callable[[int], str]]] = {
    **{f"many {text!r}": lambda count, text=text: text * count for text in (  # type: ignore[misc]
        *("{", "}", "(", ")", "[", "]", "<", ">", ",", ":", "=", '"', "%", "@", "-", ".", "\\", "//", "/", "\r", "\0 ", "\n"),
        *('%"', '"\\', "nan<", "nan<0x", "memref<", "memref<1x", "1e", "1.", "-1", "a.", "a", "%a", "%a ", "é", "１", "\ufeff"),
        *("prog.add(", "prog.load %x[", "prog.select(1, ", "prog.lt(", "prog.const(", "prog.cast(", "my.op(", "(my.op("),
        *("prog.store ", "prog.module {", "prog.module {}", "prog.proc @f() {", "prog.proc @f() {}\n", "prog.for ", "%x = "),
        *(_ASSIGN, f"{_ASSIGN}1 : float64\n", f"{_ASSIGN}(", "{a=", "[[", "slice(", "to ", "True ", "1 ", "dense<[", _LOOP),
        *("prog.store 1 %x[0] : float64\n", "prog.store 1, %x[0] : float65\n", "prog.storr 1, %x[0]\n", "prog.call @f(%x)\n"),
    )},
    "closed braces": lambda count: "{" * count + "}" * count,
    "closed operands": lambda count: f"{_ASSIGN}{'prog.neg(' * count}1{')' * count} : float64",
    "closed comparisons": lambda count: f"{_ASSIGN}{'prog.lt(1, ' * count}1{')' * count} : float64",
    "closed loads": lambda count: f"{_ASSIGN}{'prog.load %x[' * count}0{']' * count} : float64",
    "closed choices": lambda count: f"{_ASSIGN}{'prog.select(' * count}1{', 1, 1)' * count} : bool",
    "closed applications": lambda count: f"{_ASSIGN}{'my.op(' * count}1{')' * count} : float64",
    "closed nests": lambda count: _LOOP * count + "}" * count,
    "nests of different loops": lambda count: _numbered("prog.for %i{} = 0 to 1 step 1 {{kind=serial}} {{\n")(count) + "}" * count,
    "a nest cut off by a procedure": lambda count: f"prog.proc @f() {{\n{_LOOP * count}\nprog.proc @g() {{}}",
    "a nest with mistakes": lambda count: _LOOP.replace("step", "stop") * count + "}" * count,
    "a list in attributes": lambda count: f"prog.call @f() {{a={'[' * count}{']' * count}}}",
    "an open list in attributes": lambda count: f"prog.call @f() {{a={'[' * count}}}",
    "a map in attributes": lambda count: f"prog.call @f() {{a={'{a=' * count}1{'}' * count}}}",
    "slices in attributes": lambda count: f"prog.call @f() {{a={'slice(' * count}1{', 1, 1)' * count}}}",
    "many attributes": lambda count: f"prog.call @f() {{{', '.join([f'a{n}=1' for n in range(count)])}}}",
    "one attribute many times": lambda count: f"prog.call @f() {{{', '.join(['a=1'] * count)}}}",
    "many arguments": lambda count: f"prog.call @f({', '.join([f'%a{n}' for n in range(count)])})",
    "many arguments in a procedure": lambda count: (
        f"prog.proc @g() {{\nprog.call @f({', '.join([f'%a{n}[0]' for n in range(count)])})\n}}"
    ),
    "many parameters": lambda count: f"prog.proc @f({', '.join([f'%a{n}: memref<1xbool>' for n in range(count)])}) {{}}",
    "one parameter many times": lambda count: f"prog.proc @f({', '.join(['%a: memref<1xbool>'] * count)}) {{}}",
    "wrong parameters": lambda count: f"prog.proc @f({', '.join([f'%a{n}: memref<1xbool, private>' for n in range(count)])}) {{}}",
    "unknown names in a statement": lambda count: (
        f"prog.proc @f(%y: memref<1xbool>) {{\n%x = prog.assign {''.join([f'prog.add(%a{n}, ' for n in range(count)])}1"
        f"{')' * count} : float64 {{declare=True}}\n}}"
    ),
    "unknown names": lambda count: f"prog.proc @f() {{\n{_numbered('%x{0} = prog.assign %y{0} : bool {{declare=True}}' + chr(10))(count)}}}",
    "unknown callees": lambda count: (
        f"prog.module {{\n{_numbered('prog.proc @p{0}() {{ prog.call @q{0}() }}' + chr(10))(count)}}}"
    ),
    "unknown operations": _numbered("%x{0} = prog.assign prog.addd{0}(1, 2) : int64\n"),
    "buffers declared twice": lambda count: f"prog.proc @f() {{\n{'%x = prog.buffer : memref<1xbool, private>' * count}\n}}",
    "overlapping windows": lambda count: (
        f"prog.proc @f() {{w_self=4}} {{\n{_numbered('%x{} = prog.buffer : memref<4xfloat64, private> = prog.workspace offset 0' + chr(10))(count)}}}"
    ),
    "aliases of aliases": lambda count: (
        f"prog.proc @f(%x0: memref<1xbool>) {{\n"
        f"{''.join([f'%x{n + 1} = prog.buffer : memref<1xbool, private> = prog.alias %x{n} offset 0{chr(10)}' for n in range(count)])}}}"
    ),
    "a long name": lambda count: f"%{'a' * count}",
    "a long quoted name": lambda count: f'%"{"a" * count}',
    "two long names": lambda count: f"prog.proc @f(%{'a' * count}b: memref<1xbool>) {{\n%x = prog.assign %{'a' * count}c : bool\n}}",
    "a long operation": lambda count: f"{_ASSIGN}prog.{'add' * count}(1, 2) : int64",
    "a long dtype": lambda count: f"{_ASSIGN}1 : {'float64' * count}",
    "a long keyword": lambda count: "prog.store_" + "pair" * count,
    "a long dialect": lambda count: "prog" * count + ".store 1",
    "a long number": lambda count: f"{_ASSIGN}{'1' * count} : float64",
    "a long index": lambda count: f"prog.store 1, %x[{'1' * count}] : float64",
    "a long fraction": lambda count: f"{_ASSIGN}0.{'3' * count} : float64",
    "a long exponent": lambda count: f"{_ASSIGN}1e{'9' * count} : float64",
    "a long NaN": lambda count: f"{_ASSIGN}nan<0x{'f' * count}> : float64",
    "a long shape": lambda count: f"%x = prog.buffer : memref<{'1x' * count}float64>",
    "a long extent": lambda count: f"%x = prog.buffer : memref<{'9' * count}xfloat64>",
    "a large shape": lambda count: f"%x = prog.buffer : memref<{'999999999999999999x' * count}float64>",
    "a long string": lambda count: f'prog.proc @f() {{hoisted_from="{"é" * count}"}} {{}}',
    "a long comment": lambda count: f"//{'/ x' * count}",
    "a long table": lambda count: (
        f"prog.proc @f() {{\n%x = prog.buffer : memref<{count}xfloat64, constant> = dense<[{', '.join(['0.5'] * count)}]>\n}}"
    ),
    "a long table with a letter": lambda count: f"%x = prog.buffer : memref<{count}xbool> = dense<[{'1, ' * (count // 2)}x{', 1' * (count // 2)}]>",
    "a long table of wrong values": lambda count: f"%x = prog.buffer : memref<{count}xbool, constant> = dense<[{'2, ' * count}0]>",
    "a long sum": lambda count: f"{_ASSIGN}{'prog.add(1, ' * count}2{')' * count} : int64 {{declare=True}}",
}
"""Texts made to be as hard as possible for their size."""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_taken_or_refused(name: str) -> None:
    for count in (1, 2, 37, 1000):
        check(HOSTILE[name](count))


@pytest.mark.parametrize("levels", [1000, 100_000 if FULL else 3000])
def test_nests_and_chains_work_at_any_depth(levels: int) -> None:
    loops = _numbered("prog.for %i{} = 0 to 1 step 1 {{kind=serial}} {{\n")(levels if levels == 1000 else 2000)
    head = "prog.proc @f(%y: memref<1xfloat64>) {\n"
    store = f"prog.store {'prog.neg(' * levels}%y0{')' * levels}, %y[0] : float64\n".replace("%y0", "prog.load %y[0]")
    assert check(head + loops + store + "}\n" * (loops.count("\n") + 1)) == 0
    assert check(head + loops + store + "}\n" * loops.count("\n")) == 1


# --- time ----------------------------------------------------------------------------------------------------------------

_QUICK: Final = ("many '{'", "many 'prog.add('", "closed nests", "many arguments in a procedure", "two long names", "a long table with a letter")


def _seconds(text: str) -> float:
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        scaly_opt(stdin=text)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("name", HOSTILE if FULL else _QUICK)
def test_time_is_linear_in_the_size_of_hostile_text(name: str) -> None:
    size, factor = 500, 8
    while (small := _seconds(HOSTILE[name](size))) < 0.02 and size < 100_000:
        size *= 4
    large = _seconds(HOSTILE[name](size * factor))
    # Quadratic time would take 64 times as long; the limit leaves room for a busy machine.
    assert large < 24 * max(small, 0.004), f"{size}: {small:.3f} s, {size * factor}: {large:.3f} s"


def test_one_line_of_megabytes() -> None:
    count = 2_500_000 if FULL else 100_000
    good = HOSTILE["a long table"](count)
    assert check(good) == 0
    done = scaly_opt(stdin=HOSTILE["a long table with a letter"](count))
    assert done.code == 1
    assert done.err.startswith("<stdin>:1:")
    assert max([len(line) for line in done.err.splitlines()]) < 300
