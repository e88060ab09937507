"""Input and output of the tools: reading sources with clear messages, and writing so that nothing is half-written."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import IO, NamedTuple, Self, TextIO

from scaly_ir.text.diagnostics import Diagnostic, closest, error
from scaly_ir.text.source import DecodeError, Source, Span
from scaly_ir.tools.reporting import write


def read_source(path: str, stdin: TextIO, stdin_name: str = "<stdin>") -> Source | Diagnostic:
    """Read a file, or standard input for ``-``; an error says why that is not possible."""
    data = read_bytes(path, stdin, stdin_name)
    return data if isinstance(data, Diagnostic) else decoded(data, stdin_name if path == "-" else path)


def read_bytes(path: str, stdin: TextIO, stdin_name: str = "<stdin>") -> bytes | Diagnostic:
    """Read the bytes of a file, or of standard input for ``-``; an error says why that is not possible."""
    name = stdin_name if path == "-" else path
    try:
        return _read_stdin(stdin) if path == "-" else _read_file(path)
    except (OSError, ValueError) as failure:
        return error(f"cannot read '{name}': {reason(failure)}{_similar_file(path, failure)}", code="read")


def decoded(data: bytes, name: str) -> Source | Diagnostic:
    """Return the bytes of a file as a source; an error says why they are no text."""
    try:
        return Source.from_bytes(data, name)
    except DecodeError as failure:
        span = None if failure.source is None else Span(failure.source, failure.offset, failure.offset + 1)
        return error(str(failure), span, "encoding")


def _read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_stdin(stdin: TextIO) -> bytes:
    binary: IO[bytes] | None = getattr(stdin, "buffer", None)
    return stdin.read().encode("utf-8", "surrogateescape") if binary is None else binary.read()


def reason(failure: Exception) -> str:
    """Return why something cannot be read or written, in the words of the system."""
    return getattr(failure, "strerror", None) or str(failure)


def cannot_go_on(failure: OSError) -> str:
    """Return what to say when the system lacks something, as room on a disk, that no message names yet."""
    where = f" ('{failure.filename}')" if failure.filename else ""
    return f"cannot go on: {reason(failure)}{where}"


def _similar_file(path: str, failure: Exception) -> str:
    if not isinstance(failure, FileNotFoundError):
        return ""
    folder, base = os.path.split(path)
    try:
        names = sorted([entry.name for entry in os.scandir(folder or ".") if not entry.is_dir()])
    except OSError:
        return ""
    # The folder is right and most files end alike, so what is left decides; the ending may be missing altogether.
    by_stem = {os.path.splitext(name)[0]: name for name in names}
    near = closest(os.path.splitext(base)[0], by_stem, most=1)
    return f"; did you mean '{os.path.join(folder, by_stem[near[0]])}'?" if near else ""


def write_result(path: str, text: str | bytes, stdout: TextIO) -> Diagnostic | None:
    """Write a result to a file, or to standard output for ``-``; return the error if that fails.

    `BrokenPipeError` when the reader of standard output went away.
    """
    if path != "-":
        return write_atomically(path, text)
    try:
        write(stdout, text)
    except BrokenPipeError:
        raise
    except OSError as failure:
        return error(f"cannot write standard output: {reason(failure)}", code="write")
    return None


def write_results(results: Sequence[tuple[str, str | bytes]], stdout: TextIO) -> list[Diagnostic]:
    """Write each text to its path, or to standard output for ``-``: no file unless all can be written.

    Standard output and what is no regular file cannot be taken back; they are written in between, when the new files
    stand ready. Raises as `write_result` does.
    """
    with _Files() as files:
        failures = [files.prepare(path, text) for path, text in results if path != "-"]
        if not any(failures):
            failures = [write_result(path, text, stdout) for path, text in results if path == "-"]
        if not any(failures):
            failures = [files.commit()]
    return [failure for failure in failures if failure is not None]


def write_atomically(path: str, text: str | bytes) -> Diagnostic | None:
    """Write a file through a temporary one beside it and a rename; return the error if that fails.

    What is no regular file (a device, a pipe) is written directly. A link stays one, and an existing file keeps its
    mode; one that may not be written is left alone.
    """
    with _Files() as files:
        return files.prepare(path, text) or files.commit()


class _Ready(NamedTuple):
    """A file that is written and not yet where it belongs."""

    path: str
    temporary: str
    target: str


class _Files:
    """Files that are written together: first beside where they belong, so that what fails there changes none.

    What has not become the file it was meant for is gone when the context ends, by an interrupt too.
    """

    def __init__(self) -> None:
        self._ready: list[_Ready] = []
        self._open: list[tuple[str, int, str | bytes]] = []
        """Devices and pipes, which can only be written directly."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for ready in self._ready:
            with suppress(OSError):
                os.unlink(ready.temporary)
        for _, descriptor, _ in self._open:
            os.close(descriptor)

    def prepare(self, path: str, text: str | bytes, new_mode: int | None = None) -> Diagnostic | None:
        """Write what is to become a file, a new one with the mode that is given; return the error if that fails."""
        try:
            mode = _mode(path)
            if mode is not None and not stat.S_ISREG(mode):
                self._open.append((path, os.open(path, os.O_WRONLY), text))
                return None
            if mode is not None and not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            _write_to(self._temporary(path), text)
            wanted = new_mode if mode is None else mode
            if wanted is not None:
                os.chmod(self._ready[-1].temporary, stat.S_IMODE(wanted))
        except (OSError, ValueError) as failure:
            return _not_written(path, failure)
        return None

    def _temporary(self, path: str) -> int:
        """Open a new file in the folder of what a path leads to, with the mode that any new file has there."""
        target = os.path.realpath(path)
        stem = os.path.join(os.path.dirname(target), f".scaly-{os.getpid()}-")
        for number in count():
            temporary = f"{stem}{number}.tmp"
            # Known before it is there, or an interrupt in between would leave it.
            self._ready.append(_Ready(path, temporary, target))
            try:
                return os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), 0o666)
            except FileExistsError:
                self._ready.pop()
        raise AssertionError

    def commit(self) -> Diagnostic | None:
        """Put everything where it belongs; return the first error, after which nothing more is done."""
        from scaly_ir.tools.interrupts import held

        path = ""
        try:
            while self._open:
                path, descriptor, text = self._open.pop(0)
                _write_to(descriptor, text)
            with held():  # an interrupt does not part files that belong together
                while self._ready:
                    path, temporary, target = self._ready[0]
                    os.replace(temporary, target)
                    del self._ready[0]
        except OSError as failure:
            return _not_written(path, failure)
        return None


def _not_written(path: str, failure: Exception) -> Diagnostic:
    return error(f"cannot write '{path}': {reason(failure)}", code="write")


def _mode(path: str) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write_to(descriptor: int, text: str | bytes) -> None:
    with open(descriptor, "wb") as out:
        out.write(text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace"))


def keep_files(folder: str, names: Sequence[str], kept: str) -> Diagnostic | None:
    """Copy files of a folder to another one, which is made: all of them or none. Return the error if that fails."""
    try:
        os.makedirs(kept, exist_ok=True)
    except OSError as failure:
        return _not_written(kept, failure)
    with _Files() as files:
        for name in names:
            path, target = os.path.join(folder, name), os.path.join(kept, name)
            failed = files.prepare(target, _read_file(path), os.stat(path).st_mode)
            if failed is not None:
                return failed
        return files.commit()


@contextmanager
def temporary_folder(prefix: str, parent: str | None = None, *, unless: str = "") -> Iterator[str]:
    """Give a new folder that is gone afterwards, by an interrupt too, `unless` something in it matches that pattern.

    `OSError` when there is no room for one.
    """
    import glob
    import shutil
    import tempfile

    from scaly_ir.tools.interrupts import held

    folder = ""
    try:
        with held():
            folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
        yield folder
    finally:
        if folder and not (unless and glob.glob(os.path.join(glob.escape(folder), unless))):
            shutil.rmtree(folder, ignore_errors=True)
