"""The rules that a machine can hold: lint, format, types, import direction, import names, and what the README claims.

Each check runs the tool as a contributor would, with the configuration in pyproject.toml, and shows its output on
failure. What ends up in a distribution is the business of test_packaging.py.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# The folders that scaly_ir/ links to, and so the names that nobody may import from the top.
LINKED = ("dialects", "passes", "tools")

# Folders in which the machine that wrote a file, not the project, decides what there is.
MACHINE_PATH = re.compile(
    r"(?<![\w.~/-])/(?:work|workspaces?|root|Users)/|(?<![\w.~/-])/home/\w|\b[A-Z]:\\Users\\|file:///\w"
)


def _run(*command: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `command` without colour and with both streams captured as one text."""
    env = {**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
    env.pop("FORCE_COLOR", None)
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )


def _script(name: str) -> Path:
    """The console script `name` of the environment that runs this test."""
    suffix = ".exe" if sys.platform == "win32" else ""
    return Path(sysconfig.get_path("scripts")) / (name + suffix)


def _project_files(*suffixes: str) -> list[Path]:
    """The files git tracks, or would track after `git add`, that end in one of `suffixes` (all of them without)."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    files = (ROOT / name for name in listed.split("\0") if name.endswith(suffixes or ""))
    return sorted(file for file in files if file.is_file() and not file.is_symlink())


TOOLS = {
    "ruff check": [sys.executable, "-m", "ruff", "check", "."],
    "ruff format": [sys.executable, "-m", "ruff", "format", "--check", "--diff", "."],
    "mypy": [sys.executable, "-m", "mypy"],
    "lint-imports": [_script("lint-imports"), "--no-logo"],
}


@pytest.mark.parametrize("command", TOOLS.values(), ids=TOOLS.keys())
def test_tool_finds_nothing(command: list[str | Path]) -> None:
    done = _run(*command)
    assert done.returncode == 0, f"{' '.join(str(word) for word in command)}\n{done.stdout}"


@pytest.mark.parametrize("folder", LINKED)
def test_linked_folder_is_one_package(folder: str) -> None:
    link = ROOT / "scaly_ir" / folder
    assert link.is_symlink(), f"scaly_ir/{folder} is no link; on Windows see CONTRIBUTING.md on core.symlinks"
    assert os.readlink(link).replace("\\", "/") == f"../{folder}"
    assert link.resolve() == ROOT / folder


def _imported_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every absolute import in `tree`, import_module("...") and __import__("...") included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, node.module or ""
        elif isinstance(node, ast.Call) and node.args:
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            name = node.args[0]
            if function in ("import_module", "__import__") and isinstance(name, ast.Constant):
                yield node.lineno, str(name.value)


def _top_level_imports(source: str) -> list[tuple[int, str]]:
    return [(line, name) for line, name in _imported_names(ast.parse(source)) if name.partition(".")[0] in LINKED]


def test_nothing_imports_a_linked_folder_from_the_top() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{line}: {name} must be imported as scaly_ir.{name}"
        for file in _project_files(".py", ".pyi")
        for line, name in _top_level_imports(file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)


def test_top_level_imports_are_recognised() -> None:
    source = (
        "import tools.golden\nfrom passes import prog\nimportlib.import_module('dialects.prog')\n__import__('tools')\n"
    )
    assert [line for line, _ in _top_level_imports(source)] == [1, 2, 3, 4]
    assert not _top_level_imports("import scaly_ir.tools\nfrom scaly_ir.passes import prog\nfrom . import tools\n")


def test_no_file_names_a_path_of_one_machine() -> None:
    found = []
    for file in _project_files():
        data = file.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if MACHINE_PATH.search(line):
                found.append(f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


def test_machine_paths_are_recognised() -> None:
    for folder in ("work", "home", "root", "Users"):
        assert MACHINE_PATH.search(f"see /{folder}/someone/notes.md")
    assert not MACHINE_PATH.search("dialects/work/x.py, ../root/y and https://example.org/home/page")


def _readme_commands() -> tuple[str, str]:
    """The README's two commands: the one that shows a fused program and the one that runs the tests."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first, second = re.findall(r"^```sh\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[:2]
    return first.strip(), second.strip()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert script.splitlines()[-1] == _readme_commands()[1]


def test_readme_shows_what_its_first_command_prints() -> None:
    command = _readme_commands()[0].rpartition("&& ")[2].split()
    assert command[0] == ".venv/bin/scaly-opt"
    done = _run(_script("scaly-opt"), *command[1:])
    assert done.returncode == 0, done.stdout
    blocks = re.findall(r"^```mlir\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    source = re.sub(r"^//.*\n|^\n", "", (ROOT / command[-1]).read_text("utf-8"), flags=re.MULTILINE)
    assert blocks == [source, done.stdout]


def test_readme_and_contributing_link_to_files_that_exist() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{name} links to {target}"
