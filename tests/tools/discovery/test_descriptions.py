"""Lists and descriptions of what there is: every name has one, lines can be cut, and typos get suggestions."""

from __future__ import annotations

import re

import pytest

import scaly_ir as sc
from scaly_ir.op import registry_scope
from scaly_ir.passes import PASSES
from scaly_ir.plugins import PluginRegistry
from scaly_ir.tools.discovery.subjects import _KINDS, describe
from tests.tools.running import scaly_opt, scaly_translate

pytestmark = pytest.mark.usefixtures("workspace")


@pytest.mark.parametrize("number", range(len(_KINDS)))
def test_every_name_has_a_description(number: int) -> None:
    kind = _KINDS[number]
    for name in kind.names():
        text = describe(name)
        assert text is not None
        lines = text.splitlines()
        assert f"{name}: " in lines[0]
        assert lines == [line.rstrip() for line in lines]
        assert "object at" not in text


OURS = ("affine", "buffer", "expr", "matrix", "prim", "prog")
"""The dialects with operations; tests of other things register some of their own."""


@pytest.mark.parametrize(
    ("option", "first", "last"),
    [
        ("--list-passes", "canonicalize", "matrix_to_prog"),
        ("--list-dialects", "affine", "prog"),
        ("--list-ops", "affine.apply", "prog.workspace"),
        ("--list-ops=prog", "prog.abs", "prog.workspace"),
        ("-list-ops=prim", "prim.abs", "prim.tanh"),
    ],
)
def test_a_list_has_a_line_for_each_name_which_comes_first(option: str, first: str, last: str) -> None:
    done = scaly_opt(option, "no-such-file.sir")
    assert (done.code, done.err) == (0, "")
    names = [line.split(" ")[0] for line in done.out.splitlines()]
    ours = [name for name in names if "." not in name or name.split(".")[0] in OURS]
    assert (ours[0], ours[-1]) == (first, last)
    assert all(names)
    assert len(set(names)) == len(names)


def test_named_pipelines_come_after_the_passes() -> None:
    names = [line.split()[0] for line in scaly_opt("--list-passes").out.splitlines()]
    pipelines = ["O0", "default", "matrix_to_prog"]
    assert names == [*sorted(set(PASSES) - set(pipelines)), *pipelines]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fold_arit", "nothing is called 'fold_arit'; did you mean 'fold_arith' or 'fold_arith_after_unroll'?"),
        ("store", "nothing is called 'store'; did you mean 'prog.store'?"),
        ("add", "nothing is called 'add'; did you mean 'expr.add', 'prim.add' or 'prog.add'?"),
        ("tensr", "nothing is called 'tensr'; did you mean 'tensor'?"),
        ("", "nothing is called ''; --list-passes, --list-ops and --list-dialects show what there is"),
        ("q" * 90, f"nothing is called '{'q' * 90}'; --list-passes, --list-ops and --list-dialects show what there is"),
    ],
)
def test_an_unknown_name_is_a_usage_error(name: str, message: str) -> None:
    done = scaly_opt(f"--describe={name}")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"scaly-opt: error: {message}\n  --describe={name}\n")


def test_unknown_dialects_and_targets() -> None:
    done = scaly_opt("--list-ops=exrp")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "scaly-opt: error: no operations are of dialect 'exrp'; did you mean 'expr'?",
    )
    done = scaly_opt("--list-ops=qqq")
    assert re.search("; expected .*'expr', .*'prim'.*'prog'", done.err)
    assert scaly_translate("--describe=jsn").code == 2


def test_the_first_question_is_answered() -> None:
    assert scaly_opt("--list-dialects", "--list-passes").out == scaly_opt("--list-dialects").out
    assert scaly_opt("--version", "--list-passes").out == scaly_opt("--version").out
    assert scaly_opt("--describe=cse", "--help").out == scaly_opt("--describe", "cse").out


def test_dashes_in_the_name_of_a_pass() -> None:
    assert describe("fold-arith") == describe("fold_arith")


def test_what_shares_a_name_is_described_one_after_the_other() -> None:
    text = describe("default.FLegalize")
    assert text is not None
    assert "prim.sigmoid" in text
    both = describe("kind")
    assert both is not None
    assert '"add", "max" or "min"' in both
    assert "a loop kind" in both


def test_a_target_is_described_alike_by_both_tools() -> None:
    assert scaly_opt("--describe=c").out == scaly_translate("--describe=c").out


def test_what_a_plug_in_brings_is_described() -> None:
    def double(root: sc.Node, times: int, label: str = "x") -> sc.Node:
        """Double everything."""
        return root

    with registry_scope():
        op = sc.Op.register("brought.op", "What a plug-in brings.")
        op.set_signature([("a", "Some value.")], var_args="more")
        PluginRegistry().add_pass("brought_pass", double, dialects=["prog"], options={"times": int, "label": "x"})
        text = describe("brought.op")
        assert text is not None
        assert "  brought.op(a, ...)\n" in text
        assert "  a        Some value.\n" in text
        text = describe("brought_pass")
        assert text is not None
        assert "  times (an integer)\n  label=x (text)\n" in text
        assert "Example" not in text
        assert "brought.op  What a plug-in brings" in scaly_opt("--list-ops=brought").out
    assert describe("brought.op") is None
