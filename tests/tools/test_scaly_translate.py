"""scaly-translate from the command line to the exit code: targets, outputs, functions, plug-ins and failures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.plugins import TRANSLATIONS
from scaly_ir.tools import scaly_translate as tool
from scaly_ir.tools.translate.targets import TARGETS
from tests.tools.running import (
    BAD_SYNTAX,
    BAD_SYNTAX_ERROR,
    CHAIN,
    OUT_OF_BOUNDS,
    environment,
    scaly_opt,
    scaly_translate,
)

pytestmark = pytest.mark.usefixtures("workspace")


# --- what is printed and nothing else ---------------------------------------------------------------------------------


def test_help_fits_a_terminal_and_names_every_option() -> None:
    done = scaly_translate("--help")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) <= 60
    assert max([len(line) for line in lines]) <= 80
    for option in tool.OPTIONS:
        assert re.search(rf"(?<![\w-])-{{1,2}}{option.names[0]}(?![\w-])", done.out), option.names


def test_version_and_usage() -> None:
    assert re.fullmatch(r"scaly-translate \d+\.\d+\.\d+\n", scaly_translate("--version").out)
    assert scaly_translate(terminal=True) == (2, "", tool.USAGE)


def test_every_target_is_listed_and_described() -> None:
    lines = scaly_translate("--list-targets").out.splitlines()
    assert [line.split(" ")[0] for line in lines] == sorted(TARGETS)
    for name, target in TARGETS.items():
        text = scaly_translate("--describe", name).out
        assert text.startswith(f"{name}: {target.summary}\n")
        assert f"the extension of its files is {target.extension}\n" in text


# --- outputs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_target_by_name_and_by_extension(target: str) -> None:
    Path("f.sir").write_text(CHAIN)
    printed = scaly_translate(f"--to={target}", "f.sir")
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.endswith("\n")
    assert not printed.out.endswith("\n\n")
    path = f"out{TARGETS[target].extension}"
    assert scaly_translate("f.sir", "-o", path) == (0, "", "")
    assert Path(path).read_bytes() == printed.out.encode()
    assert scaly_translate("--to", target, "-o", "other", stdin=CHAIN, terminal=False).code == 0
    assert Path("other").read_text().replace("<stdin>", "f.sir") == printed.out


def test_outputs_are_paired_in_order() -> None:
    done = scaly_translate("--to=header", "--to=sir", "-o", "a", "-o", "b", stdin=CHAIN)
    assert done == (0, "", "")
    assert Path("a").read_text().startswith("#ifndef SCALY_chain_H\n")
    assert Path("b").read_text() == CHAIN


def test_nothing_is_written_when_one_target_fails() -> None:
    Path("a.c").write_text("old")
    text = CHAIN.replace("prog.exp", "prim.sigmoid")
    done = scaly_translate("-o", "a.sir", "-o", "a.c", "-o", "a.h", stdin=text)
    assert done.code == 1
    assert "<stdin>:5:18: error: no c lowering for operator 'prim.sigmoid'\n" in done.err
    assert sorted(os.listdir()) == ["a.c"]
    assert Path("a.c").read_text() == "old"


def test_nothing_is_written_when_one_file_cannot_be() -> None:
    Path("a.c").write_text("old")
    done = scaly_translate("-o", "a.sir", "-o", "a.c", "-o", "missing/a.h", stdin=CHAIN)
    message = "scaly-translate: error: cannot write 'missing/a.h': No such file or directory\n"
    assert (done.code, done.err) == (1, message)
    assert os.listdir() == ["a.c"]
    assert Path("a.c").read_text() == "old"


def test_two_results_do_not_go_to_one_file() -> None:
    done = scaly_translate("--to=c", "--to=header", "-o", "a", "-o", "a", stdin=CHAIN)
    assert (done.code, done.err) == (2, "scaly-translate: error: two results would go to 'a'\n  -o a\n     ^\n")
    Path("a.c").touch()
    Path("b.c").symlink_to("a.c")
    done = scaly_translate("-o", "b.c", "-o", "./a.c", stdin=CHAIN)
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "scaly-translate: error: two results would go to './a.c', which is 'b.c'",
    )
    assert Path("a.c").read_text() == ""
    both = scaly_translate("--to=sir", "--to=sir", "-o", "-", "-o", "-", stdin=CHAIN)
    assert (both.code, both.out) == (0, CHAIN * 2)
    assert scaly_translate("--to=c", "--to=header", "-o", os.devnull, "-o", os.devnull, stdin=CHAIN).code == 0


def test_one_complaint_is_enough_for_source_and_header() -> None:
    text = "prog.proc @sin(%x: memref<1xfloat64>) {\n}\n"
    done = scaly_translate("-o", "a.c", "-o", "a.h", stdin=text)
    assert done.err.count("error") == 1
    assert done.err.startswith("<stdin>:1:11: error: @sin is exported as 'sin', a name that C or its library has")


def test_the_file_may_be_the_output() -> None:
    Path("f.sir").write_text(f"  {CHAIN}")
    assert scaly_translate("--to=sir", "f.sir", "-o", "f.sir").code == 0
    assert Path("f.sir").read_text() == CHAIN


# --- inputs that are refused ------------------------------------------------------------------------------------------


def test_inputs_are_read_and_verified_as_by_scaly_opt() -> None:
    assert scaly_translate("--to=c", stdin=BAD_SYNTAX) == (1, "", f"<stdin>{BAD_SYNTAX_ERROR}")
    assert scaly_translate("--to=c", stdin=OUT_OF_BOUNDS) == scaly_opt(stdin=OUT_OF_BOUNDS)
    done = scaly_translate("--to=c", "missing.sir")
    assert (done.code, done.err) == (
        1,
        "scaly-translate: error: cannot read 'missing.sir': No such file or directory\n",
    )


def test_an_empty_file() -> None:
    assert scaly_translate("--to=sir", stdin="// nothing\n") == (0, "", "")
    message = "scaly-translate: error: there is no procedure; the last one is what C exports\n"
    assert scaly_translate("--to=c", stdin="") == (1, "", message)


def test_a_fragment() -> None:
    text = "%a = prog.assign 1 : float64 {declare=True}\n"
    assert scaly_translate("--to=sir", stdin=text) == (0, text, "")
    assert scaly_translate("--to=c", stdin=text).code == 1
    assert scaly_translate("--to=json", stdin=text).code == 0
    assert "out of a file of functions or procedures alone" in scaly_translate("--to=sir", "--func=@f", stdin=text).err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--func=@"], "option '--func' expects the name of a function, as '@f'"),
        (["--to=c,header"], "expected a target, found 'c,header'"),
        (["--to=c{dialect=c},header"], "expected one target; repeat '--to' for another"),
        (["--to="], "expected a target, found ''"),
        (["--to=c{"], "this '{' is not closed"),
        (["--to=c", "-o", "x", "-o", "y"], "several outputs need a -o for each --to, found 1 --to and 2 -o"),
        (["--unheard"], "unknown option '--unheard'; --help shows all"),
    ],
)
def test_misuse(argv: list[str], message: str) -> None:
    done = scaly_translate(*argv, stdin=CHAIN)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"scaly-translate: error: {message}\n")


# --- plug-ins ---------------------------------------------------------------------------------------------------------


def shout(root: Node, options: Mapping[str, str]) -> str:
    """Write the operator of the root in capitals."""
    if "fail" in options:
        raise TranslateError("not so loud")
    if "bug" in options:
        raise KeyError(3)
    return root.op.name.upper() + options.get("mark", "")


def test_what_a_plug_in_translates_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TRANSLATIONS, "shout", shout)
    assert scaly_translate("--to=shout{mark=!}", stdin=CHAIN) == (0, "PROG.PROGRAM!\n", "")
    assert "shout   Write the operator of the root in capitals\n" in scaly_translate("--list-targets").out
    assert scaly_translate("--describe=shout").out == "shout: Write the operator of the root in capitals\n"
    assert scaly_translate("--to=shuot", stdin=CHAIN).err.startswith(
        "scaly-translate: error: unknown target 'shuot'; did you mean 'shout'?\n"
    )
    assert scaly_translate("--to=shout{fail}", stdin=CHAIN) == (1, "", "scaly-translate: error: not so loud\n")
    message = "scaly-translate: error: internal error in translation 'shout': KeyError: 3\n"
    assert scaly_translate("--to=shout{bug}", stdin=CHAIN) == (3, "", message)
    assert "Traceback" in scaly_translate("--to=shout{bug}", "--traceback", stdin=CHAIN).err
    assert "Traceback" in scaly_translate("--to=shout{fail}", "--traceback", stdin=CHAIN).err


def test_a_plug_in_named_on_the_command_line() -> None:
    Path("loud.py").write_text(
        "def register(registry):\n    registry.add_translation('loud', lambda root, options: 'LOUD')\n"
    )
    command = [sys.executable, "-m", "scaly_ir.tools.scaly_translate", "--load-plugin=loud:register", "--to=loud"]
    done = subprocess.run(command, input=CHAIN.encode(), capture_output=True, env=environment(), check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"LOUD\n", b"")


def test_progress_is_told_on_request() -> None:
    done = scaly_translate("-v", "--to=sir", stdin=CHAIN)
    assert done.err == "scaly-translate: reading <stdin>\nscaly-translate: translating to sir\n"
