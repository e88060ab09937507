"""A pytest plugin that gives the report on each failure its diagnostics as data: what `scaly-check` shows as JSON.

Owns what becomes of failures that have none. It is loaded by name, so that workers of pytest-xdist have it; they send
attributes of reports as they are.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

import pytest

from scaly_ir.text.diagnostics import error
from scaly_ir.tools.golden.plugin import BadFile, GoldenFailure, shown
from scaly_ir.tools.json_diagnostics import record

FAULTS: Final = "scaly_golden_faults"
"""The attribute of a report that holds an object for each thing that is wrong."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what is wrong with an item."""
    report = yield
    if report.failed:
        setattr(report, FAULTS, _records(item, call.excinfo, report))
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Add what is wrong with a file."""
    report = yield
    if report.failed:
        call: pytest.CallInfo[Any] = report.call
        setattr(report, FAULTS, _records(collector, call.excinfo, report))
    return report


def _records(
    node: pytest.Item | pytest.Collector,
    excinfo: pytest.ExceptionInfo[BaseException] | None,
    report: pytest.TestReport | pytest.CollectReport,
) -> list[dict[str, Any]]:
    """Return an object for each diagnostic of a failure, or one with what pytest says at the item."""
    failure = excinfo.value if excinfo else None
    if isinstance(failure, (GoldenFailure, BadFile)) and failure.problems:
        return [record(problem) for problem in failure.problems]
    said = str(failure) if failure is not None else report.longreprtext
    fields = record(error(" ".join(said.split()), code="test"))
    line = report.location[1] if isinstance(report, pytest.TestReport) else None
    return [{**fields, "file": shown(node.path, node.config), "line": (line or 0) + 1, "column": 1}]
