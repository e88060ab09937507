"""Reading with clear messages, and writing a file whole or not at all."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path

import pytest

from scaly_ir.text.diagnostics import Diagnostic, render
from scaly_ir.text.source import Source
from scaly_ir.tools import files
from scaly_ir.tools.files import read_source, write_atomically, write_result, write_results

pytestmark = pytest.mark.usefixtures("workspace")

posix = pytest.mark.skipif(os.name != "posix", reason="links, modes and devices as POSIX has them")


def _stdin(data: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="ascii")


def _read(path: str) -> str:
    """Read a file, or its content from standard input; return the text, or the message."""
    source = read_source(path, _stdin(b""))
    return source.text if isinstance(source, Source) else render(source, origin="tool")


def _said(failure: Diagnostic | None) -> str:
    assert failure is not None
    return render(failure, origin="tool")


# --- reading ---------------------------------------------------------------------------------------------------------


def test_a_file_and_standard_input_are_read_alike() -> None:
    data = b"\xef\xbb\xbfa \xc3\xa9\r\nb\n"
    Path("x.sir").write_bytes(data)
    from_file, from_stdin = read_source("x.sir", _stdin(b"")), read_source("-", _stdin(data))
    assert isinstance(from_file, Source)
    assert isinstance(from_stdin, Source)
    assert from_file.text == from_stdin.text == "a é\nb\n"
    assert (from_file.name, from_stdin.name) == ("x.sir", "<stdin>")


def test_standard_input_has_the_name_it_is_given() -> None:
    source = read_source("-", _stdin(b"\xff"), "kernel.sir")
    assert isinstance(source, Diagnostic)
    assert render(source) == "kernel.sir:1:1: error: byte 0xff is not valid UTF-8\n\ufffd\n^"


def test_standard_input_may_be_text() -> None:
    source = read_source("-", io.StringIO("a é\n"))
    assert isinstance(source, Source)
    assert source.text == "a é\n"


def test_a_missing_file_and_one_that_is_meant() -> None:
    Path("chain.sir").touch()
    Path("chain_sir").mkdir()  # no file, so never meant
    Path("other.sir").touch()
    missing = "tool: error: cannot read '{}': No such file or directory"
    assert _read("chian.sir") == missing.format("chian.sir") + "; did you mean 'chain.sir'?"
    assert _read("./chian.sir") == missing.format("./chian.sir") + "; did you mean './chain.sir'?"
    assert _read("other") == missing.format("other") + "; did you mean 'other.sir'?"
    assert _read("nothing/like/it") == missing.format("nothing/like/it")
    assert _read("") == missing.format("")


def test_only_the_last_part_of_a_path_decides_what_is_meant() -> None:
    folder = Path("a_long_folder_name_that_is_right")
    folder.mkdir()
    (folder / "a.sir").touch()
    (folder / "matrix.sir").touch()
    assert _read(f"{folder}/zzzzzz").endswith("No such file or directory")
    assert _read(f"{folder}/matrx.sir").endswith(f"; did you mean '{folder}/matrix.sir'?")


def test_what_is_no_readable_file() -> None:
    Path("folder").mkdir()
    Path("file").touch()
    assert _read("folder") == "tool: error: cannot read 'folder': Is a directory"
    assert _read("file/x.sir") == "tool: error: cannot read 'file/x.sir': Not a directory"
    # What a terminal would act on is not shown.
    assert _read("x\0y") == "tool: error: cannot read 'x\ufffdy': embedded null byte"
    Path("binary").write_bytes(b"prog\0")
    assert _read("binary") == "tool: error: 'binary' is a binary file"


def test_a_path_is_shown_as_it_was_typed() -> None:
    if os.name == "posix":
        assert _read(r"C:\dir\x.sir") == r"tool: error: cannot read 'C:\dir\x.sir': No such file or directory"


def test_no_permission_to_read(unprivileged: Path) -> None:
    Path("x.sir").touch(mode=0)
    assert _read("x.sir") == "tool: error: cannot read 'x.sir': Permission denied"


# --- writing ---------------------------------------------------------------------------------------------------------


def test_a_file_is_made_with_the_mode_of_any_new_file() -> None:
    Path("plain").touch()
    assert write_atomically("x.sir", "naïve\n") is None
    assert Path("x.sir").read_bytes() == "naïve\n".encode()
    assert Path("x.sir").stat().st_mode == Path("plain").stat().st_mode
    assert sorted(os.listdir()) == ["plain", "x.sir"]


@posix
def test_an_existing_file_keeps_its_mode() -> None:
    path = Path("x.sir")
    path.touch()
    path.chmod(0o640)
    assert write_atomically("x.sir", "new") is None
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o640)


@posix
def test_a_link_stays_one() -> None:
    Path("folder").mkdir()
    target = Path("folder/target.sir")
    target.write_text("old")
    Path("link.sir").symlink_to(target)
    assert write_atomically("link.sir", "new") is None
    assert Path("link.sir").is_symlink()
    assert target.read_text() == "new"
    assert os.listdir("folder") == ["target.sir"]


@posix
def test_a_link_to_nothing_makes_what_it_names() -> None:
    Path("link.sir").symlink_to("target.sir")
    assert write_atomically("link.sir", "new") is None
    assert Path("target.sir").read_text() == "new"
    assert Path("link.sir").is_symlink()


def test_a_name_as_long_as_names_may_be() -> None:
    name = "x" * 251 + ".sir"
    assert write_atomically(name, "new") is None
    assert os.listdir() == [name]


def test_a_leftover_of_an_earlier_run_is_no_obstacle() -> None:
    leftover = Path(f".scaly-{os.getpid()}-0.tmp")
    leftover.write_text("left over")
    assert write_atomically("x.sir", "new") is None
    assert (Path("x.sir").read_text(), leftover.read_text()) == ("new", "left over")


def test_where_nothing_can_be_written() -> None:
    Path("folder").mkdir()
    Path("file").touch()
    missing = "tool: error: cannot write 'missing/x.sir': No such file or directory"
    assert _said(write_atomically("missing/x.sir", "")) == missing
    assert _said(write_atomically("folder", "")) == "tool: error: cannot write 'folder': Is a directory"
    assert _said(write_atomically("file/x", "")) == "tool: error: cannot write 'file/x': Not a directory"
    assert sorted(os.listdir()) == ["file", "folder"]


def test_no_permission_to_write(unprivileged: Path) -> None:
    Path("x.sir").write_text("old")
    Path("x.sir").chmod(0o444)
    assert _said(write_atomically("x.sir", "new")) == "tool: error: cannot write 'x.sir': Permission denied"
    Path("folder").mkdir()
    Path("folder/x.sir").write_text("old")
    Path("folder").chmod(0o555)
    for name in ("folder/x.sir", "folder/new.sir"):
        assert _said(write_atomically(name, "new")) == f"tool: error: cannot write '{name}': Permission denied"
    assert Path("x.sir").read_text() == Path("folder/x.sir").read_text() == "old"
    assert os.listdir("folder") == ["x.sir"]


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_stays_as_it_was_when_writing_stops_halfway(
    problem: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise problem

    Path("x.sir").write_text("old")
    monkeypatch.setattr(os, "replace", stop)
    if isinstance(problem, OSError):
        assert _said(write_atomically("x.sir", "new")) == "tool: error: cannot write 'x.sir': No space left on device"
    else:
        with pytest.raises(KeyboardInterrupt):
            write_atomically("x.sir", "new")
    assert Path("x.sir").read_text() == "old"
    assert os.listdir() == ["x.sir"]


@posix
def test_a_device_and_a_pipe_are_written_directly() -> None:
    assert write_atomically("/dev/null", "new") is None
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert write_atomically("pipe", "new") is None
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert os.listdir() == ["pipe"]


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_a_full_device() -> None:
    assert _said(write_atomically("/dev/full", "x")) == "tool: error: cannot write '/dev/full': No space left on device"
    with open("/dev/full", "w", encoding="utf-8") as full:
        failure = write_result("-", "x", full)
        full.buffer.raw.close()  # type: ignore[attr-defined]  # or its own closing would fail
    assert _said(failure) == "tool: error: cannot write standard output: No space left on device"


def test_a_result_goes_to_standard_output_or_to_a_file() -> None:
    out = io.StringIO()
    assert write_result("-", "to the stream\n", out) is None
    assert write_result("x.sir", "to the file\n", out) is None
    assert (out.getvalue(), Path("x.sir").read_text()) == ("to the stream\n", "to the file\n")


def test_of_several_files_all_are_written_or_none() -> None:
    Path("a").write_text("old")
    out = io.StringIO()
    failures = write_results([("a", "new"), ("missing/b", ""), ("-", "text"), ("c", "new"), ("also/d", "")], out)
    assert [_said(failure) for failure in failures] == [
        f"tool: error: cannot write '{path}': No such file or directory" for path in ("missing/b", "also/d")
    ]
    assert (Path("a").read_text(), out.getvalue(), os.listdir()) == ("old", "", ["a"])
    assert write_results([("a", "new"), ("-", "text"), ("c", "new")], out) == []
    assert (Path("a").read_text(), Path("c").read_text(), out.getvalue()) == ("new", "new", "text")
    assert sorted(os.listdir()) == ["a", "c"]


def test_no_file_is_written_when_standard_output_fails() -> None:
    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    (failure,) = write_results([("a", "new"), ("-", "text")], Full())
    assert _said(failure) == "tool: error: cannot write standard output: No space left on device"
    with pytest.raises(BrokenPipeError):
        write_results([("a", "new"), ("-", "text")], Gone())
    assert os.listdir() == []


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full")
def test_no_file_is_written_when_a_device_fails() -> None:
    (failure,) = write_results([("a", "new"), ("/dev/full", "text")], io.StringIO())
    assert _said(failure) == "tool: error: cannot write '/dev/full': No space left on device"
    assert os.listdir() == []


def test_a_reader_that_went_away_is_not_an_error_of_writing() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        write_result("-", "x", Gone())


def test_text_that_utf8_cannot_hold_is_written_as_escapes() -> None:
    assert files.write_atomically("x.sir", "\udcff") is None
    assert Path("x.sir").read_bytes() == rb"\udcff"
