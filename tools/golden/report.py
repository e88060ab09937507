"""Why a RUN line failed, as text: the place, what was found there, and how to see it again.

Owns the wording and the layout of a failure. It neither runs nor matches.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from scaly_ir.text.diagnostics import Diagnostic, error, note, render
from scaly_ir.text.source import Source, Span
from scaly_ir.tools.files import reason, write_atomically
from scaly_ir.tools.golden.execute import INTERNAL_ERROR, Done
from scaly_ir.tools.golden.golden_file import GoldenTest
from scaly_ir.tools.golden.matcher import CheckResult, Mismatch
from scaly_ir.tools.golden.run_line import Paths, RunLine, spell

_AROUND: Final = 5  # lines of output before and after
_STDERR_LINES: Final = 20
_NEAR_LINES: Final = 200  # lines on each side that are searched for the one that was meant
_NEAR_CELLS: Final = 300
_NEAR_SHARE: Final = 0.6  # of the wanted characters


def explain(test: GoldenTest, line: RunLine, done: Sequence[Done], paths: Paths, keep: Path, node_id: str) -> str:
    """Return the report on a line that failed and write what its commands printed to files in the folder `keep`."""
    failed = _failed(done)
    check = _to_blame(failed)
    parts = [render(_blamed(failed))]
    if check and check.mismatch:
        parts += _excerpt(check.output, check.mismatch)
    if check and check.remarks:
        parts.append(f"filecheck remarked:\n{_indented(check.remarks)}")
    for command in done:
        parts += _printed(command, failed=command is failed)
    others = [command for command in done if command.failure and command is not failed]
    parts += [render(note(f"after that, {command.failure}", command.command.words[0].span)) for command in others]
    parts.append(_repeat(test, line, paths, node_id))
    parts.append(_kept(done, failed, keep))
    return "\n\n".join(parts)


def fault(done: Sequence[Done]) -> Diagnostic:
    """Return what is wrong with the first command that failed, with what it printed."""
    failed = _failed(done)
    blamed = _blamed(failed)
    return replace(blamed, notes=(*blamed.notes, *map(note, _printed(failed, failed=True))))


def _blamed(failed: Done) -> Diagnostic:
    """Return what is wrong at the directive to blame or else at the command."""
    check = _to_blame(failed)
    if check and check.mismatch:
        return _mismatch(check.mismatch)
    message = f"filecheck: {check.message}" if check and check.message else failed.failure
    return error(message, failed.command.words[0].span, "check" if check else "exit-code")


def _failed(done: Sequence[Done]) -> Done:
    return next(command for command in done if command.failure)


def _to_blame(failed: Done) -> CheckResult | None:
    """Return what a `filecheck` that should have succeeded found."""
    return failed.check if not failed.command.negated or failed.code == INTERNAL_ERROR else None


def _mismatch(mismatch: Mismatch) -> Diagnostic:
    diagnostic = mismatch.diagnostic()
    notes = list(diagnostic.notes)
    meant = mismatch.meant or _nearest(mismatch)
    if meant and mismatch.place and meant.position()[0] != mismatch.place.position()[0]:
        notes.append(note("possible intended match", meant))
    return replace(diagnostic, notes=tuple(notes))


def _nearest(mismatch: Mismatch) -> Span | None:
    """Return the line that has most of the wanted text, if it has enough; near lines first."""
    wanted = mismatch.wanted.strip()[:_NEAR_CELLS]
    if not wanted or mismatch.place is None:
        return None
    source = mismatch.place.source
    lines = source.text.split("\n")
    tried = mismatch.place.position()[0]
    first = max(1, tried - _NEAR_LINES)
    numbers = sorted(range(first, min(len(lines), tried + _NEAR_LINES) + 1), key=lambda number: abs(number - tried))
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(wanted)
    best, best_share = 0, _NEAR_SHARE
    for number in numbers:
        if not lines[number - 1].strip():
            continue
        matcher.set_seq1(lines[number - 1][:_NEAR_CELLS])
        # Single characters that happen to agree say nothing.
        share = sum([block.size for block in matcher.get_matching_blocks() if block.size > 2]) / len(wanted)
        if share > best_share:
            best, best_share = number, share
    if not best:
        return None
    text = lines[best - 1]
    start = sum([len(line) + 1 for line in lines[: best - 1]])
    return Span(source, start + len(text) - len(text.lstrip()), start + len(text))


def _excerpt(output: Source, mismatch: Mismatch) -> list[str]:
    """Show the output around the place, with marks for the lines that directives took."""
    if mismatch.place is None or not output.text:
        return []
    lines = output.text.removesuffix("\n").split("\n")
    here = min(mismatch.place.position()[0], len(lines))
    taken: set[int] = set()
    for start, end in mismatch.matched:
        last = output.position(min(max(start, end - 1), len(output.text)))[0]
        taken.update(range(output.position(min(start, len(output.text)))[0], last + 1))
    first, last = max(1, here - _AROUND), min(len(lines), here + _AROUND)
    width = len(str(last))
    shown = [f"{output.name} has {len(lines)} lines; '+' matched before, '>' is the place above:"]
    for number in range(first, last + 1):
        mark = ">" if number == here else "+" if number in taken else " "
        text = lines[number - 1]
        shown.append(f"  {mark} {number:{width}} | {text if len(text) <= _NEAR_CELLS else text[:_NEAR_CELLS] + '...'}")
    return ["\n".join(shown)]


def _printed(done: Done, *, failed: bool) -> list[str]:
    """Show what a command wrote to standard error, or a failed one to anywhere."""
    if done.check:
        return []  # said above
    text, where = done.stderr, "standard error"
    if failed and not text.strip():
        text, where = done.piped, "its output"
    lines = text.decode("utf-8", errors="replace").rstrip("\n").split("\n")
    if lines == [""]:
        return [] if not failed else [f"'{done.command.name}' printed nothing"]
    more = f" (the last {_STDERR_LINES} of {len(lines)} lines)" if len(lines) > _STDERR_LINES else ""
    return [f"'{done.command.name}' wrote to {where}{more}:\n" + _indented("\n".join(lines[-_STDERR_LINES:]))]


def _indented(text: str) -> str:
    return "\n".join([f"  {line}" for line in text.rstrip("\n").split("\n")])


def _repeat(test: GoldenTest, line: RunLine, paths: Paths, node_id: str) -> str:
    folder = shlex.quote(test.path.parent.as_posix())
    return f"to repeat it: cd {folder} && {spell(line, paths)}\n          or: {_again(node_id, paths.options)}"


def _again(node_id: str, options: Sequence[str]) -> str:
    """Return the command that runs an item; one that makes checks anew is only there when they are asked for."""
    file = node_id.removesuffix("::update")
    if file != node_id:
        return shlex.join(["scaly-check", *options, file, "--diff"])
    return shlex.join(["scaly-check", *options, node_id] if options else ["pytest", node_id])


def _kept(done: Sequence[Done], failed: Done, keep: Path) -> str:
    """Write all that was printed to files and return lines that name them, or say why there are none."""
    output = failed.check.output.text.encode() if failed.check else failed.piped
    files = [(keep / "output.txt", output)]
    log = b"".join([b"== " + one.command.title.encode() + b"\n" + one.stderr + one.trace.encode() for one in done])
    files.append((keep / "stderr.txt", log))
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        return f"full output: cannot be kept in '{keep.as_posix()}': {reason(failure)}"
    for file, data in files:
        fault = write_atomically(file.as_posix(), data)
        if fault is not None:
            return f"full output: {fault.message}"
    return f"full output: {files[0][0].as_posix()}\n     stderr: {files[1][0].as_posix()}"


def changed(line: RunLine, changes: Sequence[str]) -> list[Diagnostic]:
    """Return what is wrong with a line that left the process changed, which would fail other items."""
    return [error(f"this line {' and '.join(changes)}", line.span, "isolation")] if changes else []
