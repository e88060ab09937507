"""Messages about text: how many there are and where they stand, beyond what the golden tests show."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.lalr import MAX_ERRORS


def diagnostics(text: str) -> list[Diagnostic]:
    """Return what is said about a wrong text."""
    with pytest.raises(sc.ParseError) as caught:
        sc.parse(text)
    return list(caught.value.diagnostics)


def test_reading_ends_after_so_many_mistakes_in_one_statement() -> None:
    entries = ", ".join(["1.5"] * (MAX_ERRORS + 7))
    found = diagnostics(f"%k = prog.buffer : memref<4xint32, constant> = dense<[{entries}]>\n")
    assert len(found) == MAX_ERRORS
    assert {diagnostic.message for diagnostic in found} == {"expected an integer of type int32, found '1.5'"}


@pytest.mark.parametrize(
    "head", ["module {", "module{", "module\n{", "module @m {", "module @m attributes {a.b = 1 : i32} {"]
)
def test_a_module_without_its_dialect_has_one_message(head: str) -> None:
    found = diagnostics(
        f"{head}\n  prog.proc @f(%x: memref<4xfloat64>) {{\n    prog.store 1, %x[0] : float64\n  }}\n}}\n"
    )
    assert [diagnostic.message for diagnostic in found] == ["unknown statement 'module'; did you mean 'prog.module'?"]


@pytest.mark.parametrize("comment", ["# made.by me", "/* made.by me\n made.by you */"])
def test_what_a_foreign_comment_names_is_no_dialect(comment: str) -> None:
    found = diagnostics(f"{comment}\nprog.proc @f() {{\n}}\n")
    assert [diagnostic.message for diagnostic in found] == ["a comment begins with '//'"]


@pytest.mark.parametrize("comment", ["# x", "# %a = 1", "/* x */", "/*\n%a = */"])
def test_a_foreign_comment_does_not_move_what_stands_around_it(comment: str) -> None:
    head = f"  prog.for {comment}\n %k ; 0 to 4 step 1 {{kind=serial}} {{\n"
    found = diagnostics(f"prog.proc @f(%x: memref<4xfloat64>) {{\n{head}    prog.store 1, %x[%k] : float64\n  }}\n}}\n")
    assert [diagnostic.message for diagnostic in found] == [
        "a comment begins with '//'",
        "unexpected character ';'; nothing stands between statements",
    ]
