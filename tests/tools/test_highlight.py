"""Colour changes no character, stands on every token that has a class, and goes to terminals alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.tools.highlight import highlighted
from scaly_ir.tools.scaly_opt import main as scaly_opt_main
from tests.tools.running import BAD_SYNTAX, CHAIN, FUSED, run_tool, scaly_opt, scaly_translate

pytestmark = pytest.mark.usefixtures("workspace")

_escape = re.compile(r"\x1b\[[0-9;]*m")


def plain(text: str) -> str:
    return _escape.sub("", text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("prog.store", "<operation>prog.store<>"),
        ("prog.store_pair 1", "<operation>prog.store_pair<> <constant>1<>"),
        ("%x1", "%x1"),
        ("%10", "%10"),
        ('%"1 @f"', '%"1 @f"'),
        ("%float64", "%float64"),
        ("@f(", "<symbol>@f<>("),
        ('@"a // b"', '<symbol>@"a // b"<>'),
        ("// prog.store 1", "<comment>// prog.store 1<>"),
        ("1 // 2\n3", "<constant>1<> <comment>// 2<>\n<constant>3<>"),
        ("memref<2x4xfloat64, private>", "<type>memref<2x4xfloat64, private><>"),
        ("tensor<4xfloat64 diff>", "<type>tensor<4xfloat64 diff><>"),
        ("sparse<rows=[0],\n  cols=[1]>", "<type>sparse<rows=[0],<>\n<type>  cols=[1]><>"),
        ("float64", "<type>float64<>"),
        ("float64x", "float64x"),
        (
            "-1.5e3 -inf nan<0x7ff8000000000001>",
            "<constant>-1.5e3<> <constant>-inf<> <constant>nan<0x7ff8000000000001><>",
        ),
        ("{declare=True, kind=global}", "{declare=<constant>True<>, kind=global}"),
        ("Trueish", "Trueish"),
        (r'"a\"b" c', r'<constant>"a\"b"<> c'),
        ("x8", "x8"),
        ("%i: index) -> (", "%i: <type>index<>) -> ("),
        ("index=1, indices=[0]", "index=<constant>1<>, indices=[<constant>0<>]"),
        ("map=affine_map<(d0) -> (d0 * 2)>}", "map=<constant>affine_map<(d0) -> (d0 * 2)><>}"),
        ("^comb(%a: int32):", "<symbol>^comb<>(%a: <type>int32<>):"),
        ("memref<0x3xint64>", "<type>memref<0x3xint64><>"),
        ("matrix.map_reduce(%A) init(undef)", "<operation>matrix.map_reduce<>(%A) init(undef)"),
    ],
)
def test_each_class(text: str, shown: str) -> None:
    colours = {"comment": 90, "operation": 36, "symbol": 33, "type": 32, "constant": 35}
    for name, colour in colours.items():
        shown = shown.replace(f"<{name}>", f"\x1b[{colour}m")
    assert highlighted(text) == shown.replace("<>", "\x1b[0m")


@given(st.text() | st.text(st.sampled_from('%@"\\/<>{}() \n.=-1xeinfTrue_prog')))
def test_not_a_character_is_changed(text: str) -> None:
    if "\x1b" not in text:
        coloured = highlighted(text)
        assert plain(coloured) == text
        for line in coloured.split("\n"):
            assert not re.search(r"\x1b\[[1-9]\d*m[^\x1b]*$", line), "a colour goes on into the next line"


def test_colour_goes_to_a_terminal_and_not_to_a_pipe_or_a_file() -> None:
    coloured = scaly_opt("--pass=fuse_elementwise", stdin=CHAIN, terminal=True).out
    assert coloured == highlighted(FUSED) != FUSED
    assert scaly_opt("--pass=fuse_elementwise", stdin=CHAIN).out == FUSED
    assert scaly_opt("--color=never", "--pass=fuse_elementwise", stdin=CHAIN, terminal=True).out == FUSED
    assert scaly_opt("--color=always", "--pass=fuse_elementwise", "-o", "out.sir", stdin=CHAIN).code == 0
    assert Path("out.sir").read_text() == FUSED


@pytest.mark.parametrize(
    ("environment", "argv", "terminal", "coloured"),
    [
        ({"NO_COLOR": "1"}, (), True, False),
        ({"NO_COLOR": "1"}, ("--color=always",), True, True),
        ({"FORCE_COLOR": "1"}, (), False, True),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, (), True, False),
        ({"FORCE_COLOR": "1"}, ("--color=never",), True, False),
        ({"TERM": "dumb"}, (), True, False),
        ({}, ("--color=auto",), False, False),
    ],
)
def test_the_order_of_what_decides(
    environment: dict[str, str], argv: tuple[str, ...], terminal: bool, coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = scaly_opt(*argv, "--print-ir-after-all", "--fuse_elementwise", stdin=CHAIN, terminal=terminal)
    assert ("\x1b" in done.out, "\x1b" in done.err) == (coloured, coloured)
    assert plain(done.out) == FUSED
    done = scaly_opt(*argv, stdin=BAD_SYNTAX, terminal=terminal)
    assert ("\x1b" in done.err) is coloured


def test_of_translations_only_ir_is_coloured() -> None:
    assert scaly_translate("--to=sir", stdin=CHAIN, terminal=True).out == highlighted(CHAIN)
    assert "\x1b" not in scaly_translate("--to=c", stdin=CHAIN, terminal=True).out
    done = run_tool(scaly_opt_main, ["--color=always", "--print-ir-tree-dir=tree", "--dce"], CHAIN)
    assert done.code == 0
    assert not [path for path in Path("tree").iterdir() if "\x1b" in path.read_text()]
