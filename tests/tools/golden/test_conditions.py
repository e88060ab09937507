"""REQUIRES, UNSUPPORTED and XFAIL."""

from __future__ import annotations

from functools import partial

import pytest

from scaly_ir.text.source import Source
from scaly_ir.tools.golden import conditions
from scaly_ir.tools.golden.conditions import FEATURES, Conditions, parse


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"cc": False, "windows": False, "posix": True}.items():
        monkeypatch.setitem(FEATURES, name, partial(bool, value))


def _parse(text: str) -> tuple[Conditions, list[str]]:
    found, problems = parse(Source.from_text(text, "x.sir"))
    return found, [problem.head() for problem in problems]


@pytest.mark.parametrize(
    ("text", "skip", "xfail"),
    [
        ("", "", ""),
        ("// REQUIRES: posix", "", ""),
        ("// REQUIRES: cc, posix", "requires cc", ""),
        ("// REQUIRES: posix\n// REQUIRES: windows, cc", "requires windows, cc", ""),
        ("// UNSUPPORTED: windows", "", ""),
        ("// UNSUPPORTED: windows, posix", "unsupported with posix", ""),
        ("// XFAIL: windows", "", ""),
        ("// XFAIL: posix", "", "XFAIL: posix"),
        ("//XFAIL:*", "", "XFAIL: *"),
        ("// see REQUIRES: cc", "", ""),
    ],
)
def test_features(text: str, skip: str, xfail: str) -> None:
    found, problems = _parse(text + "\n")
    assert problems == []
    assert (found.skip_reason(), found.xfail_reason()) == (skip, xfail)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "// REQUIRES: posx",
            "1:14: error: unknown feature 'posx'; did you mean 'posix'? (there are cc, windows, posix)",
        ),
        ("// REQUIRES: cc, gpu", "1:18: error: unknown feature 'gpu' (there are cc, windows, posix)"),
        ("// REQUIRES: *", "1:14: error: unknown feature '*' (there are cc, windows, posix)"),
        ("// XFAIL:", "1:10: error: expected a feature (there are cc, windows, posix)"),
        ("// XFAIL: !cc", "1:11: error: unknown feature '!cc'; did you mean 'cc'? (there are cc, windows, posix)"),
    ],
)
def test_refused(text: str, problem: str) -> None:
    assert _parse(text + "\n")[1] == [f"x.sir:{problem}"]


def test_the_compiler_is_looked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    conditions._has_c_compiler.cache_clear()
    monkeypatch.setenv("CC", "no-such-compiler-anywhere -O2")
    assert not conditions._has_c_compiler()
    conditions._has_c_compiler.cache_clear()
