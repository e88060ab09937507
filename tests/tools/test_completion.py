"""Completion of command lines: what the shells offer, with the script that each tool prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scaly_ir.tools import scaly_check, scaly_opt, scaly_reduce, scaly_run, scaly_translate
from scaly_ir.tools.completion import LISTS, SHELLS
from tests.tools.running import environment, run_tool

pytestmark = pytest.mark.skipif(os.name != "posix", reason="shells and commands as POSIX has them")

TOOLS = {
    "scaly-check": scaly_check,
    "scaly-opt": scaly_opt,
    "scaly-reduce": scaly_reduce,
    "scaly-run": scaly_run,
    "scaly-translate": scaly_translate,
}


def _script(tool: str, shell: str) -> str:
    done = run_tool(TOOLS[tool].main, [f"--completion={shell}"])
    assert (done.code, done.err) == (0, "")
    return done.out


def test_the_page_names_all_tools() -> None:
    page = Path(__file__).resolve().parents[2] / "docs/editors.md"
    loops = re.findall(r"^for tool in (.*?);", page.read_text(), re.MULTILINE)
    assert [loop.split() for loop in loops] == [list(TOOLS)] * len(SHELLS)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Work in an empty folder, with the tools as commands; return the environment."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, module in TOOLS.items():
        command = folder / name
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module.__name__} "$@"\n')
        command.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    changes = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path), "LC_ALL": "C"}
    return environment(**changes)


def _run(shell: str, text: str, commands: dict[str, str], *options: str) -> list[str]:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell}")
    done = subprocess.run(
        [program, *options, "-c", text], capture_output=True, encoding="utf-8", env=commands, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def _in_bash(tool: str, words: list[str], commands: dict[str, str]) -> list[str]:
    """Return what bash offers for the last word; `=` is a word of its own there."""
    quoted = " ".join([shlex.quote(word) for word in (tool, *words)])
    function = f"_{tool.replace('-', '_')}"
    ask = f'COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; {function}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return [line for line in _run("bash", f"{_script(tool, 'bash')}\n{ask}", commands, "--norc") if line]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_of_the_shell(tool: str, shell: str, commands: dict[str, str]) -> None:
    script = _script(tool, shell)
    assert script.endswith("\n")
    assert "\n\n" not in script
    assert _run(shell, script, commands, "-n") == []


@pytest.mark.parametrize("tool", TOOLS)
def test_every_option_is_offered(tool: str, commands: dict[str, str]) -> None:
    options = TOOLS[tool].OPTIONS
    names = [name for option in options for name in option.names]
    offered = {word.rstrip("=") for word in _in_bash(tool, ["-"], commands)}
    assert offered == {f"-{name}" if len(name) == 1 else f"--{name}" for name in names}
    for script in (_script(tool, "zsh"), _script(tool, "fish")):
        assert not [name for name in names if name not in script]


@pytest.mark.parametrize("tool", TOOLS)
def test_what_an_option_takes_is_a_known_kind(tool: str) -> None:
    for option in TOOLS[tool].OPTIONS:
        assert option.complete in ("", "file", "folder", *LISTS) or "|" in option.complete
        assert not option.complete or option.value != "no"


@pytest.mark.parametrize(
    ("tool", "words", "offered"),
    [
        ("scaly-opt", ["--col"], ["--color=", "--colour="]),
        ("scaly-opt", ["--verify-r"], ["--verify-roundtrip"]),
        ("scaly-opt", ["--color", "=", ""], ["auto", "always", "never"]),
        ("scaly-opt", ["--color", "="], ["auto", "always", "never"]),
        ("scaly-opt", ["--color", "=", "al"], ["always"]),
        ("scaly-opt", ["--color=al"], ["--color=always"]),
        ("scaly-opt", ["-color", "al"], ["always"]),
        ("scaly-opt", ["--pass", "=", "fuse_e"], ["fuse_elementwise"]),
        ("scaly-opt", ["--pass=fuse_e"], ["--pass=fuse_elementwise"]),
        ("scaly-opt", ["--pass", "=", "cse,fuse_e"], ["cse,fuse_elementwise"]),
        ("scaly-opt", ["--stop-after", "fuse_e"], ["fuse_elementwise"]),
        ("scaly-opt", ["--fuse_e"], ["--fuse_elementwise"]),
        ("scaly-opt", ["--verify-each", "="], ["true", "false"]),
        ("scaly-opt", ["--max-errors", "=", "1"], []),
        ("scaly-opt", ["--verify-each", ""], ["a.sir", "b c.sir", "folder"]),  # its value needs the '='
        ("scaly-opt", [""], ["a.sir", "b c.sir", "folder"]),
        ("scaly-opt", ["-o", ""], ["a.sir", "b c.sir", "c.txt", "folder"]),
        ("scaly-opt", ["--print-ir-tree-dir", "="], ["folder"]),
        ("scaly-translate", ["--to", "js"], ["json"]),
        ("scaly-run", ["--engine", "=", ""], ["ref", "c"]),
        ("scaly-check", ["--upd"], ["--update-checks", "--update"]),
    ],
)
def test_bash(tool: str, words: list[str], offered: list[str], commands: dict[str, str]) -> None:
    for name in ("a.sir", "b c.sir", "c.txt"):
        Path(name).write_text("")
    Path("folder").mkdir()
    assert sorted(_in_bash(tool, words, commands)) == sorted(offered)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("scaly-opt --colo", ["--color", "--colour"]),
        ("scaly-opt --color=al", ["--color=always"]),
        ("scaly-opt --color al", ["always"]),
        ("scaly-opt --pass=cse,fuse_e", ["--pass=cse,fuse_elementwise"]),
        ("scaly-opt --stop-after fuse_e", ["fuse_elementwise"]),
        ("scaly-translate --to js", ["json"]),
        ("scaly-opt ./a", ["./a.sir"]),
    ],
)
def test_fish(line: str, offered: list[str], commands: dict[str, str]) -> None:
    Path("a.sir").write_text("")
    script = _script(line.partition(" ")[0], "fish")
    found = _run("fish", f"{script}\ncomplete -C {shlex.quote(line)}", commands, "--no-config")
    assert [word.partition("\t")[0] for word in found] == offered


_ZSH = """\
zmodload zsh/zpty
zpty shell 'zsh -f -i'
say() { zpty -w shell "$1" }
say 'PROMPT= RPROMPT=; unsetopt zle_bracketed_paste; autoload -Uz compinit; compinit -u -D'
say 'source ./script; bindkey "^I" complete-word; echo ready-$((1+1))'
zpty -r -m shell line '*ready-2*'
zpty -w -n shell "$LINE_TO_TYPE"$'\\t'
zpty -w -n shell $'\\C-a''echo "<<'$'\\C-e''>>"'$'\\n'
zpty -r -m shell line '*<<*>>*<<*>>*'
print -r -- "$line"
"""


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("scaly-opt --color=al", "scaly-opt --color=always"),
        ("scaly-opt --pass=fuse_e", "scaly-opt --pass=fuse_elementwise"),
        ("scaly-translate --to=js", "scaly-translate --to=json"),
        ("scaly-opt --verify-r", "scaly-opt --verify-roundtrip"),
        ("scaly-opt a", "scaly-opt a.sir"),
    ],
)
def test_zsh(line: str, completed: str, commands: dict[str, str]) -> None:
    Path("a.sir").write_text("")
    Path("script").write_text(_script(line.partition(" ")[0], "zsh"))
    typed = _run("zsh", _ZSH, {**commands, "LINE_TO_TYPE": line, "TERM": "dumb"}, "-f")
    assert f"<<{completed}" in "".join(typed).replace("\r", "")


def test_a_shell_that_is_not_known() -> None:
    done = run_tool(scaly_opt.main, ["--completion=bsh"])
    assert done.code == 2
    assert "option '--completion' expects 'bash', 'zsh' or 'fish', got 'bsh'; did you mean 'bash' or 'zsh'?" in done.err
