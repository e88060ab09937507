"""The option parser: spellings, order, values, shorthands, and what is said when the command line is wrong."""

from __future__ import annotations

import pytest

from scaly_ir.tools.command_line import Given, Option, UsageError, parse_arguments

OPTIONS = (
    Option(("pass", "pipeline"), "yes"),
    Option(("o",), "yes"),
    Option(("verify-each",), "optional"),
    Option(("v", "verbose")),
)
SHORTHANDS = {"fold_arith": "", "fuse": ""}


def _parse(*argv: str) -> tuple[list[tuple[str, str | None]], list[str]]:
    given, files = parse_arguments(argv, OPTIONS, SHORTHANDS)
    return [(option.name, option.value) for option in given], files


def _error(*argv: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse_arguments(argv, OPTIONS, SHORTHANDS)
    return str(caught.value)


def _marked(failure: UsageError) -> str:
    return failure.shown[failure.start : failure.end]


@pytest.mark.parametrize(
    ("argv", "given"),
    [
        (["--pass=a,b"], ("pass", "a,b")),
        (["-pass=a"], ("pass", "a")),
        (["--pass", "a{b=c}"], ("pass", "a{b=c}")),
        (["--pass=a{b=c}"], ("pass", "a{b=c}")),
        (["--pass="], ("pass", "")),
        (["--pipeline=a"], ("pass", "a")),
        (["-o", "-"], ("o", "-")),
        (["-o=x.sir"], ("o", "x.sir")),
        (["-o", "-strange-name"], ("o", "-strange-name")),
        (["--verify-each"], ("verify-each", None)),
        (["--verify-each=false"], ("verify-each", "false")),
        (["-v"], ("v", None)),
        (["--v"], ("v", None)),
        (["-verbose"], ("v", None)),
        (["--fuse"], ("pass", "fuse")),
        (["-fold-arith"], ("pass", "fold-arith")),
        (["--fold_arith=a=1 b"], ("pass", "fold_arith{a=1 b}")),
        (["--fold-arith{a=1 b={c d}}"], ("pass", "fold-arith{a=1 b={c d}}")),
    ],
)
def test_spellings(argv: list[str], given: tuple[str, str | None]) -> None:
    assert _parse(*argv) == ([given], [])


def test_order_is_kept_and_files_stand_anywhere() -> None:
    given, files = _parse("a.sir", "--fuse", "-", "--pass=x", "b.sir", "--fuse")
    assert given == [("pass", "fuse"), ("pass", "x"), ("pass", "fuse")]
    assert files == ["a.sir", "-", "b.sir"]


def test_an_optional_value_needs_the_equals_sign() -> None:
    assert _parse("--verify-each", "false") == ([("verify-each", None)], ["false"])


def test_all_after_two_dashes_are_files() -> None:
    assert _parse("-v", "--", "-v", "--", "--pass=a") == ([("v", None)], ["-v", "--", "--pass=a"])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--verbos"], "unknown option '--verbos'; did you mean '--verbose'?"),
        (["-verbos=1"], "unknown option '-verbos'; did you mean '--verbose'?"),
        (["--verb"], "unknown option '--verb'; did you mean '--verbose'?"),  # no abbreviations
        (["--fold_arit"], "unknown option '--fold_arit'; did you mean '--fold_arith'?"),
        (["--quite-another"], "unknown option '--quite-another'; --help shows all"),
        (["---pass=x"], "unknown option '---pass'; did you mean '--pass'?"),
        (["---"], "unknown option '---'; --help shows all"),
        (["--=x"], "unknown option '--'; --help shows all"),
        (["--pass{a}"], "option '--pass' takes its value after '='"),
        (["--verbose{a}"], "option '--verbose' takes no value"),
        (["--verbose=yes"], "option '--verbose' takes no value"),
        (["--pass"], "option '--pass' needs a value"),
        (["-o"], "option '-o' needs a value"),
        (["-o", "--pass=x"], "option '-o' needs a value, found option '--pass=x'"),
    ],
)
def test_mistakes(argv: list[str], message: str) -> None:
    assert _error(*argv) == message


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["--pass=a,bad"], "--pass=a,bad"),
        (["--pass", "a,bad"], "--pass a,bad"),
        (["-pass=a,bad"], "-pass=a,bad"),
        (["--fuse=a,bad"], "--fuse=a,bad"),
        (["-fuse{a,bad}"], "-fuse{a,bad}"),
    ],
)
def test_a_place_in_a_value_is_found_in_what_was_typed(argv: list[str], shown: str) -> None:
    (given,), _ = parse_arguments(argv, OPTIONS, SHORTHANDS)
    start = given.text.index("bad")
    failure = given.wrong("no", start, start + 3)
    assert failure.shown == shown
    assert _marked(failure) == "bad"


CHOICES = {"auto": 1, "always": 2, "": 3}


def _color(value: str | None) -> Given:
    return Given("color", value, f"--color={value}", len("--color="))


def test_a_choice() -> None:
    assert [_color("always").choice(CHOICES), _color("").choice(CHOICES), _color(None).choice(CHOICES)] == [2, 3, 3]
    with pytest.raises(UsageError) as caught:
        _color("allways").choice(CHOICES)
    assert str(caught.value) == "option '--color' expects 'auto' or 'always', got 'allways'; did you mean 'always'?"
    assert _marked(caught.value) == "allways"
    with pytest.raises(UsageError, match="expects 'a', 'b' or 'c', got 'x'"):
        _color("x").choice(dict.fromkeys("abc"))


@pytest.mark.parametrize("value", ["", "-1", "1.0", "1_0", "²", "٣", "x", "9" * 5000])
def test_what_is_no_number(value: str) -> None:
    with pytest.raises(UsageError, match="option '--color' expects a number of at least 0, got "):
        _color(value).number()


def test_a_number() -> None:
    assert [_color("0").number(), _color("020").number()] == [0, 20]
