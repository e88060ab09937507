"""The head of a reproducer, and the message that is looked for again."""

from __future__ import annotations

import re

import pytest

from scaly_ir.tools.reproducers import Head, read_head


def test_a_head() -> None:
    found = read_head(
        "\ufeff\r\n//scaly-reproducer:1\r\n// pipeline: a{x=1},b\n// other: c\n"
        "// options: --verify-each=false\n// failed: a: error: no\n// pipeline: late\n\nprog.proc\n// failed: later\n"
    )
    assert found == Head("1", "a{x=1},b", "--verify-each=false", "a: error: no")
    assert not found.verify_each
    assert found.header("b", "y.sir") == (
        "// scaly-reproducer: 1\n// pipeline: b\n// options: --verify-each=false\n// failed: a: error: no\n"
        "// run: scaly-opt --run-reproducer y.sir\n"
    )


@pytest.mark.parametrize(
    "text", ["", "// pipeline: a\n", "prog.proc\n// scaly-reproducer: 1\n", "// a scaly-reproducer: 1\n"]
)
def test_other_files(text: str) -> None:
    assert read_head(text) is None


@pytest.mark.parametrize(
    ("failed", "message", "matches"),
    [
        ("p: error: no slot", "error: no slot", True),
        ("p: error: no slot", "error: no  slot", True),
        ("p: error: no slot", "error: no lot", False),
        ("p: error: a.b (x|y)", "error: a.b (x|y)", True),
        ("p: error: a.b (x|y)", "error: acb (x|y)", False),
        ("p: error: IR is invalid after pass 'p' (2 of 5): x", "error: IR is invalid after pass 'p' (1 of 1): x", True),
        (
            "p: error: IR is invalid after pass 'p' (2 of 5): x",
            "error: IR is invalid after pass 'q' (2 of 5): x",
            False,
        ),
        ("p: error: %12 is odd", "error: %3 is odd", True),
        ("p: error: 12 is odd", "error: 3 is odd", False),
        ("p: error: this error: that", "error: this error: that", True),
    ],
)
def test_the_message_of_the_failure(failed: str, message: str, matches: bool) -> None:
    assert bool(re.search(Head("1", failed=failed).error, message)) is matches


def test_a_failure_without_a_message() -> None:
    assert Head("1", failed="p: gone").error == ""


def test_the_command_is_one_for_a_shell_and_loads_plug_ins() -> None:
    head = read_head("// scaly-reproducer: 1\n// pipeline: p\n", ["--load-plugin=a:b"])
    assert head is not None
    assert head.command("x y.sir") == "scaly-opt --load-plugin=a:b --run-reproducer 'x y.sir'"
    assert head.header("q", "z.sir") == (
        "// scaly-reproducer: 1\n// pipeline: q\n// run: scaly-opt --load-plugin=a:b --run-reproducer z.sir\n"
    )
