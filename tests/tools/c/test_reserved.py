"""No identifier of the headers of a generated file is in its way, whatever of them the preprocessor lists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.tools.c import COptions, render_header, render_source
from scaly_ir.tools.c.names import Names
from scaly_ir.tools.c.reserved import is_reserved
from scaly_ir.types import FLOAT64
from tests.tools.c.compiling import C_COMPILERS, CPP_COMPILERS, STRICT, compile_with, needs_cc, write_sources

HEADERS: Final = "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n"
MODES: Final = [
    *[(compiler, "c", flags) for compiler in C_COMPILERS for flags in ("-std=gnu99", "-std=c99", "-D_GNU_SOURCE")],
    *[(compiler, "c++", flags) for compiler in CPP_COMPILERS for flags in ("-std=gnu++17",)],
]
_words: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").findall


def identifiers(compiler: str, language: str, flags: str) -> list[str]:
    """Return every word of the headers and every macro that is defined behind them."""
    command = [compiler, "-x", language, flags, "-E"]
    texts = [
        subprocess.run([*command, *options, "-"], input=HEADERS, capture_output=True, text=True, check=True).stdout
        for options in (["-P"], ["-dM"])
    ]
    return sorted({*_words(texts[0]), *re.findall(r"#define (\w+)", texts[1])})


@needs_cc
@pytest.mark.parametrize(("compiler", "language", "flags"), MODES)
def test_what_is_not_reserved_may_be_defined(compiler: str, language: str, flags: str, tmp_path: Path) -> None:
    names = identifiers(compiler, language, flags)
    assert len(names) > 1000
    assert is_reserved("M_PI")
    free = [name for name in names if not is_reserved(name)]
    linkage = 'extern "C" ' if language == "c++" else ""
    exported = [f"{linkage}int {name}(const double** a, double** r, int* i, double* w, int m);\n" for name in free]
    local = [
        f"static inline double scaly_{number}(double* {name}) "
        f"{{ double* p = {name}; {{ double {name} = *p; return {name}; }} }}\n"
        for number, name in enumerate(free)
    ]
    (file,) = write_sources(tmp_path, {"free": "".join([HEADERS, *local, *exported])})
    compile_with(compiler, ["-x", language, flags, "-fsyntax-only", "-w"], [file])


@needs_cc
@pytest.mark.parametrize("dialect", ["gnu", "c"])
def test_a_module_may_use_any_of_them(dialect: str, tmp_path: Path) -> None:
    names = [*identifiers(C_COMPILERS[0], "c", "-D_GNU_SOURCE"), "std", "EXIT_SUCCESS", "arg", "res", "iw", "w", "mem"]
    names = [name for name in dict.fromkeys(names) if not name.startswith("SCALY_")]
    one = build.const(1.0, FLOAT64)
    procs = [
        build.proc(name, [param := build.param(name, (1,))], [build.store(build.view(param, 0), one)]) for name in names
    ]
    params = [build.param(name, (1,)) for name in names]
    body = [build.call(name, [param]) for name, param in zip(names, params, strict=True)]
    entry = build.proc("entry", params, body, {"input_count": 0})
    module = build.program([*procs, entry])
    sc.verify(module)
    options = COptions(dialect="c" if dialect == "c" else "gnu", typed_buffers=True)
    sources = {"entry": render_source(module, options), "header": render_header(module, options)}
    compile_with(C_COMPILERS[0], ["-fsyntax-only", "-w", *STRICT[dialect]], write_sources(tmp_path, sources))


@pytest.mark.parametrize(
    "name", ["M_x", "scaly_x", "SNAN", "_Bool", "a__b", "INT_MAX", "uint8_t", "y1", "sin", "_M_1", "__"]
)
def test_a_number_makes_any_name_free(name: str) -> None:
    names = Names()
    given = [names.fresh(name) for _ in range(3)]
    assert len(set(given)) == 3
    assert not any([is_reserved(each) for each in given])


LIBRARY_HEADERS: Final = (
    "assert complex ctype errno fenv float inttypes limits locale math setjmp signal stdarg stddef stdint stdio stdlib "
    "string strings tgmath time unistd wchar wctype"
).split()
BUILT_IN: Final = (
    "fork execl strdup stpcpy mempcpy ffsl gettext isascii scalb lgamma_r roundeven sincosf exp10f y0f gammaf isnanl "
    "cexp csqrt cacos creall strfmon puts_unlocked _exit nextup nextdown canonicalize fadd ddivl fmaximum fminimum "
    "nullptr_t std index printf memset_explicit stdc_bit_ceil DBL_MAX PRId64 EOF va_list access environ"
).split()


@pytest.mark.parametrize("name", BUILT_IN)
def test_names_of_the_library(name: str) -> None:
    assert is_reserved(name)
    assert not is_reserved(f"my{name}")


@needs_cc
@pytest.mark.parametrize("compiler", C_COMPILERS)
def test_no_name_that_is_free_is_known_to_a_compiler(compiler: str, tmp_path: Path) -> None:
    includes = "".join([f"#include <{header}.h>\n" for header in LIBRARY_HEADERS])
    command = [compiler, "-x", "c", "-D_GNU_SOURCE", "-E", "-P", "-"]
    text = subprocess.run(command, input=includes, capture_output=True, text=True, check=True).stdout
    names = sorted({*_words(text), *BUILT_IN, *[f"{name}f" for name in BUILT_IN]})
    free = [name for name in names if not is_reserved(name)]
    assert len(free) > 100
    declared = "".join([f"int {name}(const double** a, double** r, int* i, double* w, int m);\n" for name in free])
    (file,) = write_sources(tmp_path, {"declared": declared})
    compile_with(compiler, ["-x", "c", "-std=gnu99", "-fsyntax-only", "-Wall", "-Werror"], [file])


@needs_cc
@pytest.mark.parametrize("compiler", C_COMPILERS)
def test_functions_of_c_and_posix_are_reserved(compiler: str) -> None:
    headers = [header for header in LIBRARY_HEADERS if header not in ("tgmath", "unistd", "strings")]
    for flags, found in (((), headers), (("-D_XOPEN_SOURCE=700",), ("unistd", "string", "strings"))):
        includes = "".join([f"#include <{header}.h>\n" for header in found])
        command = [compiler, "-x", "c", "-std=c99", *flags, "-E", "-P", "-"]
        text = subprocess.run(command, input=includes, capture_output=True, text=True, check=True).stdout
        functions = re.findall(r"\bextern\b[^;()]*?\b([a-z]\w*) \(", text)
        assert len(functions) > 100
        assert [name for name in functions if not is_reserved(name)] == []
