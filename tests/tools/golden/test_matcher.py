"""FileCheck: verdicts, including those where the package alone would differ from LLVM, and what a mismatch tells."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

import pytest

from scaly_ir.text.source import Source
from scaly_ir.tools.golden import matcher
from scaly_ir.tools.golden.check_options import parse
from scaly_ir.tools.golden.matcher import CheckResult, Mismatch, MissingPackageError, check

pytest.importorskip("filecheck")


def _check(directives: str, output: str, options: str = "") -> CheckResult:
    """Check `output`; in both texts lines are separated by `;`."""
    expected = Source.from_text(directives.replace(";", "\n") + "\n", "x.sir")
    return check(parse(["x.sir", *options.split()]), expected, Source.from_text(output.replace(";", "\n"), "<out>"))


def _mismatch(directives: str, output: str, options: str = "") -> Mismatch:
    mismatch = _check(directives, output, options).mismatch
    assert mismatch
    return mismatch


@pytest.mark.parametrize(
    ("directives", "passes", "fails"),
    [
        ("CHECK: a;CHECK: b", "a;x;b;", "b;a;"),
        ("CHECK: a;CHECK-NEXT: b", "x;a;  b;", "a;x;b;"),
        ("CHECK: a;CHECK-NEXT: b", "a;b", "a"),
        ("CHECK: a;CHECK-SAME: b", "a x b;", "a;b;"),
        ("CHECK: a;CHECK-NOT: x;CHECK: b", "a;b;x;", "a;x;b;"),
        ("CHECK: a;CHECK-NOT: x", "x;a;", "a;x"),
        ("CHECK-NOT: x;CHECK: a", "a;x;", "x;a;"),
        ("CHECK-DAG: a;CHECK-DAG: b;CHECK-NEXT: c", "b;a;c;", "b;a;x;c;"),
        ("CHECK-DAG: a;CHECK-NOT: x;CHECK-DAG: b", "a;b;x;", "a;x;b;"),
        ("CHECK-LABEL: f;CHECK: a;CHECK-LABEL: g;CHECK: b", "f;a;g;b;", "f;g;a;b;"),
        ("CHECK-LABEL: f;CHECK-NOT: x;CHECK-LABEL: g", "f;a;g;x;", "f;x;g;"),
        ("CHECK-LABEL: f;CHECK-NEXT: a;CHECK-LABEL: g", "f;a;g;", "f;g;a;"),
        ("CHECK-LABEL: f;CHECK-NEXT: a;CHECK-LABEL: g", "f;a g;", "f g;a;"),
        ("CHECK: a;CHECK-EMPTY:;CHECK-NEXT: b", "a;;b;", "a;b;;"),
        ("CHECK: a;CHECK-EMPTY:;CHECK-NEXT: b", "a;;b", "a;"),
        ("CHECK-COUNT-2: a;CHECK-NOT: a", "a a;", "a;a;a;"),
        ("CHECK-COUNT-3: a", "a;a;a;", "a;a;"),
        ("CHECK{LITERAL}: [[a]] {{b}}", "[[a]] {{b}};", "a b;"),
        ("CHECK: a  b", "a b;", "ab;"),
        ("CHECK: a b", "a   b;", "a-b;"),
        ("CHECK: %[[X:[0-9]+]] = f;CHECK: g(%[[X]])", "%7 = f;g(%7);", "%7 = f;g(%8);"),
        ("CHECK: [[X:[a-z]+]]-[[X]]", "ab-ab;", "ab-cd;"),
        ("CHECK: v[[#NO:]];CHECK: w[[#NO]]", "v7;w7;", "v7;w8;"),
        ("CHECK: l;CHECK: [[# @LINE - 1]]: x", "l;1: x;", "l;2: x;"),
        ("CHECK: {{[[:alpha:]]+[^0]}}!", "ab1!;", "0!;"),
        ("CHECK: {{(a|b)}}[[X:c+]];CHECK: =[[X]]", "bcc;=cc;", "bcc;=c;"),
    ],
)
def test_verdicts(directives: str, passes: str, fails: str) -> None:
    assert _check(directives, passes).code == 0
    assert _check(directives, fails).code == 1


@pytest.mark.parametrize(
    ("options", "directives", "passes", "fails"),
    [
        ("--match-full-lines", "CHECK: a", " a ;", "ab;"),
        ("--match-full-lines", "CHECK-NOT: b;CHECK: a", "bb;a;", "b;a;"),
        ("--match-full-lines", "CHECK: a;CHECK-NEXT: b", "a; b;", "a;bb;b;"),
        ("--match-full-lines", "CHECK: a;CHECK-NOT: b", "a;bb;", "a;b;"),
        ("--match-full-lines", "CHECK-DAG: a;CHECK-DAG: b;CHECK-NOT: x;CHECK: c", "b;a;xx;c;", "b;a;x;c;"),
        ("--match-full-lines --strict-whitespace", "CHECK:a", "a;", " a;"),
        ("--strict-whitespace", "CHECK: a b", "a b;", "a  b;"),
        ("--enable-var-scope", "CHECK: [[$X:a]];CHECK-LABEL: f;CHECK: [[$X]]", "a;f;a;", "a;f;b;"),
        ("-DX=a -DY=b", "CHECK: [[X]][[Y]]", "ab;", "ba;"),
        ("--check-prefixes=A,B", "A: a;B-NEXT: b;CHECK: c", "a;b;", "a;x;b;"),
        ("--allow-empty", "CHECK-NOT: a", "", "a;"),
        ("", "CHECK-NOT: a", ";;", ""),
    ],
)
def test_options(options: str, directives: str, passes: str, fails: str) -> None:
    assert _check(directives, passes, options).code == 0
    assert _check(directives, fails, options).code == 1


def test_next_captures_from_the_first_occurrence() -> None:
    """The package alone takes the last one: X would be 1."""
    assert _check("CHECK: a;CHECK-NEXT: %[[X:[0-9]+]];CHECK: use [[X]]!", "a;%2 = f(%0, %1);use 2!;").code == 0


def test_not_searches_up_to_the_start_of_the_next_match() -> None:
    """The package alone searches to the end of that match."""
    assert _check("CHECK-NOT: foo;CHECK: foo bar", "x;foo bar;").code == 0
    assert _check("CHECK-NOT: foo;CHECK-COUNT-2: foo", "foo;foo;").code == 0
    assert _check("CHECK: a;CHECK-NOT: b;CHECK-NEXT: bb", "a;bb;").code == 0
    assert _check("CHECK: a;CHECK-NOT: b;CHECK-NEXT: c", "a;b c;").code == 1


def test_a_directive_that_mentions_run_counts() -> None:
    """The package alone takes it for a comment."""
    assert _check("CHECK: RUN the CHECK", "other;").code == 1
    assert _check("COM: CHECK: a;CHECK: b", "b;").code == 0


def test_scope_ends_at_a_label() -> None:
    """The package alone accepts the option and forgets it."""
    directives, output = "CHECK: [[X:a]];CHECK-LABEL: f;CHECK: [[X]]", "a;f;a;"
    assert _check(directives, output).code == 0
    assert _mismatch(directives, output, "--enable-var-scope").message == "'X' has no value here"


@pytest.mark.parametrize(
    ("directives", "message"),
    [
        (
            "CHECK: {{((a)b)}}[[X:c]]",
            "the 'filecheck' package miscounts the parentheses here; use fewer, or a capture on another line",
        ),
        ("CHECK: {{[[:print:]]}}", "the 'filecheck' package does not know the character class [:print:]"),
        ("CHECK: {{(}}", "its text is no valid regular expression"),
        ("CHECK: [[#NO:]] [[#NO+1]]", "numeric expressions are not supported by the 'filecheck' package"),
        ("CHECK: [[X]]", "'X' has no value here"),
        ("CHECK: [[X:a", "invalid substitution block, no ]]"),
    ],
)
def test_what_cannot_be_matched_fails_at_its_place(directives: str, message: str) -> None:
    mismatch = _mismatch(f"CHECK: a;{directives}", "a;ab;")
    assert mismatch.message == message
    assert mismatch.directive.line == 2


@pytest.mark.parametrize(
    ("directives", "output", "head", "note"),
    [
        ("CHECK: a", "x;y;", "1:8: error: CHECK: no match in the rest of the output", "1:1: note: searched from here"),
        (
            "CHECK-LABEL: f;CHECK: a;CHECK-LABEL: g",
            "f;x;g;a;",
            "2:8: error: CHECK: no match before the next label",
            "1:2: note: searched from here",
        ),
        (
            "CHECK: a;CHECK-NEXT: b",
            "a;x;b;",
            "2:13: error: CHECK-NEXT: no match on the next line",
            "2:1: note: this line was tried",
        ),
        (
            "CHECK: a;CHECK-NEXT: b",
            "x;a;",
            "2:13: error: CHECK-NEXT: no match on the next line: the output ends here",
            "2:1: note: this is the last line",
        ),
        (
            "CHECK: a;CHECK-SAME: b",
            "a;b;",
            "2:13: error: CHECK-SAME: no match on the rest of the line",
            "1:2: note: searched from here",
        ),
        (
            "CHECK: a;CHECK-EMPTY:",
            "a;b;",
            "2:1: error: CHECK-EMPTY: the next line is not empty",
            "2:1: note: this line was tried",
        ),
        (
            "CHECK: a;CHECK-NOT: b;CHECK: c",
            "a;x;xb;c;",
            "2:12: error: CHECK-NOT: found what must not be there",
            "3:2: note: found here; searched lines 1 to 3",
        ),
        (
            "CHECK: a;CHECK-DAG: b;CHECK-DAG: c",
            "a;b;",
            "3:12: error: CHECK-DAG: no match in the rest of the output",
            "1:2: note: the group searches lines 1 to 2, from here",
        ),
        (
            "CHECK-COUNT-3: a",
            "a;xa;y;",
            "1:16: error: CHECK-COUNT-3: found 2 of 3 matches in the rest of the output",
            "2:2: note: the last of them",
        ),
        (
            "CHECK-LABEL: f;CHECK-LABEL: g",
            "f;x;",
            "2:14: error: CHECK-LABEL: no such label in the rest of the output",
            "1:2: note: searched from here",
        ),
        (
            "CHECK: [[X:a]] [[Y:b]];CHECK-NEXT: [[Y]] [[X]]",
            "a b;a b;",
            "2:13: error: CHECK-NEXT: no match on the next line",
            '2:1: note: this line was tried, with Y = "b" and X = "a"',
        ),
    ],
)
def test_a_mismatch_tells_both_places(directives: str, output: str, head: str, note: str) -> None:
    diagnostic = _mismatch(directives, output).diagnostic()
    assert diagnostic.head() == f"x.sir:{head}"
    assert [remark.head() for remark in diagnostic.notes] == [f"<out>:{note}"]


def test_a_mismatch_knows_where_its_pattern_does_match() -> None:
    mismatch = _mismatch("CHECK: a;CHECK-NEXT: b", "a;x;  b;")
    assert mismatch.meant
    assert mismatch.meant.position() == (3, 3)
    assert mismatch.matched == ((0, 1),)
    assert _mismatch("CHECK: a;CHECK: b", "b;a;").meant
    assert _mismatch("CHECK: a;CHECK: a", "a;").meant is None


def test_without_directives_or_output() -> None:
    none = _check("nothing", "a;")
    assert (none.code, none.message) == (2, "'x.sir' has no directive with the prefix 'CHECK'")
    empty = _check("CHECK: a", "")
    assert (empty.code, empty.message) == (1, "there is no output to check; --allow-empty would accept that")


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    result = _check("CHECK-DAG: a;CHECK: [[X:b*]]c;CHECK: d", "a;c;")
    assert result.mismatch
    assert "Empty pattern capture" in result.remarks
    assert capsys.readouterr() == ("", "")


@pytest.mark.filterwarnings("error")
def test_brackets_in_a_set_are_no_reason_to_warn() -> None:
    assert _check("CHECK: {{[[q]+}}!", "q[!;").code == 0


def test_a_large_output_takes_linear_time() -> None:
    output = "".join([f"%{number} = f;" for number in range(50_000)])
    assert _check("CHECK: %0 = f;CHECK-NOT: g;CHECK: %49999 = f", output).code == 0
    assert _check("CHECK: %0 = f;CHECK: g", output).code == 1


@pytest.fixture
def _fresh() -> Iterator[None]:
    matcher.require.cache_clear()
    yield
    matcher.require.cache_clear()


@pytest.mark.usefixtures("_fresh")
def test_another_release_of_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0.5")
    message = "need version 1.0.6 of the package 'filecheck', found 1.0.5; install it with pip install"
    with pytest.raises(MissingPackageError, match=message):
        _check("CHECK: a", "a;")


@pytest.mark.usefixtures("_fresh")
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(MissingPackageError) as refused:
        _check("CHECK: a", "a;")
    assert (
        str(refused.value)
        == "golden tests need the package 'filecheck'; install it with pip install \"scaly-ir[test]\""
    )
