"""Which compiler is chosen, with which flags (lowering specification 5.8)."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

import scaly_ir as sc
from scaly_ir.tools.jit.toolchain import find_toolchain


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder of compilers that do nothing, on a machine with flags of its own; return the folder."""
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    for name in ("cc", "gcc", "my-cc", "other"):
        path = tmp_path / name
        path.write_text("#!/bin/sh\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return tmp_path


def flags(folder: Path, cc: str = "", **environment: str) -> list[str]:
    found = find_toolchain(cc, {"PATH": str(folder), **environment})
    words = found.arguments("f.c", "f.so")
    return [words[0].removeprefix(f"{folder}/"), *words[1:]]


def test_the_command(bin_folder: Path) -> None:
    words = " ".join(flags(bin_folder))
    assert words == "cc -O2 -march=native -fno-math-errno -fPIC -shared f.c -o f.so -lm"


@pytest.mark.parametrize(
    ("cc", "environment", "chosen"),
    [
        ("", {}, ["cc"]),
        ("", {"CC": "gcc"}, ["gcc"]),
        ("", {"CC": "gcc", "SCALY_IR_CC": "my-cc"}, ["my-cc"]),
        ("other", {"CC": "gcc", "SCALY_IR_CC": "my-cc"}, ["other"]),
        ("", {"CC": " ", "SCALY_IR_CC": ""}, ["cc"]),
        ("", {"CC": "gcc -m64 '-DA=a b'"}, ["gcc", "-m64", "-DA=a b"]),
    ],
)
def test_the_compiler(bin_folder: Path, cc: str, environment: dict[str, str], chosen: list[str]) -> None:
    assert flags(bin_folder, cc, **environment)[: len(chosen) + 1] == [*chosen, "-O2"]


def test_flags_of_the_environment(bin_folder: Path) -> None:
    words = flags(bin_folder, SCALY_IR_CC_OPT="-O3 -funroll-loops", CFLAGS="-ffp-contract=off -g")
    assert words[1:3] == ["-O3", "-funroll-loops"]
    assert "-O2" not in words
    assert words.index("-ffp-contract=off") > words.index("-fno-math-errno")


@pytest.mark.parametrize(
    ("machine", "flag"), [("arm64", "-mcpu=native"), ("aarch64", "-mcpu=native"), ("riscv64", None)]
)
def test_other_machines(bin_folder: Path, monkeypatch: pytest.MonkeyPatch, machine: str, flag: str | None) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert [word for word in flags(bin_folder) if word.startswith("-m")] == ([flag] if flag else [])


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "no C compiler: 'cc' is not found; install gcc or clang, or name one by --cc, SCALY_IR_CC or CC"),
        ({"CC": "nope"}, "no C compiler: 'nope', named by CC, is not found; install gcc or clang, or name one by"),
        ({"SCALY_IR_CC": "gcc 'x"}, "no C compiler: SCALY_IR_CC is not a command line: no closing quotation"),
    ],
)
def test_no_compiler(environment: dict[str, str], message: str) -> None:
    with pytest.raises(sc.NoCompilerError) as caught:
        find_toolchain("", {"PATH": "", **environment})
    assert str(caught.value).startswith(message)
    assert isinstance(caught.value, sc.CompileError)
