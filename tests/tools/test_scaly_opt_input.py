"""Unusual input to scaly-opt: every row of the table in the tools specification, section 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.running import TEN_LINES, scaly_opt

pytestmark = pytest.mark.usefixtures("workspace")

HEAD = "prog.proc @f(%x: memref<8xfloat64>) {\n"


def _errors(text: str | bytes) -> str:
    """Refuse a text; return what is said about it."""
    done = scaly_opt("--stdin-name=x", stdin=text)
    assert (done.code, done.out) == (1, "")
    return done.err


def test_a_file_that_is_missing_or_none() -> None:
    Path("chain.sir").write_text(TEN_LINES)
    missing = "scaly-opt: error: cannot read 'chian.sir': No such file or directory; did you mean 'chain.sir'?\n"
    done = scaly_opt("chian.sir", "chain.sir")
    assert done == (1, TEN_LINES, missing)
    assert scaly_opt(".").err == "scaly-opt: error: cannot read '.': Is a directory\n"


def test_a_file_that_may_not_be_read(unprivileged: Path) -> None:
    Path("secret.sir").touch(mode=0)
    Path("chain.sir").write_text(TEN_LINES)
    message = "scaly-opt: error: cannot read 'secret.sir': Permission denied\n"
    assert scaly_opt("secret.sir", "chain.sir") == (1, TEN_LINES, message)


@pytest.mark.parametrize("text", ["", "\n", " \t\n\n", "// nothing\n", "// nothing", "// a\n\n  // b\n"])
def test_nothing_is_the_empty_module(text: str) -> None:
    assert scaly_opt(stdin=text) == (0, "", "")


def test_a_byte_order_mark_and_carriage_returns_are_skipped() -> None:
    marked = b"\xef\xbb\xbf" + TEN_LINES.replace("\n", "\r\n").encode()
    assert scaly_opt(stdin=marked) == (0, TEN_LINES, "")
    bad = HEAD + "  prog.store 1, %x[0] : float65\n}\n"
    assert _errors(b"\xef\xbb\xbf" + bad.replace("\n", "\r\n").encode()) == _errors(bad)
    assert _errors(bad).startswith("x:2:25: error: unknown dtype 'float65'")


def test_a_lone_carriage_return_is_an_error_at_its_place() -> None:
    lines = _errors("prog.module {\r}\n").splitlines()
    assert lines[0] == "x:1:14: error: a carriage return without a line feed after it"
    assert lines[-1] == "             ^"
    assert "\r" not in lines[1]


def test_tabs_count_one_and_stay_in_the_caret_line() -> None:
    head, line, caret = _errors(HEAD + "\t\tprog.store\t1, %x[0] :\tfloat65\n}\n").splitlines()
    assert head.startswith("x:2:25: error: ")
    assert line == "\t\tprog.store\t1, %x[0] :\tfloat65"
    assert caret == "\t\t          \t          \t^~~~~~~"


def test_a_binary_file_is_refused() -> None:
    assert _errors(b"prog.module {\n\0}\n") == "scaly-opt: error: 'x' is a binary file\n"
    assert _errors(TEN_LINES.encode("utf-16")) == "scaly-opt: error: 'x' is a binary file\n"


def test_invalid_utf8_is_located() -> None:
    assert _errors(b"\xef\xbb\xbf// \xc3\xa9\r\n// caf\xe9\n") == (
        "x:2:7: error: byte 0xe9 is not valid UTF-8\n// caf\ufffd\n      ^\n"
    )
    assert _errors(b"// \xe2\x82").startswith("x:1:4: error: byte 0xe2 is not valid UTF-8\n")


def test_other_characters_belong_in_strings_and_comments() -> None:
    assert _errors(HEAD + "  prog.store é, %x[0] : float64\n}\n").startswith("x:2:14: error: unexpected character 'é'")
    assert _errors(HEAD + "  \x01\n}\n").startswith("x:2:3: error: unexpected character U+0001")
    text = 'prog.proc @"naïve \u65e5"(%"\\u0007": memref<8xfloat64>) {\n}\n'
    assert scaly_opt(stdin=f"// \u65e5\n{text}") == (0, text, "")


def test_wide_characters_take_two_cells_above_the_caret() -> None:
    _, line, caret = _errors('prog.proc @"\u65e5\u672c"(%x: memref<8xfloat65>) {\n}\n').splitlines()
    assert line == 'prog.proc @"\u65e5\u672c"(%x: memref<8xfloat65>) {'
    assert caret.index("^") == line.index("float65") + 2


def test_a_window_of_a_very_long_line_is_shown() -> None:
    value = "prog.add(" * 2000 + "1" + ", 1)" * 1000 + ", @" + ", 1)" * 1000
    head, line, caret = _errors(f"{HEAD}  prog.store {value}, %x[0] : float64\n}}\n").splitlines()
    column = len("  prog.store ") + len("prog.add(") * 2000 + 1 + len(", 1)") * 1000 + 3
    assert head.startswith(f"x:2:{column}: error: ")
    assert len(line) <= 160 + 2 * len("...")
    assert line.startswith("...")
    assert line.endswith("...")
    assert line[caret.index("^")] == "@"


def test_a_long_chain_is_read_whole() -> None:
    value = "prog.add(" * 20_000 + "1" + ", 1)" * 20_000
    text = f"{HEAD}  prog.store {value}, %x[0] : float64\n}}\n"
    assert scaly_opt("--fuse_elementwise", stdin=text) == (0, text, "")


def test_a_deep_nest_is_read_whole() -> None:
    lines = [f"{'  ' * n}  prog.for %i{n} = 0 to 1 step 1 {{kind=global}} {{\n" for n in range(1000)]
    closing = [f"{'  ' * n}  }}\n" for n in reversed(range(1000))]
    text = HEAD + "".join([*lines, "  " * 1001 + "prog.store 1, %x[%i999] : float64\n", *closing]) + "}\n"
    assert scaly_opt("--fuse_elementwise", stdin=text) == (0, text, "")


def test_a_nest_that_is_not_closed_is_reported_at_its_opening() -> None:
    text = HEAD + "prog.for %i = 0 to 1 step 1 {kind=global} {\n" * 2000
    lines = _errors(text).splitlines()
    assert lines[0] == "x:2001:44: error: expected '}', found the end of the file"
    assert lines[3] == "x:2001:43: note: the block opened here is not closed"


def test_an_elided_table_says_what_happened_to_it() -> None:
    text = HEAD + "  %k = prog.buffer : memref<9xfloat64, constant> = dense<elided<9>>\n}\n"
    head = _errors(text).splitlines()[0]
    assert head.startswith("x:2:")
    assert head.endswith("this constant was elided when it was printed [table-elided]")


@pytest.mark.parametrize(
    "text",
    [
        "}",
        "{",
        "prog.module",
        "prog.module {",
        "prog.module { } }",
        "prog.module {\n  prog.proc @f() {\n  }\n  }\n}\n",
        "prog.module { prog.module { } }",
        "%",
        "@",
        '"',
        "prog.",
        "prog.store",
        "func.func @f() { }",
        "#!/bin/sh\nexit\n",
        "\x1b[31m",
        "<?xml?>",
        "memref<" * 1000,
        "[" * 5000,
        "prog.add(" * 5000,
        f"{HEAD}  prog.store {'9' * 5000}, %x[0] : float64\n}}\n",
        f"{HEAD}  prog.store 1, %x[{'9' * 5000}] : float64\n}}\n",
        f"{HEAD}  prog.store 1e999, %x[0] : float64\n}}\n",
    ],
)
def test_whatever_is_refused_is_refused_with_a_located_error(text: str) -> None:
    said = _errors(text)
    assert said.startswith("x:")
    assert "Traceback" not in said
    assert "internal error" not in said
    assert "\x1b" not in said
