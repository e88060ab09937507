"""The pytest item that makes the checks of a file anew, in place of the items that run its lines.

Owns what is written and shown. `update` decides what the checks are.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from scaly_ir.text.diagnostics import error
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.golden import matcher, report
from scaly_ir.tools.golden.execute import run
from scaly_ir.tools.golden.golden_file import BadTestFileError, GoldenTest, load
from scaly_ir.tools.golden.isolation import isolated
from scaly_ir.tools.golden.plugin import BadFile, GoldenFailure, GoldenFile, Item, checker, kept_folder, paths_of, shown
from scaly_ir.tools.golden.run_line import Paths, RunLine
from scaly_ir.tools.golden.update import KeptError, update, write_checks

DIFF: Final = "scaly_golden_diff"
"""The property of a report that holds what changed."""


class UpdateItem(Item):
    """Make the checks of a file anew, and run it."""

    def __init__(self, *, preview: bool, force: bool, named: bool, **rest: Any) -> None:
        super().__init__(**rest)
        self._preview = preview
        self._force = force
        self._named = named
        """Whether the file itself was named, and not a folder."""

    def runtest(self) -> None:
        """Write the file and run it; raise `GoldenFailure` with what is wrong."""
        if not self._preview:
            matcher.require()  # before a file is written that could not be run
        name = shown(self.path, self.config)
        folder = kept_folder(self)
        paths = paths_of(self, folder)
        try:
            make = update if self._preview else write_checks
            made = make(self.path, name, paths, folder, self.nodeid, force=self._force)
        except KeptError as reason:
            if self._named:
                problem = error(str(reason), Span(Source(name, ""), 0, 0), "check-written")
                raise GoldenFailure([problem], f"{name}: error: {reason}") from None
            pytest.skip(str(reason))
        except BadTestFileError as problem:
            raise GoldenFailure(problem.problems, str(problem)) from None
        self.user_properties.append((DIFF, "\n".join(made.diff)))
        if self._preview:
            return
        failures = list(self._failures(name, paths, folder))
        if failures:
            told = ["the checks are written, and the test still does not pass:", *map(str, failures)]
            raise GoldenFailure([found for failure in failures for found in failure.problems], "\n\n".join(told))
        shutil.rmtree(folder, ignore_errors=True)

    def _failures(self, name: str, paths: Paths, folder: Path) -> Iterator[BadTestFileError]:
        try:
            test = load(self.path, name)
        except BadTestFileError as problem:
            yield problem
            return
        for line in test.runs:
            yield from self._of_line(test, line, paths, folder)

    def _of_line(self, test: GoldenTest, line: RunLine, paths: Paths, folder: Path) -> Iterator[BadTestFileError]:
        with isolated(self.path.parent) as changes:
            done = run(test, line, paths, check=checker(self.config))
        if any([command.failure for command in done]):
            node_id = self.nodeid.removesuffix(self.name) + line.name
            told = report.explain(test, line, done, paths, folder / line.name, node_id)
            yield BadTestFileError([report.fault(done)], told)
        if changes:
            yield BadTestFileError(report.changed(line, changes))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the file and what to call the item in a heading."""
        return self.path, 0, f"{self.path.name}: {self.name}"


def collect(file: GoldenFile) -> Iterator[UpdateItem]:
    """Yield the one item of a file, with the marks that its conditions ask for."""
    from scaly_ir.tools.golden import conditions
    from scaly_ir.tools.golden.golden_file import read_source

    option = file.config.option
    item = UpdateItem.from_parent(
        file,
        name="update",
        preview=option.scaly_update_diff,
        force=option.scaly_update_force,
        named=file.session.isinitpath(file.path),
    )
    try:
        applies, _ = conditions.parse(read_source(file.path, shown(file.path, file.config)))
    except BadTestFileError as problem:
        raise BadFile(problem) from None
    reason = applies.skip_reason() or applies.xfail_reason()
    if reason:
        item.add_marker(pytest.mark.skip(reason=reason))
    yield item


def show(terminal: pytest.TerminalReporter) -> None:
    """Show what changed, and what was left alone and why."""
    colours = {"+": {"green": True}, "-": {"red": True}, "@": {"cyan": True}}
    for reports in terminal.stats.values():
        for each in reports:
            for name, text in getattr(each, "user_properties", ()):
                if name == DIFF and text and each.when == "call":
                    terminal.ensure_newline()
                    for line in text.split("\n"):
                        terminal.line(line, **colours.get(line[:1], {}))
    for each in terminal.stats.get("skipped", ()):
        if each.nodeid.endswith("::update") and isinstance(each.longrepr, tuple):
            reason = each.longrepr[2].removeprefix("Skipped: ")
            terminal.line(f"{each.nodeid.removesuffix('::update')}: kept: {reason}")
