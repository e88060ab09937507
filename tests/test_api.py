"""The public Python functions: what `import scaly_ir as sc` gives and how it fails."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import scaly_ir as sc
from scaly_ir.passes import PASSES
from tests.tools.passes import REGISTRY
from tests.tools.running import BAD_SYNTAX, BAD_SYNTAX_ERROR, CHAIN, FUSED, OUT_OF_BOUNDS, TEN_LINES, environment


def test_every_public_name_is_there() -> None:
    for name in sc.__all__:
        assert getattr(sc, name) is getattr(sc, name)
    assert set(sc.__all__) <= set(dir(sc))
    with pytest.raises(AttributeError, match="module 'scaly_ir' has no attribute 'prase'"):
        _ = sc.prase  # type: ignore[attr-defined]


def test_importing_the_package_loads_nothing_else() -> None:
    script = "import scaly_ir, sys; print([name for name in sys.modules if name.startswith('scaly_ir.')])"
    assert subprocess.check_output([sys.executable, "-c", script], env=environment(), text=True) == "[]\n"


def test_text_to_node_and_back() -> None:
    root = sc.parse(TEN_LINES)
    assert isinstance(root, sc.Node)
    assert sc.parse("\ufeff" + TEN_LINES.replace("\n", "\r\n")) is root
    assert sc.render(root) == TEN_LINES
    sc.verify(root)


def test_text_that_is_no_ir() -> None:
    with pytest.raises(sc.ParseError) as caught:
        sc.parse(BAD_SYNTAX + BAD_SYNTAX.replace("@f", "@g"), "kernel.sir")
    assert [found.span.position() for found in caught.value.diagnostics if found.span] == [(2, 24), (6, 24)]
    first = f"kernel.sir{BAD_SYNTAX_ERROR}".splitlines()[0]
    assert str(caught.value).splitlines() == [first, first.replace(":2:", ":6:")]
    assert isinstance(caught.value, ValueError)
    with pytest.raises(sc.ScalyError, match=r"^<string>:1:1: error: unknown dialect 'prg'; did you mean 'prog'\?$"):
        sc.parse("prg.module { }")


def test_ir_that_breaks_a_rule() -> None:
    root = sc.parse(OUT_OF_BOUNDS)
    with pytest.raises(sc.VerifyError, match=r"^verify_program: node .* failed rule 'index-static-bounds': ") as caught:
        sc.verify(root)
    assert caught.value.rule == "index-static-bounds"
    assert caught.value.reason in str(caught.value)
    assert caught.value.node.op is sc.Op.get("prog.view")
    assert sc.render(root) == OUT_OF_BOUNDS  # what is wrong can still be looked at


def test_passes_run_in_order() -> None:
    root = sc.parse(CHAIN)
    assert sc.render(sc.run_passes(root, "fuse_elementwise")) == FUSED
    assert sc.run_passes(root, "") is root
    assert sc.run_passes(sc.parse(FUSED), " fuse-elementwise , fuse_elementwise ") is sc.parse(FUSED)


def test_a_pipeline_that_is_wrong() -> None:
    with pytest.raises(sc.PipelineError, match="unknown pass 'fuse_elementwize'; did you mean") as caught:
        sc.run_passes(sc.parse(CHAIN), "fuse_elementwise,fuse_elementwize")
    failure = caught.value
    assert failure.text[failure.start : failure.end] == "fuse_elementwize"


def test_an_invalid_module_is_not_transformed() -> None:
    with pytest.raises(sc.VerifyError):
        sc.run_passes(sc.parse(OUT_OF_BOUNDS), "fuse_elementwise")


def test_a_pass_that_leaves_an_invalid_module_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, place in REGISTRY.items():
        monkeypatch.setitem(PASSES, name, place)
    with pytest.raises(
        sc.PassError, match=r"^IR is invalid after pass 'breaks' \(2 of 3\): verify_program: "
    ) as caught:
        sc.run_passes(sc.parse(CHAIN), "same,breaks,mends")
    assert caught.value.pass_name == "breaks"
    with pytest.raises(KeyError):
        sc.run_passes(sc.parse(CHAIN), "raises")


def test_type_checkers_see_every_public_name() -> None:
    stub = Path(sc.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    declared = set(re.findall(r"^from \S+ import (\w+) as \1$", stub, re.MULTILINE)) | {"__version__"}
    assert declared == set(sc.__all__)
