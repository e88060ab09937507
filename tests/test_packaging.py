"""What a user gets: a wheel with the one package `scaly_ir`, complete, and nothing else at the top.

The distributions are built offline from a copy of the sources, so that the checkout is left as it was.
"""

from __future__ import annotations

import ast
import shutil
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "scaly_ir", "dialects", "passes", "tools")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DIST_INFO = f"scaly_ir-{PROJECT['version']}.dist-info"


def _build(source: Path, out: Path, *options: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(out), str(source)],
        cwd=source.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the distributions are built from, links kept as links."""
    copy = tmp_path_factory.mktemp("checkout") / "scaly-ir"
    copy.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)
    return copy


@pytest.fixture(scope="module")
def sdist(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    _build(checkout, out, "--sdist")
    (archive,) = out.iterdir()
    return archive


@pytest.fixture(scope="module", params=["from the checkout", "from the sdist"])
def wheel(
    request: pytest.FixtureRequest, checkout: Path, sdist: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The wheel, by both of the ways in which pip may come to build it."""
    source = checkout
    if request.param == "from the sdist":
        unpacked = tmp_path_factory.mktemp("unpacked")
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked, filter="data")
        (source,) = unpacked.iterdir()
    out = tmp_path_factory.mktemp("wheel")
    _build(source, out, "--wheel")
    (archive_file,) = out.iterdir()
    return archive_file


@pytest.fixture(scope="module")
def contents(wheel: Path) -> dict[str, bytes]:
    """The wheel's files by their names."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _module_file(contents: dict[str, bytes], module: str) -> str | None:
    path = module.replace(".", "/")
    return next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in contents), None)


def test_wheel_is_pure_python(wheel: Path) -> None:
    assert wheel.name == f"scaly_ir-{PROJECT['version']}-py3-none-any.whl"


def test_wheel_has_nothing_else_at_the_top(contents: dict[str, bytes]) -> None:
    assert {PurePosixPath(name).parts[0] for name in contents} == {"scaly_ir", DIST_INFO}
    assert contents[f"{DIST_INFO}/top_level.txt"].split() == [b"scaly_ir"]


def test_wheel_has_no_links(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert not [entry.filename for entry in archive.infolist() if stat.S_ISLNK(entry.external_attr >> 16)]


def test_wheel_holds_every_source_file(contents: dict[str, bytes], checkout: Path) -> None:
    packaged = {name for name in contents if name.startswith("scaly_ir/")}
    sources = {
        (PurePosixPath("" if folder == "scaly_ir" else "scaly_ir") / file.relative_to(checkout).as_posix()).as_posix()
        for folder in ("scaly_ir", "dialects", "passes", "tools")
        for file in (checkout / folder).rglob("*")
        if file.is_file()
    }
    assert packaged == sources
    assert {"scaly_ir/py.typed", "scaly_ir/dialects/prog/assembly.lark"} <= packaged


def test_every_module_is_in_a_package_that_says_what_it_is(contents: dict[str, bytes]) -> None:
    folders = {str(PurePosixPath(name).parent) for name in contents if name.endswith(".py")}
    bare = [
        folder
        for folder in sorted(folders)
        if not (init := contents.get(f"{folder}/__init__.py")) or not ast.get_docstring(ast.parse(init))
    ]
    assert not bare, f"packages without a docstring: {bare}"


def test_entry_points_lead_somewhere(contents: dict[str, bytes]) -> None:
    targets = dict(PROJECT["scripts"])
    for group in PROJECT["entry-points"].values():
        targets |= group
    for name, target in targets.items():
        module, _, function = target.partition(":")
        file = _module_file(contents, module)
        assert file is not None, f"{name}: no module {module} in the wheel"
        if function:
            body = ast.parse(contents[file]).body
            assert function in {node.name for node in body if isinstance(node, ast.FunctionDef)}, f"{name}: {target}"


def test_unpacked_wheel_fuses_a_program_and_refuses_a_broken_one(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    script = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import scaly_ir; "
        f"assert scaly_ir.__path__ == [{str(tmp_path / 'scaly_ir')!r}]; "
        "from scaly_ir.tools.scaly_opt import run; sys.argv[1:] = ['--pass=fuse_elementwise']; sys.exit(run())"
    )

    def run(program: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script]
        return subprocess.run(command, cwd=tmp_path, input=program, capture_output=True, encoding="utf-8", check=False)

    program = (ROOT / "testdata" / "fuse_chain.sir").read_text(encoding="utf-8")
    fused = run(program)
    assert (fused.returncode, fused.stdout.count("prog.for")) == (0, 1), fused.stderr
    # Messages about syntax come from the grammar files, which the fast path does without.
    refused = run(program.rstrip().removesuffix("}"))
    assert (refused.returncode, refused.stdout) == (1, ""), refused.stderr
    assert refused.stderr.startswith("<stdin>:")


def test_wheel_carries_the_licence(contents: dict[str, bytes]) -> None:
    assert contents[f"{DIST_INFO}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert b"License-Expression: Apache-2.0" in contents[f"{DIST_INFO}/METADATA"]


def test_sdist_holds_plain_folders(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert not [member.name for member in members if member.issym() or member.islnk()]
    top = {PurePosixPath(member.name).parts[1] for member in members if len(PurePosixPath(member.name).parts) > 1}
    assert not top & {"dialects", "passes", "tools"}
