"""The options of filecheck: those it has, and a refusal for each it has not."""

from __future__ import annotations

import pytest

from scaly_ir.tools.golden.check_options import CheckOptions, OptionError, parse


def test_defaults() -> None:
    assert parse(["f"]) == CheckOptions("f", ("CHECK",))


def test_all_options() -> None:
    arguments = "f --check-prefix=A -check-prefix B --check-prefixes=C,D -DX=1 -D$Y=a=b --match-full-lines"
    arguments += " --strict-whitespace -enable-var-scope --allow-empty --input-file=g"
    assert parse(arguments.split()) == CheckOptions(
        "f", ("A", "B", "C", "D"), "g", (("X", "1"), ("$Y", "a=b")), True, True, True, True
    )


@pytest.mark.parametrize(
    ("arguments", "index", "message"),
    [
        ("", None, "expected the file with the directives, as in 'filecheck %s'"),
        ("f g", 1, "expected one file with directives, found 'f' and 'g'"),
        (
            "f --check-prefx=A",
            1,
            "unknown option '--check-prefx'; did you mean '--check-prefix' or '--check-prefixes'?",
        ),
        ("f --zzz", 1, "unknown option '--zzz'"),
        (
            "f --implicit-check-not=x",
            1,
            "option '--implicit-check-not' of LLVM's FileCheck is not supported by the 'filecheck' package",
        ),
        (
            "f --ignore-case",
            1,
            "option '--ignore-case' of LLVM's FileCheck is not supported by the 'filecheck' package",
        ),
        ("f --check-prefix", 1, "option '--check-prefix' needs a value"),
        ("f --check-prefix=", 1, "option '--check-prefix' needs a value"),
        ("f --allow-empty=1", 1, "option '--allow-empty' takes no value"),
        ("f -DX", 1, "expected '-DNAME=VALUE', found '-DX'"),
        ("f -D1=2", 1, "expected '-DNAME=VALUE', found '-D1=2'"),
        ("f -D#X=1", 1, "numeric variables ('-D#') are not supported by the 'filecheck' package"),
        ("f --check-prefix=A,B", 1, "'A,B' is no prefix: one starts with a letter and has letters, digits, - and _"),
        ("f --check-prefixes=A,", 1, "'' is no prefix: one starts with a letter and has letters, digits, - and _"),
        ("f --check-prefix=RUN", 1, "'RUN' marks comments and cannot be a prefix"),
        ("f --check-prefixes=A,A", 1, "prefix 'A' is given twice"),
        ("f --check-prefix=A --check-prefix A", 3, "prefix 'A' is given twice"),
    ],
)
def test_refused(arguments: str, index: int | None, message: str) -> None:
    with pytest.raises(OptionError) as refused:
        parse(arguments.split())
    assert (str(refused.value), refused.value.index) == (message, index)
