"""Compiling and calling generated C: which compilers there are, many files at once, and entries as Python functions."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.tools.c.usage import element_count, input_count, workspace_sizes

C_COMPILERS: Final = [name for name in ("gcc", "clang") if shutil.which(name)] or [
    name for name in ("cc",) if shutil.which(name)
]
CPP_COMPILERS: Final = [name for name in ("g++", "clang++") if shutil.which(name)]
POSIX: Final = os.name == "posix"

needs_cc: Final = pytest.mark.skipif(not (C_COMPILERS and POSIX), reason="needs a C compiler")
needs_cpp: Final = pytest.mark.skipif(not (CPP_COMPILERS and POSIX), reason="needs a C++ compiler")

WARNINGS: Final = ("-Wall", "-Wextra", "-Werror")
STRICT: Final = {"c": ("-std=c99", "-pedantic"), "gnu": ()}
"""What each dialect claims to be."""

EXACT: Final = ("-O1", "-ffp-contract=off", "-fno-builtin", "-fno-math-errno")
"""Flags under which the result is that of the interpreter by bits, given the same functions of the C library."""


def compile_with(compiler: str, flags: Sequence[str], files: Sequence[Path]) -> None:
    """Run a compiler; its messages become those of the test."""
    done = subprocess.run([compiler, *flags, *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


def write_sources(folder: Path, sources: Mapping[str, str], extension: str = ".c") -> list[Path]:
    """Write one file for each source; return the files."""
    files = []
    for name, text in sources.items():
        files.append(folder / f"{name}{extension}")
        files[-1].write_text(text, encoding="utf-8")
    return files


def as_one_cpp_file(sources: Mapping[str, str]) -> str:
    """Return sources as one C++ file, each in a namespace: a compiler reads the library's headers once.

    Functions get the linkage of C++, since those of C with one name are one function whatever their namespaces.
    """
    parts = ["#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n"]
    for position, text in enumerate(sources.values()):
        parts.append("#undef SCALY_LANES\n")  # those of the file before
        parts.append(f"namespace n_{position} {{\n{text}}}\n".replace('extern "C"', 'extern "C++"'))
    return "".join(parts)


class Library:
    """A shared library of compiled sources."""

    def __init__(self, folder: Path, sources: Mapping[str, str], flags: Sequence[str] = EXACT) -> None:
        files = write_sources(folder, sources)
        path = folder / "library.so"
        compile_with(C_COMPILERS[0], [*flags, "-fPIC", "-shared", "-o", str(path)], [*files, Path("-lm")])
        self._library = ctypes.CDLL(str(path))

    def call(self, name: str, arg: Any, res: Any, w: Any) -> int:
        """Call an entry with pointers; return its status."""
        function = getattr(self._library, name)
        function.restype = ctypes.c_int
        function.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int]
        status: int = function(arg, res, None, w, 0)
        return status

    def run(self, module: Node, name: str, inputs: Mapping[str, Sequence[float]]) -> dict[str, np.ndarray[Any, Any]]:
        """Run the entry of a module as the interpreter does; return its outputs by name.

        What lies behind the end of an output is checked to be left alone.
        """
        entry = module.args[-1]
        params, count = build.params_of(entry), input_count(entry)
        size = workspace_sizes({proc.attrs["name"]: proc for proc in module.args})[entry.attrs["name"]].whole
        buffers = []
        for position, param in enumerate(params):
            buffer = np.full(element_count(param) + 1, 7e77)
            if position < count or "input_count" not in entry.attrs:
                buffer[:-1] = inputs[param.attrs["name"]]
            buffers.append(buffer)
        pointers = [buffer.ctypes.data for buffer in buffers]
        arg = (ctypes.c_void_p * max(count, 1))(*pointers[:count])
        res = (ctypes.c_void_p * max(len(pointers) - count, 1))(*pointers[count:])
        workspace = np.full(size + 1, 7e77)
        assert self.call(name, arg, res, workspace.ctypes.data if size else None) == 0
        assert all([buffer[-1] == 7e77 for buffer in [*buffers, workspace]])
        return {param.attrs["name"]: buffers[at][:-1] for at, param in enumerate(params) if at >= count}


def libm() -> dict[str, Callable[..., Any]]:
    """Return the functions of the C library that the interpreter of the tests needs, on doubles."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    names = "sin cos tan sinh cosh tanh exp log sqrt floor ceil asin acos atan erf".split()
    found = {}
    for name, arity in [*[(name, 1) for name in names], ("pow", 2), ("atan2", 2), ("fmin", 2), ("fmax", 2)]:
        function = getattr(library, name)
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_double] * arity
        found[name] = function
    return found


def assert_same_bits(found: Mapping[str, Any], expected: Mapping[str, Any], what: str = "") -> None:
    """Compare outputs by bits; a NaN equals any NaN, as processors choose its sign."""
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        for at, (x, y) in enumerate(zip(found[name], values, strict=True)):
            same = (x != x and y != y) or (x == y and math.copysign(1, x) == math.copysign(1, y))
            assert same, f"{what}: element {at} of %{name} is {x!r}, expected {y!r}"
