"""Which C compiler compiles, with which flags, and what it is: all that decides what it makes of a source.

Knows the environment variables; runs the compiler only to ask what it is. Source: lowering specification 5.8.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from scaly_ir.errors import NoCompilerError
from scaly_ir.tools.programs import run_program

_CPU_FLAGS: Final = {
    "x86_64": "-march=native",
    "AMD64": "-march=native",
    "i686": "-march=native",
    "aarch64": "-mcpu=native",
    "arm64": "-mcpu=native",
}
"""How a compiler is told to use all of the machine at hand, by the machine's name."""

LIBRARY_SUFFIX: Final = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")

_SHARED: Final = "-dynamiclib" if sys.platform == "darwin" else "-shared"


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler, by its full path with what a user put behind it, and its flags."""

    command: tuple[str, ...]
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...] = (_SHARED, "-lm")

    def arguments(self, source: str, target: str) -> list[str]:
        """Return the command that makes `target` of `source`."""
        before = [flag for flag in self.link_flags if not flag.startswith("-l")]
        libraries = [flag for flag in self.link_flags if flag.startswith("-l")]  # after what needs them
        return [*self.command, *self.compile_flags, *before, source, "-o", target, *libraries]

    def identity(self) -> str:
        """Return what the compiler is: where, how large and old, its version, and the machine it compiles for."""
        path = os.path.realpath(self.command[0])
        try:
            status = os.stat(path)
        except OSError as failure:
            raise NoCompilerError(f"no C compiler: cannot read '{path}': {failure.strerror}") from failure
        size, time = status.st_size, status.st_mtime_ns
        return "\n".join([" ".join(self.command), path, str(size), str(time), *_said(self, size, time)])


@cache
def _said(toolchain: Toolchain, size: int, time: int) -> tuple[str, str]:
    """Return what a compiler, as it is now, says of its version and of the machine it compiles for."""
    macros = [*toolchain.command, *toolchain.compile_flags, "-dM", "-E", "-x", "c", "-"]
    return _output([*toolchain.command, "--version"]), _output(macros)


def _output(command: Sequence[str]) -> str:
    """Return what a command prints; nothing if it fails, as with compilers that lack an option."""
    try:
        done = run_program(command)
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def find_toolchain(cc: str = "", environment: Mapping[str, str] | None = None) -> Toolchain:
    """Return the compiler to use: `cc`, else what SCALY_IR_CC or CC name, else ``cc``.

    SCALY_IR_CC_OPT stands in place of ``-O2``, and CFLAGS come last. `NoCompilerError` when the compiler is not found.
    """
    env = os.environ if environment is None else environment
    chosen = [(cc, "--cc"), (env.get("SCALY_IR_CC", ""), "SCALY_IR_CC"), (env.get("CC", ""), "CC"), ("cc", "")]
    text, origin = next((text, origin) for text, origin in chosen if text.strip())
    words = _words(text, origin)
    path = shutil.which(words[0], path=env.get("PATH"))
    if path is None:
        named = f"'{words[0]}', named by {origin}," if origin else f"'{words[0]}'"
        raise NoCompilerError(
            f"no C compiler: {named} is not found; install gcc or clang, or name one by --cc, SCALY_IR_CC or CC"
        )
    flags = _words(env.get("SCALY_IR_CC_OPT", "").strip() or "-O2", "SCALY_IR_CC_OPT")
    cpu = _CPU_FLAGS.get(platform.machine())
    flags += [*([cpu] if cpu else []), "-fno-math-errno", *([] if sys.platform == "win32" else ["-fPIC"])]
    return Toolchain((os.path.abspath(path), *words[1:]), (*flags, *_words(env.get("CFLAGS", ""), "CFLAGS")))


def _words(text: str, origin: str) -> list[str]:
    """Return a command line as words, as a shell reads it."""
    try:
        return shlex.split(text)
    except ValueError as failure:
        raise NoCompilerError(f"no C compiler: {origin} is not a command line: {str(failure).lower()}") from failure
