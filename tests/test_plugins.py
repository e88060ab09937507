"""Plug-ins: what they may register, where installed ones are found, and what happens when one fails (A8, A9)."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import scaly_ir as sc
from scaly_ir import plugins
from scaly_ir.dialect import Dialect, dialect_names, load_dialect
from scaly_ir.errors import PassError, PipelineError, PluginError
from scaly_ir.graph import Node
from scaly_ir.op import Op, registry_scope
from scaly_ir.pass_manager import Pass
from scaly_ir.passes import PASSES
from scaly_ir.plugins import EntryPoint, PluginRegistry, installed_plugins, load_plugin, load_plugins
from scaly_ir.spec import Rule
from scaly_ir.text.diagnostics import error
from scaly_ir.text.locations import Locations, Parsed
from scaly_ir.text.source import Source, Span

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "testdata" / "plugins" / "my_ext"

SQUARE = """\
prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
  prog.store my_ext.square(prog.load %x[0]), %y[0] : float64
}
"""


@pytest.fixture(autouse=True)
def _scope(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Take registrations back, and have nothing installed and nothing loaded yet."""
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.setattr(plugins, "_state", {"installed": False})
    monkeypatch.delenv(plugins.SWITCH, raising=False)
    with registry_scope():
        yield


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path, and the only one."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *[p for p in sys.path if "site-packages" not in p]])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("plug_"):
            del sys.modules[name]


def _module(site: Path, name: str, source: str) -> None:
    (site / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")


def _distribution(site: Path, folder: str, entries: str, metadata: str | None = None) -> None:
    info = site / f"{folder}.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text(textwrap.dedent(entries), encoding="utf-8")
    if metadata is not None:
        (info / "METADATA").write_text(textwrap.dedent(metadata), encoding="utf-8")


# --- what a plug-in may register --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Nothing(Pass):
    """Change nothing."""

    name: ClassVar[str] = "nothing"
    summary: ClassVar[str] = "change nothing"
    dialects: ClassVar[frozenset[str] | None] = frozenset({"prog"})
    times: int = 1

    def run(self, root: Node) -> Node:
        """Return the root."""
        return root


def test_a_pass_class_has_its_fields_as_options() -> None:
    PluginRegistry().add_pass("nothing", Nothing)
    root = sc.parse(SQUARE.replace("my_ext.square", "prog.neg"))
    assert sc.run_passes(root, "nothing{times=3}") is root
    with pytest.raises(PipelineError, match=r"pass 'nothing' has no option 'tims'; did you mean 'times'?"):
        sc.run_passes(root, "nothing{tims=3}")


def test_a_function_states_its_options() -> None:
    seen: list[Any] = []

    def note(root: Node, **options: Any) -> Node:
        """Note what was given.

        In detail.
        """
        seen.append(options)
        return root

    options = {"lanes": int, "fast": False, "label": "none", "scale": 0.5}
    PluginRegistry().add_pass("note", note, dialects=["prog"], options=options)
    root = sc.parse(SQUARE.replace("my_ext.square", "prog.neg"))
    sc.run_passes(root, "note{lanes=4}, note{lanes=2 fast label=x scale=2}")
    assert seen == [
        {"lanes": 4, "fast": False, "label": "none", "scale": 0.5},
        {"lanes": 2, "fast": True, "label": "x", "scale": 2.0},
    ]
    with pytest.raises(PipelineError, match="pass 'note' needs its option 'lanes'"):
        sc.run_passes(root, "note")
    with pytest.raises(PipelineError, match="option 'lanes' of pass 'note' expects an integer, got 'x'"):
        sc.run_passes(root, "note{lanes=x}")
    added = PASSES["note"]
    assert not isinstance(added, str)
    assert added.summary == "note what was given"


def test_a_pass_takes_the_dialects_it_says() -> None:
    registry = PluginRegistry()
    registry.add_pass("any_pass", lambda root: root)
    registry.add_pass("other_pass", lambda root: root, dialects=["other"])
    root = sc.parse(SQUARE.replace("my_ext.square", "prog.neg"))
    assert sc.run_passes(root, "any_pass") is root
    with pytest.raises(PassError, match="pass 'other_pass' takes a module of dialect 'other', not of 'prog'"):
        sc.run_passes(root, "other_pass")


def test_a_pass_is_no_other_class_and_goes_by_its_name() -> None:
    registry: Any = PluginRegistry()
    with pytest.raises(TypeError, match="pass 'wrong' is neither a Pass class nor a function"):
        registry.add_pass("wrong", dict)
    with pytest.raises(PluginError, match="pass 'other' calls itself 'nothing'"):
        registry.add_pass("other", Nothing)


@dataclass(frozen=True)
class OfLetters(Nothing):
    """Name dialects as a text."""

    name: ClassVar[str] = "of_letters"
    dialects: ClassVar[Any] = "prog"


def same(root: Node) -> Node:
    return root


@pytest.mark.parametrize(
    ("name", "factory", "options", "error", "message"),
    [
        ("my-pass", same, {}, PluginError, "'my-pass' is no name of a pass; expected letters, digits and '_'"),
        ("", same, {}, PluginError, "'' is no name of a pass"),
        ("a,b", same, {}, PluginError, "'a,b' is no name of a pass"),
        (3, same, {}, TypeError, "the name of a pass is a string, not 3"),
        ("p", 3, {}, TypeError, "pass 'p' is neither a Pass class nor a function"),
        ("p", same, {"dialects": "prog"}, TypeError, "the dialects of pass 'p' are a collection of names, not 'prog'"),
        ("p", same, {"dialects": [3]}, TypeError, "the dialects of pass 'p' are a collection of names"),
        ("p", same, {"dialects": []}, TypeError, "the dialects of pass 'p' are a collection of names"),
        ("p", same, {"dialects": 3}, TypeError, "the dialects of pass 'p' are a collection of names, not 3"),
        ("p", same, {"options": {"max-n": 1}}, PluginError, "pass 'p' cannot have an option called 'max-n'"),
        ("p", same, {"options": {"for": 1}}, PluginError, "pass 'p' cannot have an option called 'for'"),
        ("p", same, {"options": {"run": 1}}, PluginError, "pass 'p' cannot have an option called 'run'"),
        ("p", same, {"options": {"n": None}}, TypeError, "option 'n' of pass 'p' expects a bool, int, .* got None"),
        ("p", same, {"options": {"n": (1, 2)}}, TypeError, r"option 'n' of pass 'p' expects .* got \(1, 2\)"),
        ("nothing", Nothing, {"options": {}}, TypeError, "pass 'nothing' is a class, whose fields are its options"),
        ("of_letters", OfLetters, {}, TypeError, "the dialects of pass 'of_letters' are a collection of names"),
    ],
)
def test_passes_that_are_refused(name: Any, factory: Any, options: Any, error: Any, message: str) -> None:
    before = dict(PASSES)
    with pytest.raises(error, match=f"^{message}"):
        PluginRegistry().add_pass(name, factory, **options)
    assert before == PASSES


@pytest.mark.parametrize(
    ("name", "function", "error", "message"),
    [
        ("a{b", len, PluginError, "'a{b' is no name of a translation"),
        (None, len, TypeError, "the name of a translation is a string, not None"),
        ("text", "len", TypeError, "translation 'text' is no function"),
        ("c", len, PluginError, "translation 'c' exists already"),
    ],
)
def test_translations_that_are_refused(name: Any, function: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=f"^{message}"):
        PluginRegistry().add_translation(name, function)
    assert name not in plugins.TRANSLATIONS


def test_translations() -> None:
    def translate(root: Node, options: Mapping[str, str]) -> str:
        return "text"

    PluginRegistry().add_translation("text", translate)
    assert plugins.TRANSLATIONS["text"] is translate


def test_names_that_are_taken() -> None:
    registry = PluginRegistry()
    registry.add_pass("nothing", Nothing)
    registry.add_translation("text", lambda root, options: "")
    registry.add_dialect(Dialect("toy"))
    with pytest.raises(PluginError, match=r"^pass 'nothing' exists already$"):
        registry.add_pass("nothing", Nothing)
    with pytest.raises(PluginError, match=r"^pass 'fuse_elementwise' exists already$"):
        registry.add_pass("fuse_elementwise", lambda root: root)
    with pytest.raises(PluginError, match=r"^translation 'text' exists already$"):
        registry.add_translation("text", lambda root, options: "")
    for name in ("toy", "prog"):
        with pytest.raises(PluginError, match=rf"^dialect '{name}' exists already$"):
            registry.add_dialect(Dialect(name))
    with pytest.raises(PluginError, match=r"^dialect 'other' exists already$"):
        registry.add_dialect(Dialect("other", op_prefix="prog"))


# --- dialects ---------------------------------------------------------------------------------------------------------


def test_a_dialect_of_operator_applications_needs_no_text() -> None:
    op = Op.register("toy.twice")
    op.set_signature(["x"])
    op.set_attr("FInferType", lambda call: call.args[0].ty)
    Op.register("toy.other").set_attr("TFixedReturnType", "float64")

    def no_int(node: Node) -> Iterator[str]:
        """No integers."""
        if node.type == "int64":
            yield "integers are not for toys"

    PluginRegistry().add_dialect(Dialect("toy", verify=(Rule("toy-int", no_int, frozenset({op})),)))
    assert "toy" in dialect_names()
    text = "%x = prog.assign toy.twice(prog.const(1, float64)) : float64 {declare=True}\n"
    root = sc.parse(text)
    sc.verify(root)
    assert sc.render(root) == text
    wrong = sc.parse("%x = prog.assign toy.twice(prog.const(1, int64)) : int64 {declare=True}")
    with pytest.raises(sc.VerifyError, match="failed rule 'toy-int': integers are not for toys"):
        sc.verify(wrong)
    sc.verify(sc.parse("%x = prog.assign toy.other() : float64 {declare=True}"))


def test_text_of_a_dialect_without_text_is_refused() -> None:
    PluginRegistry().add_dialect(Dialect("toy"))
    with pytest.raises(sc.ParseError, match="1:1: error: dialect 'toy' has no text of its own; its operations"):
        sc.parse("toy.twice(1)")
    with pytest.raises(TypeError, match=r"'toy.leaf' has no text of its own"):
        sc.render(Node(Op.register("toy.leaf")))


def test_a_dialect_may_bring_its_text() -> None:
    leaf = Op.register("toy_.leaf")

    def read(source: Source) -> Parsed:
        nowhere = Locations(source, (), (), False, lambda *_: ())
        if source.text.strip() == "toy_.leaf":
            return Parsed(Node(leaf), nowhere)
        return Parsed(None, nowhere, (error("no leaf", Span(source, 0, 1), "leaf"),))

    def big(node: Node) -> Iterator[str]:
        if node.attrs.get("size", 0) > 9:
            yield "is too big"

    dialect = Dialect(
        "toy", op_prefix="toy_", read=read, render=lambda root: "toy_.leaf\n", verify=(Rule("toy-size", big),)
    )
    PluginRegistry().add_dialect(dialect)
    assert load_dialect("toy_") is dialect
    root = sc.parse("toy_.leaf")
    sc.verify(root)
    assert sc.render(root) == "toy_.leaf\n"
    with pytest.raises(sc.ParseError, match="no leaf"):
        sc.parse("toy_.other")
    with pytest.raises(sc.VerifyError, match=r"^verify_toy: node #1 op=leaf failed rule 'toy-size': is too big"):
        sc.verify(Node(leaf, [Node(leaf, (), {"size": 10})]))


# --- what is installed ------------------------------------------------------------------------------------------------


def test_entry_points_are_read_from_distributions(tmp_path: Path) -> None:
    _distribution(
        tmp_path,
        "my_ext-0.1",
        """\
        [console_scripts]
        my-tool = my_ext:main

        # A comment.
        [scaly_ir.plugins]
        ; Another.
        second=my_ext.more:register [extra]
        my_ext = my_ext:register

        [other.group]
        third = my_ext:third
        """,
        """\
        Metadata-Version: 2.1
        Name: my-ext
        Version: 0.1

        Name: not this
        """,
    )
    _distribution(tmp_path, "bare_1-2.0", "[scaly_ir.plugins]\nx = bare:f\n")
    _distribution(tmp_path, "none-1.0", "[console_scripts]\nnone = none:main\n")
    (tmp_path / "empty-1.0.dist-info").mkdir()
    (tmp_path / "my_ext").mkdir()
    found = installed_plugins([str(tmp_path), str(tmp_path / "no such folder"), __file__])
    assert sorted(found) == [
        EntryPoint("bare_1 2.0", "x", "bare:f"),
        EntryPoint("my-ext 0.1", "my_ext", "my_ext:register"),
        EntryPoint("my-ext 0.1", "second", "my_ext.more:register"),
    ]


def test_of_two_distributions_of_one_name_the_first_on_the_path_counts(tmp_path: Path) -> None:
    for folder, version in (("new", "2.0"), ("old", "1.0")):
        (tmp_path / folder).mkdir()
        _distribution(tmp_path / folder, f"my_ext-{version}", f"[scaly_ir.plugins]\nx = my_ext:v{version[0]}\n")
    found = installed_plugins([str(tmp_path / "new"), str(tmp_path / "old")])
    assert [entry.target for entry in found] == ["my_ext:v2"]


def test_installed_plugins_load_in_order_and_once(site: Path) -> None:
    _module(
        site,
        "plug_a",
        """\
        import scaly_ir as sc

        LOADED = []

        def early(registry):
            LOADED.append("early")
            sc.Op.register("plug_a.early")

        def late(registry):
            LOADED.append("late")
            registry.add_pass("plug_pass", lambda root: root)
        """,
    )
    _distribution(site, "zeta-1.0", "[scaly_ir.plugins]\na = plug_a:late\n")
    _distribution(site, "alpha-1.0", "[scaly_ir.plugins]\nz = plug_a:early\nb = plug_a:early\n")
    # The second registration of one operator fails; with it gone, the rest loads.
    with pytest.raises(PluginError, match=r"plugin 'z' of 'alpha 1.0' failed: AttributeError: operator 'plug_a.early'"):
        load_plugins()
    import plug_a  # type: ignore[import-not-found]

    assert plug_a.LOADED == ["early", "early"]
    (site / "alpha-1.0.dist-info" / "entry_points.txt").write_text("[scaly_ir.plugins]\nb = plug_a:early\n")
    assert load_plugins() == ["b", "a"]
    assert load_plugins() == ["b", "a"]
    assert plug_a.LOADED == ["early", "early", "late"]
    assert "plug_a.early" in Op.list_op_names()
    assert "plug_pass" in PASSES


def test_what_a_scope_took_back_is_loaded_again(site: Path) -> None:
    _module(site, "plug_f", "def register(registry): registry.add_pass('plug_pass', lambda root: root)\n")
    _distribution(site, "alpha-1.0", "[scaly_ir.plugins]\nz = plug_f:register\n")
    for _ in range(2):
        with registry_scope():
            assert load_plugins() == ["z"]
            assert "plug_pass" in PASSES
        assert "plug_pass" not in PASSES


def test_what_is_installed_is_remembered_on_request_for_the_same_paths(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _module(site, "plug_m", "def register(registry): pass\n")
    found: dict[tuple[str, ...], list[EntryPoint]] = {}

    def names() -> list[str]:
        with registry_scope(), plugins.remembering_installed(found):
            return load_plugins()

    before = names()
    _distribution(site, "alpha-1.0", "[scaly_ir.plugins]\nz = plug_m:register\n")
    assert names() == before
    with registry_scope():
        assert load_plugins() == [*before, "z"]
    monkeypatch.setattr("sys.path", [str(site / "other"), *sys.path])
    assert names() == [*before, "z"]
    monkeypatch.setattr("sys.path", ["", *sys.path])
    other = site / "elsewhere"
    other.mkdir()
    _distribution(other, "beta-1.0", "[scaly_ir.plugins]\ny = plug_m:register\n")
    assert "y" not in names()
    monkeypatch.chdir(other)  # the empty path means another folder now
    assert "y" in names()


def test_the_environment_keeps_installed_plugins_out(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _distribution(site, "alpha-1.0", "[scaly_ir.plugins]\nz = no_such:module\n")
    for value in ("0", "no", "False", "OFF"):
        monkeypatch.setenv(plugins.SWITCH, value)
        assert load_plugins() == []
    for value in ("1", "yes", ""):
        monkeypatch.setenv(plugins.SWITCH, value)
        with pytest.raises(PluginError, match=r"^plugin 'z' of 'alpha 1.0' failed: ModuleNotFoundError: No module"):
            load_plugins()


def test_a_plugin_that_fails_leaves_nothing_behind(site: Path) -> None:
    _module(
        site,
        "plug_b",
        """\
        import scaly_ir as sc
        from scaly_ir.dialect import Dialect

        def register(registry):
            op = sc.Op.register("plug_b.f")
            op.set_signature(["x"])
            op.expose()
            sc.Op.get("prim.add").set_attr("plug_b.Cost", 1)
            sc.Op.get("prim.mul").set_attr("TCostClass", "free", override=True)
            sc.register_elementwise("plug_root", 1)
            registry.add_pass("plug_pass", lambda root: root)
            registry.add_translation("plug_text", lambda root, options: "")
            registry.add_dialect(Dialect("plug_b"))
            raise ValueError("boom\\nand more")
        """,
    )
    sc.parse("")
    before = (Op.list_op_names(), Op.list_attr_names(), dict(PASSES), dict(plugins.TRANSLATIONS), dialect_names())
    with pytest.raises(PluginError) as caught:
        load_plugin("plug_b:register")
    assert str(caught.value) == "plugin 'plug_b:register' failed: ValueError: boom and more"
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value.__cause__, ValueError)
    after = (Op.list_op_names(), Op.list_attr_names(), dict(PASSES), dict(plugins.TRANSLATIONS), dialect_names())
    assert after == before
    assert Op.get("prim.mul").get_attr("TCostClass") == "cheap"
    assert not hasattr(sc.T, "plug_b")
    with pytest.raises(sc.ParseError):
        sc.parse("%x = prog.assign prog.plug_root(1) : float64 {declare=True}")


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("", "plug_c:register", "AttributeError: module 'plug_c' has no attribute 'register'"),
        ("register = 3", "plug_c:register", "TypeError: 'plug_c:register' is no function but a 'int'"),
        ("import no_such_module", "plug_c:register", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def register(): pass", "plug_c:register", "TypeError: register.. takes 0 positional arguments"),
        ("def register(r): raise SystemExit(3)", "plug_c:register", "SystemExit: 3"),
        ("def register(r): raise KeyError", "plug_c:register", "KeyError"),
        ("def register(r): assert False", "plug_c:register", "AssertionError"),
        ("register = (", "plug_c:register", "SyntaxError: '.' was never closed .plug_c.py, line 1."),
        ("def register(r): r.add_passs('x', len)", "plug_c:register", "AttributeError: 'PluginRegistry' object has no"),
    ],
)
def test_whatever_a_plugin_raises_is_one_error(site: Path, source: str, target: str, message: str) -> None:
    _module(site, "plug_c", source)
    with pytest.raises(PluginError, match=rf"^plugin '{target}' failed: {message}"):
        load_plugin(target)


def test_an_interrupt_goes_through_and_leaves_nothing_behind(site: Path) -> None:
    _module(
        site,
        "plug_d",
        """\
        import scaly_ir as sc

        def register(registry):
            sc.Op.register("plug_d.f")
            raise KeyboardInterrupt
        """,
    )
    with pytest.raises(KeyboardInterrupt):
        load_plugin("plug_d:register")
    assert "plug_d.f" not in Op.list_op_names()


def test_a_function_may_stand_deeper_in_a_module(site: Path) -> None:
    _module(site, "plug_e", "class Plug:\n    @staticmethod\n    def go(registry): registry.add_pass('deep', len)\n")
    load_plugin("plug_e:Plug.go")
    assert "deep" in PASSES


def test_what_our_own_modules_register_outlives_the_plugin_that_loads_them() -> None:
    script = """\
        import scaly_ir as sc
        from scaly_ir.op import Op

        try:
            with sc.registry_scope():
                Op.register("mine.f")
                sc.parse("")  # loads the dialect prog
                raise KeyError
        except KeyError:
            pass
        assert "mine.f" not in Op.list_op_names()
        assert sc.Op.get("prog.add").get_attr("TScalarOp") == "prim.add"
        assert sc.T.add(1, 2).type == "int32"
        sc.verify(sc.parse("%x = prog.assign prog.add(1, 2) : int32 {declare=True}"))
    """
    _run(sys.executable, "-c", textwrap.dedent(script))


# --- the worked example, installed and not ----------------------------------------------------------------------------


def _run(*command: str | Path, stdin: str = "", code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = [str(ROOT), environment.pop("PYTHONPATH", "")]
    env = {**os.environ, "NO_COLOR": "1", **environment, "PYTHONPATH": os.pathsep.join([p for p in paths if p])}
    done = subprocess.run(
        [str(word) for word in command], input=stdin, capture_output=True, encoding="utf-8", env=env, check=False
    )
    assert done.returncode == code, done.stderr
    return done


OPT = (sys.executable, "-m", "scaly_ir.tools.scaly_opt")


def _install(site: Path) -> None:
    """Do what pip does with the example: put the package and its metadata on the path."""
    (site / "my_ext.py").write_text((EXAMPLE / "my_ext" / "__init__.py").read_text(encoding="utf-8"), encoding="utf-8")
    import tomllib

    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = "".join([f"{name} = {at}\n" for name, at in project["entry-points"]["scaly_ir.plugins"].items()])
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    _distribution(site, "my_ext-0.1", f"[scaly_ir.plugins]\n{entries}", metadata)


def test_the_example_by_option() -> None:
    done = _run(*OPT, "--load-plugin=my_ext:register", stdin=SQUARE, PYTHONPATH=str(EXAMPLE))
    assert (done.stdout, done.stderr) == (SQUARE, "")
    done = _run(*OPT, "-load-plugin", "my_ext:register", "--my_ext_unfold", stdin=SQUARE, PYTHONPATH=str(EXAMPLE))
    assert "prog.store prog.mul(prog.load %x[0], prog.load %x[0]), %y[0] : float64" in done.stdout
    done = _run(*OPT, stdin=SQUARE, PYTHONPATH=str(EXAMPLE), code=1)
    assert "error: unknown operation 'my_ext.square'" in done.stderr


def test_a_named_plugin_may_be_in_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLE)
    # As an installed command, Python has the folder of the command on its path, not the working directory.
    installed = (sys.executable, "-P", "-m", "scaly_ir.tools.scaly_opt")
    assert _run(*installed, "--load-plugin=my_ext:register", stdin=SQUARE).stdout == SQUARE
    assert "unknown operation" in _run(*installed, stdin=SQUARE, code=1).stderr


def test_the_example_installed(tmp_path: Path) -> None:
    _install(tmp_path)
    site = str(tmp_path)
    assert _run(*OPT, stdin=SQUARE, PYTHONPATH=site).stdout == SQUARE
    assert "my_ext_unfold" in _run(*OPT, "--list-passes", PYTHONPATH=site).stdout
    for refused in (
        _run(*OPT, "--no-plugins", stdin=SQUARE, PYTHONPATH=site, code=1),
        _run(*OPT, stdin=SQUARE, PYTHONPATH=site, code=1, SCALY_IR_PLUGINS="0"),
    ):
        assert "error: unknown operation 'my_ext.square'" in refused.stderr
    again = _run(*OPT, "--no-plugins", "--load-plugin=my_ext:register", stdin=SQUARE, PYTHONPATH=site)
    assert again.stdout == SQUARE


def test_a_failing_plugin_stops_the_tool(tmp_path: Path) -> None:
    _install(tmp_path)
    (tmp_path / "my_ext.py").write_text("def register(registry):\n    raise ValueError('boom')\n", encoding="utf-8")
    site = str(tmp_path)
    done = _run(*OPT, stdin=SQUARE, PYTHONPATH=site, code=1)
    assert (done.stdout, done.stderr) == (
        "",
        "scaly-opt: error: plugin 'my_ext' of 'my-ext 0.1' failed: ValueError: boom\n",
    )
    done = _run(*OPT, "--traceback", stdin=SQUARE, PYTHONPATH=site, code=1)
    assert "in register\n    raise ValueError('boom')" in done.stderr
    _run(*OPT, "--no-plugins", "--version", PYTHONPATH=site)


@pytest.mark.parametrize("value", ["my_ext", "my_ext.register", ":register", "my_ext:", "my ext:f", "a:b:c", ""])
def test_a_plugin_is_named_by_module_and_function(value: str) -> None:
    done = _run(*OPT, f"--load-plugin={value}", code=2)
    assert done.stderr.startswith(f"scaly-opt: error: option '--load-plugin' expects MODULE:FUNCTION, got '{value}'\n")


def test_the_option_needs_a_value() -> None:
    assert _run(*OPT, "--load-plugin", code=2).stderr == "scaly-opt: error: option '--load-plugin' needs a value\n"
    done = _run(*OPT, "--load-plugin", "--no-plugins", code=2)
    assert done.stderr == "scaly-opt: error: option '--load-plugin' needs a value, found option '--no-plugins'\n"
    _run(*OPT, "--no-plugins=yes", code=2)


def test_the_example_on_arrays_and_its_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    from scaly_ir.dialects.prog import build
    from scaly_ir.dialects.prog.printer import scalar_text

    monkeypatch.syspath_prepend(str(EXAMPLE))
    load_plugin("my_ext:register")
    load_plugin("my_ext:register")
    square = Op.get("my_ext.square")
    assert sc.ops.my_ext.square is sc.T.my_ext.square
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(square.get_attr("FNumpy")(np.array([-1.5, 0, 2, 1e200])), [2.25, 0, 4, np.inf])
    call = sc.T.my_ext.square(build.var("x", sc.DType("float64")))
    assert [scalar_text(partial) for partial in square.get_attr("FPartials")(call)] == ["prog.mul(%x, 2)"]
    assert scalar_text(square.get_attr("default.FLegalize")(call)) == "prog.mul(%x, %x)"
    call.validate()
