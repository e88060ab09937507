"""Libraries on disk: where they are, when they are used again, and builders that get in each other's way."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import scaly_ir as sc
from scaly_ir.tools.jit import cache as storage
from scaly_ir.tools.jit.cache import LIBRARY, SOURCE, cache_root, key_of, load_cached
from scaly_ir.tools.jit.toolchain import Toolchain, find_toolchain
from tests.tools.running import environment

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

ANSWER = "int answer(void) { return 42; }\n"


def answer(library: Path) -> int:
    number: int = ctypes.CDLL(str(library)).answer()
    return number


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of what is compiled from now on."""
    seen = []

    def watched(folder: Path, source: str, toolchain: Toolchain, kept: Path | None = None) -> None:
        seen.append(source)
        build(folder, source, toolchain, kept)

    build = storage.build
    monkeypatch.setattr(storage, "build", watched)
    return seen


# --- where ------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="absolute paths as POSIX has them")
@pytest.mark.parametrize(
    ("variables", "root"),
    [
        ({"SCALY_IR_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
        ({"SCALY_IR_CACHE_DIR": "", "XDG_CACHE_HOME": "/b"}, "/b/scaly-ir/jit"),
        ({"XDG_CACHE_HOME": "relative"}, "/h/.cache/scaly-ir/jit"),
        ({}, "/h/.cache/scaly-ir/jit"),
    ],
)
def test_the_root(variables: dict[str, str], root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/h")
    assert cache_root(variables) == Path(root)


def test_keys_depend_on_all_that_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = find_toolchain()
    same = key_of("signature", "f", ANSWER, tools)
    assert key_of("signature", "f", ANSWER, find_toolchain()) == same
    assert len(same) == 64
    others = [
        key_of("other", "f", ANSWER, tools),
        key_of("signature", "g", ANSWER, tools),
        key_of("signature", "f", ANSWER + "\n", tools),
        key_of("signature", "f", ANSWER, replace(tools, compile_flags=(*tools.compile_flags, "-g"))),
        key_of("signature", "f", ANSWER, replace(tools, link_flags=(*tools.link_flags, "-lc"))),
        key_of("signature", "f", ANSWER, replace(tools, command=(*tools.command, "-pipe"))),
    ]
    assert len({same, *others}) == 7
    monkeypatch.setattr(Toolchain, "identity", lambda _: "another compiler at the same place")
    assert key_of("signature", "f", ANSWER, tools) != same


# --- when -------------------------------------------------------------------------------------------------------------


def test_a_library_is_compiled_once(cache: Path, compilations: list[str]) -> None:
    tools = find_toolchain()
    assert [load_cached(cache, "key", ANSWER, tools, answer) for _ in range(3)] == [42] * 3
    assert compilations == [ANSWER]
    assert sorted(os.listdir(cache)) == ["key"]
    assert (cache / "key" / SOURCE).read_text() == ANSWER
    assert "-shared" in (cache / "key" / "command.txt").read_text() or sys.platform == "darwin"
    assert cache.stat().st_mode & 0o077 == 0


def test_a_library_that_is_gone_or_damaged_is_compiled_again(cache: Path, compilations: list[str]) -> None:
    tools = find_toolchain()
    load_cached(cache, "gone", ANSWER, tools, answer)
    (cache / "gone" / LIBRARY).unlink()
    assert load_cached(cache, "gone", ANSWER, tools, answer) == 42
    (cache / "bad").mkdir()
    (cache / "bad" / LIBRARY).write_bytes(b"half a file")
    assert load_cached(cache, "bad", ANSWER, tools, answer) == 42
    assert len(compilations) == 4  # one more for what could not be loaded after it was found complete


def test_nothing_is_seen_before_it_is_complete(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complete: list[bool] = []

    def watched(folder: Path, source: str, toolchain: Toolchain, kept: Path | None = None) -> None:
        build(folder, source, toolchain, kept)
        complete.append((folder / LIBRARY).is_file())
        assert not (cache / "key").exists()

    build = storage.build
    monkeypatch.setattr(storage, "build", watched)
    assert load_cached(cache, "key", ANSWER, find_toolchain(), answer) == 42
    assert complete == [True]


def test_a_faster_builder_wins(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def overtaken(folder: Path, source: str, toolchain: Toolchain, kept: Path | None = None) -> None:
        build(folder, source, toolchain, kept)
        if not (cache / "key").exists():
            shutil.copytree(folder, cache / "key")
            (cache / "key" / "first").touch()

    build = storage.build
    monkeypatch.setattr(storage, "build", overtaken)
    assert load_cached(cache, "key", ANSWER, find_toolchain(), answer) == 42
    assert (cache / "key" / "first").exists()
    assert os.listdir(cache) == ["key"]


def test_a_folder_that_vanishes_while_it_is_filled(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def clumsy(folder: Path, source: str, toolchain: Toolchain, kept: Path | None = None) -> None:
        calls.append(folder)
        if len(calls) == 1:
            shutil.rmtree(folder)
        build(folder, source, toolchain, kept)

    build = storage.build
    monkeypatch.setattr(storage, "build", clumsy)
    assert load_cached(cache, "key", ANSWER, find_toolchain(), answer) == 42
    assert len(calls) == 2


def test_a_folder_that_vanishes_before_it_is_loaded(cache: Path, compilations: list[str]) -> None:
    seen = []

    def clumsy(library: Path) -> int:
        seen.append(library)
        if len(seen) == 1:
            shutil.rmtree(library.parent)
        return answer(library)

    assert load_cached(cache, "key", ANSWER, find_toolchain(), clumsy) == 42
    assert len(compilations) == 2


def test_builders_in_many_processes_see_whole_files_only(cache: Path) -> None:
    script = (
        "import ctypes, sys, pathlib\n"
        "from scaly_ir.tools.jit.cache import load_cached\n"
        "from scaly_ir.tools.jit.toolchain import find_toolchain\n"
        "root, source = pathlib.Path(sys.argv[1]), sys.argv[2]\n"
        "for key in range(3):\n"
        "    print(load_cached(root, str(key), source, find_toolchain(), lambda p: ctypes.CDLL(str(p)).answer()))\n"
    )
    command = [sys.executable, "-c", script, str(cache), ANSWER]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) for _ in range(4)
    ]
    for process in running:
        assert process.communicate() == (b"42\n42\n42\n", b"")
    assert sorted(os.listdir(cache)) == ["0", "1", "2"]


# --- failures ---------------------------------------------------------------------------------------------------------


def test_what_the_compiler_says_is_shown_and_the_source_kept(cache: Path) -> None:
    source = "".join([f"int f{number} = oops{number};\n" for number in range(20)])
    for _ in range(2):  # the second time there is something kept already
        with pytest.raises(sc.CompileError) as caught:
            load_cached(cache, "0123456789abcdefghi", source, find_toolchain(), answer)
        first, *middle, dots, last = str(caught.value).splitlines()
        assert first.startswith("the C compiler failed: kernel.c:1:")
        assert "oops" in first
        assert len(middle) == 7
        assert dots == "..."
        assert last == f"the source is kept in '{cache / 'failed-0123456789abcdef' / SOURCE}'"
        assert (cache / "failed-0123456789abcdef" / SOURCE).read_text() == source
    assert os.listdir(cache) == ["failed-0123456789abcdef"]


def test_a_compiler_that_cannot_be_run(cache: Path, tmp_path: Path) -> None:
    broken = tmp_path / "cc"
    broken.write_text("not a program")
    broken.chmod(0o755)
    with pytest.raises(sc.CompileError, match="cannot run"):
        load_cached(cache, "key", ANSWER, find_toolchain(str(broken)), answer)


def test_a_library_that_cannot_be_loaded(cache: Path) -> None:
    def refuse(library: Path) -> int:
        raise OSError("wrong architecture")

    with pytest.raises(sc.CompileError, match=r"cannot load the library '.*': wrong architecture"):
        load_cached(cache, "key", ANSWER, find_toolchain(), refuse)
