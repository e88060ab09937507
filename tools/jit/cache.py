"""Libraries on disk: one folder for each thing that was compiled, complete or not there at all.

Owns where they are and that builders at the same time, in any number of processes, never see half a file. What is
compiled is decided by others. Source: lowering specification 5.8.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from scaly_ir.errors import CompileError
from scaly_ir.tools.files import temporary_folder
from scaly_ir.tools.jit.toolchain import LIBRARY_SUFFIX, Toolchain
from scaly_ir.tools.programs import run_program

_T = TypeVar("_T")

_VERSION: Final = "1"
"""Goes up when libraries of before are of no use any more."""

SOURCE: Final = "kernel.c"
LIBRARY: Final = f"kernel{LIBRARY_SUFFIX}"
COMMAND: Final = "command.txt"

_SHOWN_LINES: Final = 8
"""How much of a compiler's message is shown."""


def cache_root(environment: Mapping[str, str] | None = None) -> Path | None:
    """Return the folder of all libraries, or None where there is no place for one.

    It is SCALY_IR_CACHE_DIR, else ``scaly-ir/jit`` in XDG_CACHE_HOME, which counts if it is absolute, or in
    ``~/.cache``.
    """
    env = os.environ if environment is None else environment
    if env.get("SCALY_IR_CACHE_DIR"):
        return Path(env["SCALY_IR_CACHE_DIR"]).absolute()
    base = env.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base, "scaly-ir", "jit")
    home = os.path.expanduser("~")
    return Path(home, ".cache", "scaly-ir", "jit") if os.path.isabs(home) else None


def key_of(signature: str, name: str, source: str, toolchain: Toolchain) -> str:
    """Return what names the library of a source: a digest of all that decides what is in it."""
    compile_flags, link_flags = " ".join(toolchain.compile_flags), " ".join(toolchain.link_flags)
    parts = (_VERSION, signature, name, source, toolchain.identity(), compile_flags, link_flags)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def load_cached(root: Path, key: str, source: str, toolchain: Toolchain, load: Callable[[Path], _T]) -> _T:
    """Return what `load` makes of the library of `source`, which is compiled unless it is there already.

    `CompileError` when it cannot be compiled or loaded, `OSError` when `root` cannot be written.
    """
    folder = root / key
    if (folder / LIBRARY).is_file():
        with suppress(OSError):  # it vanished just now, or is damaged
            return load(folder / LIBRARY)
    for attempt in range(2):
        _compile_into(folder, source, toolchain, replace=attempt > 0)
        try:
            return load(folder / LIBRARY)
        except OSError as failure:
            if attempt:
                raise CompileError(f"cannot load the library '{folder / LIBRARY}': {failure}") from failure
    raise AssertionError


def _compile_into(folder: Path, source: str, toolchain: Toolchain, *, replace: bool) -> None:
    """Compile into a folder of this process's own and rename that; once more if somebody deleted it meanwhile."""
    for attempt in range(2):
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with temporary_folder(f".{folder.name[:16]}-{os.getpid()}-", str(folder.parent)) as private:
                build(Path(private), source, toolchain, kept=folder.with_name(f"failed-{folder.name[:16]}"))
                _publish(Path(private), folder, replace=replace)
            return
        except FileNotFoundError:
            if attempt:
                raise


def _publish(private: Path, folder: Path, *, replace: bool) -> None:
    """Move what was built to where it is looked for."""
    try:
        os.rename(private, folder)
        return
    except FileNotFoundError:
        raise
    except OSError:  # the folder exists
        if (folder / LIBRARY).is_file() and not replace:
            return  # somebody else was faster, with the same result
    for name in (SOURCE, COMMAND, LIBRARY):
        os.replace(private / name, folder / name)


def build(folder: Path, source: str, toolchain: Toolchain, kept: Path | None = None) -> None:
    """Write source and command into a folder and compile.

    `CompileError` with the beginning of the compiler's message when that fails; what there is then stays, as `kept` if
    that is given.
    """
    arguments = toolchain.arguments(SOURCE, LIBRARY)
    _write(folder / SOURCE, source)
    _write(folder / COMMAND, " ".join(arguments) + "\n")
    message = run_compiler(arguments, folder, LIBRARY)
    if message is None:
        return
    if kept is not None:
        with suppress(OSError):  # it failed before, and everything is there
            os.rename(folder, kept)
    raise CompileError(f"the C compiler failed: {message}\nthe source is kept in '{(kept or folder) / SOURCE}'")


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogatepass"))


def run_compiler(arguments: Sequence[str], folder: Path, target: str) -> str | None:
    """Run a compiler in a folder; return the beginning of what it says when it fails, or makes no file `target`."""
    # What it leaves when it is ended goes with the folder.
    environment = {**os.environ, "LC_ALL": "C", "TMPDIR": str(folder)}
    try:
        done = run_program(arguments, folder=folder, environment=environment)
    except FileNotFoundError:
        raise
    except OSError as failure:
        return f"cannot run '{arguments[0]}': {failure.strerror}"
    if done.returncode == 0 and (folder / target).is_file():
        return None
    if done.returncode == 0:
        return f"'{arguments[0]}' says that all went well, but it made no file '{target}'"
    return first_lines((done.stderr or done.stdout).decode("utf-8", "replace")) or f"exit code {done.returncode}"


def first_lines(text: str) -> str:
    """Return the beginning of a long message."""
    lines = text.strip().splitlines()
    return "\n".join([*lines[:_SHOWN_LINES], *(["..."] if len(lines) > _SHOWN_LINES else [])])


@contextmanager
def temporary_root() -> Iterator[Path]:
    """Give a folder that is gone afterwards, with a library that is loaded still in use, where the system allows it."""
    with temporary_folder("scaly-ir-", unless="failed-*") as folder:
        yield Path(folder)
