"""Input and output of the tools: reading sources with clear messages, and writing so that nothing is half-written."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TextIO

from scaly_ir.text.diagnostics import Diagnostic, did_you_mean, error
from scaly_ir.text.source import DecodeError, Source, Span


def read_source(path: str, stdin: TextIO, stdin_name: str = "<stdin>") -> Source | Diagnostic:
    """Read a file, or standard input for ``-``; an error says why that is not possible."""
    name = stdin_name if path == "-" else path
    try:
        data = _read_stdin(stdin) if path == "-" else Path(path).read_bytes()
        return Source.from_bytes(data, name)
    except DecodeError as failure:
        span = None if failure.source is None else Span(failure.source, failure.offset, failure.offset + 1)
        return error(str(failure), span, "encoding")
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        return error(f"cannot read '{name}': {reason}{_similar_file(path, failure)}", code="read")


def _read_stdin(stdin: TextIO) -> bytes:
    binary: IO[bytes] | None = getattr(stdin, "buffer", None)
    return stdin.read().encode("utf-8", "surrogateescape") if binary is None else binary.read()


def _similar_file(path: str, failure: Exception) -> str:
    if not isinstance(failure, FileNotFoundError):
        return ""
    folder = Path(path).parent
    try:
        names = [str(folder / entry.name) if folder != Path() else entry.name for entry in os.scandir(folder)]
    except OSError:
        return ""
    return did_you_mean(path, names)


def write_atomically(path: str, text: str) -> Diagnostic | None:
    """Write a file through a temporary one beside it and a rename; return the error if that fails.

    What is no regular file (a device, a pipe) is written directly. The mode of an existing file is kept.
    """
    temporary = None
    try:
        target = os.path.realpath(path)
        with suppress(FileNotFoundError):
            mode = os.stat(target).st_mode
            if not stat.S_ISREG(mode):
                with open(target, "w", encoding="utf-8", newline="\n") as device:
                    device.write(text)
                return None
        handle, temporary = tempfile.mkstemp(prefix=f".{Path(target).name}.", dir=str(Path(target).parent))
        with open(handle, "w", encoding="utf-8", newline="\n") as out:
            out.write(text)
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
        temporary = None
        return None
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        return error(f"cannot write '{path}': {reason}", code="write")
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
