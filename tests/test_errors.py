"""How an exception is put in one line."""

from __future__ import annotations

import pytest

from scaly_ir.errors import described


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (ValueError("no  such\n\tvalue "), "ValueError: no such value"),
        (KeyError("x"), "KeyError: 'x'"),
        (MemoryError(), "MemoryError"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_an_exception_in_one_line(failure: BaseException, line: str) -> None:
    assert described(failure) == line
