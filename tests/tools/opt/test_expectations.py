"""Comments that expect diagnostics: what they say, what meets them, and what is reported where nothing does."""

from __future__ import annotations

from pathlib import Path

import pytest

from scaly_ir.text.source import Source
from scaly_ir.tools.opt.expectations import expectations
from tests.tools.running import CHAIN, scaly_opt

STORE = "prog.proc @f(%x: memref<1xfloat64>) {{\n{0}  prog.store 1, %z[0] : float64{1}\n{2}}}\n"
"""A procedure with an error on its second line, or where the comments before it push it."""


def _run(workspace: Path, text: str, *options: str) -> tuple[int, list[str]]:
    """Return the exit code and the first lines of what is reported."""
    (workspace / "f.sir").write_text(text, encoding="utf-8")
    done = scaly_opt("f.sir", *(options or ("--verify-diagnostics",)))
    return done.code, [line for line in done.err.splitlines() if line.startswith(("f.sir", "scaly-opt"))]


@pytest.mark.parametrize(
    ("before", "beside", "after"),
    [
        ("", " // expected-error {{name %z is not declared}}", ""),
        ("// expected-error@+1 {{%z}}\n", "", ""),
        ("// expected-error@below {{%z}}\n", "", ""),
        ("// expected-error@below {{%z}}\n// expected-error@below {{not}}\n", "", ""),
        ("", "", "// expected-error@-1 {{%z}}\n"),
        ("", "", "// expected-error@above{{%z}}\n"),
        ("", " // see expected-error-re {{name {{%[a-z]}} is}} here", ""),
    ],
)
def test_met(workspace: Path, before: str, beside: str, after: str) -> None:
    code, lines = _run(workspace, STORE.format(before, beside, after))
    if before.count("expected") == 2:  # there is one error, and two comments expect it
        assert (code, len(lines)) == (1, 2)
        assert "error: expected error was not produced: not" in lines[0]
    else:
        assert (code, lines) == (0, [])


def test_unexpected_and_missing(workspace: Path) -> None:
    code, lines = _run(workspace, STORE.format("// expected-warning@+1 {{name}}\n", "", ""))
    assert code == 1
    actual = "'prog.store': name %z is not declared here"
    assert [line.partition(" [")[0] for line in lines] == [
        "f.sir:2:4: error: expected warning was not produced: name",
        f"f.sir:3:17: note: the nearest message is this error: {actual}",
        f"f.sir:3:17: error: unexpected error: {actual}",
    ]


def test_only_expected(workspace: Path) -> None:
    assert _run(workspace, STORE.format("", "", ""), "--verify-diagnostics=only-expected") == (0, [])
    assert _run(workspace, STORE.format("", "", ""))[0] == 1
    missing = STORE.format("// expected-error {{no}}\n", "", "")
    assert _run(workspace, missing, "--verify-diagnostics=only-expected")[0] == 1


REDECLARED = """\
prog.proc @f(%x: memref<1xfloat64>) {
  %x = prog.buffer : memref<1xfloat64, private> // expected-error {{declared twice}}
}
"""


def test_notes_count_only_where_one_is_expected(workspace: Path) -> None:
    assert _run(workspace, REDECLARED) == (0, [])
    noted = REDECLARED.replace("{\n", "{ // expected-note {{is declared here}}\n", 1)
    assert _run(workspace, noted) == (0, [])
    code, lines = _run(workspace, REDECLARED.replace("{\n", "{ // expected-note {{is not}}\n", 1))
    assert code == 1
    assert lines[-1].startswith("f.sir:1:14: error: unexpected note: %x is declared here")


def test_messages_without_a_place(workspace: Path) -> None:
    text = f"// expected-remark@unknown {{{{@chain}}}}\n{CHAIN}"
    code, lines = _run(workspace, text, "--verify-diagnostics", "--pass=dce")
    assert code == 1
    assert lines[0] == "f.sir:1:4: error: expected remark was not produced: @chain"
    refused = f"// expected-error@unknown {{{{takes a module of dialect}}}}\n{CHAIN}"
    assert _run(workspace, refused, "--verify-diagnostics", "--pass=simplify") == (0, [])


def test_parts_of_a_file_are_compared_each(workspace: Path) -> None:
    bad = STORE.format("", " // expected-error {{%z}}", "")
    assert _run(workspace, f"{bad}// -----\n{CHAIN}// -----\n{bad}", "--verify-diagnostics", "--split-input-file") == (
        0,
        [],
    )


def test_without_the_option_comments_are_comments(workspace: Path) -> None:
    assert _run(workspace, f"// expected-error {{{{x}}}}\n{CHAIN}", "-q") == (0, [])


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("expected-eror {{x}}", "unknown directive 'expected-eror'; did you mean 'expected-error'"),
        ("expected-error x", "expected '{{text}}' after 'expected-error'"),
        ("expected-error {{x", "expected '{{text}}' after 'expected-error'"),
        ("expected-error@1 {{x}}", "'@1' is no place; expected @+N, @-N, @above, @below or @unknown"),
        ("expected-error-re {{x{{(}}}}", "'x{{(}}' is no regular expression"),
    ],
)
def test_wrong_comments(comment: str, message: str) -> None:
    found, wrong = expectations(Source("f", f"a\nb // {comment}\n"))
    assert not found
    assert len(wrong) == 1
    assert wrong[0].message.startswith(message)
    assert wrong[0].span is not None
    assert wrong[0].span.position() == (2, 6)


def test_several_on_a_line() -> None:
    found, wrong = expectations(Source("f", "x // expected-error {{a}} expected-note@+2 {{b}}\n"))
    assert not wrong
    assert [(each.severity, each.line, each.text) for each in found] == [("error", 1, "a"), ("note", 3, "b")]


def test_an_internal_error_is_no_expectation(workspace: Path) -> None:
    done = scaly_opt("--verify-diagnostics=sometimes")
    assert done.code == 2
    assert "option '--verify-diagnostics' expects 'all' or 'only-expected'" in done.err
