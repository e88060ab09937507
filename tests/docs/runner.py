"""Do what a page says, as its reader would, and compare what comes out with what the page shows.

A line ``...`` in an expected output stands for any lines, and ``...`` in a line for any characters; all else is exact
but blanks at the ends of lines and empty lines at the end. What a page may hold is in `page`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tests.docs.page import EditFile, Excerpt, PageError, Step, Type, WriteFile, read_page
from tests.docs.sessions import Python, Session, SessionError, Shell, make_environment


def run_page(page: Path, folder: Path, name: str | None = None, *, start: str = "") -> None:
    """Run a page in `folder`, an empty one; `PageError` says where page and facts part.

    `name` is what messages call the page, `start` the line to begin at where that is not its first. A page without
    steps is an error too, and so is one that is not there.
    """
    shown = name or page.name
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as problem:
        raise PageError(shown, 1, f"the page cannot be read: {problem.strerror}") from None
    steps = read_page(_from(start, text, shown) if start else text, shown)
    if not steps:
        raise PageError(shown, 1, "the page has nothing to run")
    run = _Run(shown, folder)
    try:
        for step in steps:
            run.do(step)
    finally:
        run.close()


def _from(start: str, text: str, page: str) -> str:
    """Return a page with what is before a line blank, so that the numbers of lines stay."""
    lines = text.splitlines()
    if start not in lines:
        raise PageError(page, 1, f"there is no line '{start}' to begin at")
    first = lines.index(start)
    return "\n".join(["" for _ in lines[:first]] + lines[first:])


class _Run:
    """One run of a page."""

    def __init__(self, page: str, folder: Path) -> None:
        self._page = page
        self._folder = folder / "page"
        self._folder.mkdir()
        self._environment = make_environment(folder / "environment")
        self._sessions: dict[str, Session] = {}
        self._seen: list[str] = []
        """Files and outputs so far, for excerpts."""

    def do(self, step: Step) -> None:
        """Do one step."""
        match step:
            case WriteFile():
                self._write(step.name, step.text)
            case EditFile():
                self._edit(step)
            case Type():
                self._type(step)
            case Excerpt():
                if not any([f"\n{step.text}" in f"\n{text}\n" for text in self._seen]):
                    raise PageError(self._page, step.line, "no file or output above has these lines")

    def _write(self, name: str, text: str) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self._seen.append(text)

    def _edit(self, step: EditFile) -> None:
        try:
            text = (self._folder / step.name).read_text(encoding="utf-8")
        except OSError as problem:
            raise PageError(self._page, step.line, f"'{step.name}' cannot be edited: {problem.strerror}") from None
        lines = text.splitlines()
        count = len(step.old)
        places = [at for at in range(len(lines) - count + 1) if lines[at : at + count] == step.old]
        if len(places) != 1:
            found = "more than once" if places else "nowhere"
            raise PageError(self._page, step.line, f"the lines to edit occur {found} in '{step.name}'")
        lines[places[0] : places[0] + count] = step.new
        self._write(step.name, "".join([f"{line}\n" for line in lines]))

    def _type(self, step: Type) -> None:
        try:
            output, code = self._session(step.session).ask(step.text)
        except SessionError as problem:
            raise PageError(self._page, step.line, f"{problem}\n{_shown(step)}") from None
        self._seen.append(output)
        if code != step.code:
            message = f"this command exited with {code}, expected {step.code}\n{_shown(step)}\nit printed:"
            raise PageError(self._page, step.line, f"{message}\n{_indented(output)}")
        if not same_output(step.expected, output):
            both = f"expected:\n{_indented(step.expected)}\nactual:\n{_indented(output)}"
            raise PageError(self._page, step.line, f"this prints something else\n{_shown(step)}\n{both}")

    def _session(self, kind: str) -> Session:
        if kind not in self._sessions:
            start = Shell if kind == "sh" else Python
            self._sessions[kind] = start(self._folder, self._environment)
        return self._sessions[kind]

    def close(self) -> None:
        """End what still runs."""
        for session in self._sessions.values():
            session.close()


def _shown(step: Type) -> str:
    first, then = ("$ ", "> ") if step.session == "sh" else (">>> ", "... ")
    lines = step.text.rstrip("\n").split("\n")
    return "\n".join([f"  {then if number else first}{line}" for number, line in enumerate(lines)])


def _indented(text: str) -> str:
    return "\n".join([f"  | {line}".rstrip() for line in text.rstrip("\n").split("\n")])


# --- comparing --------------------------------------------------------------------------------------------------------


def same_output(expected: str, actual: str) -> bool:
    """Tell whether an output is the expected one, in which ``...`` stands for what is left out."""
    wanted, lines = _lines(expected), _lines(actual)
    at = position = 0
    gap: tuple[int, int] | None = None  # the last `...` line: what follows it, and the first line it did not take
    while position < len(lines):
        if at < len(wanted) and wanted[at].strip() == "...":
            at += 1
            gap = (at, position)
        elif at < len(wanted) and _same_line(wanted[at], lines[position]):
            at += 1
            position += 1
        elif gap is not None:
            gap = (gap[0], gap[1] + 1)
            at, position = gap
        else:
            return False
    return all([line.strip() == "..." for line in wanted[at:]])


def _lines(text: str) -> Sequence[str]:
    stripped = text.rstrip()
    return [line.rstrip() for line in stripped.split("\n")] if stripped else []


def _same_line(wanted: str, line: str) -> bool:
    if "..." not in wanted:
        return wanted == line
    return re.fullmatch(".*".join(map(re.escape, wanted.split("..."))), line) is not None
