"""The pytest plugin: `.sir` files become test items, one for each RUN line.

Owns collection and reporting. pytest loads this module in every project that has scaly-ir installed, so it imports
nothing of scaly-ir until it meets a `.sir` file.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from scaly_ir.text.diagnostics import Diagnostic
    from scaly_ir.tools.golden.execute import Check
    from scaly_ir.tools.golden.golden_file import BadTestFileError, GoldenTest
    from scaly_ir.tools.golden.run_line import Paths, RunLine

_INI: Final = "scaly_golden_paths"
_UPDATE_OPTIONS: Final = {
    "scaly-update-checks": "make the checks of golden tests anew from what comes out",
    "scaly-update-diff": "only show what --scaly-update-checks would change",
    "scaly-update-force": "make checks anew too that do not come from scaly-check",
}
_SKIPPED_FOLDER: Final = "Inputs"
ROOTS: Final = pytest.StashKey[tuple[Path, ...]]()
_KEPT: Final = pytest.StashKey[Path]()


class GoldenFailure(Exception):  # noqa: N818 - what pytest calls a failure is no error of the program
    """End an item for `problems`; the text is the finished report."""

    def __init__(self, problems: Sequence[Diagnostic], text: str) -> None:
        self.problems = tuple(problems)
        super().__init__(text)


class BadFile(pytest.Collector.CollectError):
    """End the collection of a file for `problems`."""

    def __init__(self, failure: BadTestFileError) -> None:
        self.problems = failure.problems
        super().__init__(str(failure))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the setting that says where golden tests are, and the options."""
    parser.addini(_INI, "folders with golden tests (.sir files), relative to the root directory", "args", ["testdata"])
    group = parser.getgroup("scaly-ir", "golden tests of scaly-ir (.sir files)")
    for name, text in _UPDATE_OPTIONS.items():
        group.addoption(f"--{name}", action="store_true", help=text)
    group.addoption(
        "--scaly-tool-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="an option for each of scaly-ir's tools in RUN lines; repeatable",
    )
    group.addoption(
        "--scaly-filecheck",
        metavar="PROGRAM",
        default=os.environ.get("SCALY_IR_FILECHECK", ""),
        help="let LLVM's FileCheck check too, and fail where it does not agree; none leaves it out",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make sense of the options."""
    option = config.option
    option.scaly_update_checks = option.scaly_update_checks or option.scaly_update_diff
    if option.scaly_update_force and not option.scaly_update_checks:
        raise pytest.UsageError("--scaly-update-force needs --scaly-update-checks")
    if option.scaly_update_checks and not option.scaly_update_diff and os.environ.get("CI"):
        raise pytest.UsageError("checks are not rewritten where the environment variable CI is set")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what became of checks."""
    if terminalreporter.config.option.scaly_update_checks:
        from scaly_ir.tools.golden.update_item import show

        show(terminalreporter)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a `.sir` file that was named or lies in one of the folders, outside of `Inputs`."""
    if file_path.suffix != ".sir":
        return None
    if parent.session.isinitpath(file_path) or _is_golden(file_path, parent.config):
        return GoldenFile.from_parent(parent, path=file_path)
    return None


def _is_golden(path: Path, config: pytest.Config) -> bool:
    roots = config.stash.get(ROOTS, None)
    if roots is None:
        roots = config.stash[ROOTS] = configured_roots(config)
    return any(path.is_relative_to(root) and _SKIPPED_FOLDER not in path.relative_to(root).parts for root in roots)


def configured_roots(config: pytest.Config) -> tuple[Path, ...]:
    """Return the folders that the settings name."""
    return tuple([config.rootpath / folder for folder in config.getini(_INI)])


class GoldenFile(pytest.File):
    """Collect the RUN lines of one file; a file with mistakes is an error that shows all of them."""

    def collect(self) -> Iterable[pytest.Item]:
        """Yield one item for each RUN line, or the one that makes checks anew."""
        if self.config.option.scaly_update_checks:
            from scaly_ir.tools.golden.update_item import collect

            yield from collect(self)
            return
        from scaly_ir.tools.golden.golden_file import BadTestFileError, load

        try:
            test = load(self.path, shown(self.path, self.config))
        except BadTestFileError as problem:
            raise BadFile(problem) from None
        skipped, failing = test.conditions.skip_reason(), test.conditions.xfail_reason()
        for line in test.runs:
            item = GoldenItem.from_parent(self, name=line.name, test=test, line=line)
            if skipped:
                item.add_marker(pytest.mark.skip(reason=skipped))
            if failing:
                item.add_marker(pytest.mark.xfail(reason=failing, strict=True))
            yield item


class Item(pytest.Item):
    """An item that ends with a report where others show a traceback."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the report, or what to install."""
        from scaly_ir.tools.golden.matcher import MissingPackageError

        if isinstance(excinfo.value, GoldenFailure):
            return str(excinfo.value)
        if isinstance(excinfo.value, MissingPackageError):
            return f"error: {excinfo.value}"
        if isinstance(excinfo.value, OSError):  # as when there is no room for what is kept of a failure
            from scaly_ir.tools.files import cannot_go_on

            return f"error: {cannot_go_on(excinfo.value)}"
        return super().repr_failure(excinfo, style)


class GoldenItem(Item):
    """Run one RUN line."""

    def __init__(self, *, test: GoldenTest, line: RunLine, **rest: Any) -> None:
        super().__init__(**rest)
        self.test = test
        self.line = line

    def runtest(self) -> None:
        """Run the line; raise `GoldenFailure` with the report."""
        from scaly_ir.text.diagnostics import render
        from scaly_ir.tools.golden import report
        from scaly_ir.tools.golden.execute import run
        from scaly_ir.tools.golden.isolation import isolated
        from scaly_ir.tools.golden.run_line import needs_temporary

        temporary = kept_folder(self) if needs_temporary(self.line) else None
        paths = paths_of(self, temporary)
        with isolated(self.path.parent) as changes:
            done = run(self.test, self.line, paths, check=checker(self.config))
        if any(command.failure for command in done):
            keep = temporary or kept_folder(self)
            explained = report.explain(self.test, self.line, done, paths, keep, self.nodeid)
            more = report.changed(self.line, changes)
            raise GoldenFailure([report.fault(done), *more], "\n\n".join([explained, *map(render, more)]))
        if changes:
            problems = report.changed(self.line, changes)
            raise GoldenFailure(problems, *map(render, problems))
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the RUN line and what to call the item in a heading."""
        # A heading that ended like the id of the item would have pytest show the id with its dots replaced.
        return self.path, self.line.span.position()[0] - 1, f"{self.path.name}: {self.name}"


def checker(config: pytest.Config) -> Check:
    """Return what `filecheck` does: match with the package, and with LLVM's program where that is asked for."""
    if config.option.scaly_filecheck not in ("", "none"):
        from scaly_ir.tools.golden.llvm import SecondOpinion

        return SecondOpinion(config.option.scaly_filecheck).check
    from scaly_ir.tools.golden.matcher import check

    return check


def shown(path: Path, config: pytest.Config) -> str:
    """Return the path as somebody in the folder where pytest was started would type it."""
    start = config.invocation_params.dir
    return Path(os.path.relpath(path, start)).as_posix() if path.is_relative_to(start) else path.as_posix()


def paths_of(item: pytest.Item, folder: Path | None) -> Paths:
    """Return what the RUN lines of an item stand for, with temporary files in `folder`."""
    from scaly_ir.tools.golden.commands import TOOLS
    from scaly_ir.tools.golden.run_line import Paths

    temporary = folder / f"{item.path.stem}.tmp" if folder else None
    return Paths(item.path, temporary, item.config.option.scaly_tool_option, TOOLS)


def kept_folder(item: pytest.Item) -> Path:
    """Make a folder that only this item uses, where pytest keeps those of its last runs."""
    stash = item.config.stash
    if _KEPT not in stash:
        import tempfile

        # The factory is private in name only: plugins have no other way to it without a fixture.
        factory: pytest.TempPathFactory | None = getattr(item.config, "_tmp_path_factory", None)
        stash[_KEPT] = factory.mktemp("golden") if factory else Path(tempfile.mkdtemp(prefix="scaly-golden-"))
    return Path(_numbered(stash[_KEPT], f"{item.path.stem}-{item.name}"))


def _numbered(parent: Path, name: str) -> Path:
    number = 0
    while True:
        folder = parent / (f"{name}-{number}" if number else name)
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder
