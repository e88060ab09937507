"""The JSON of a root holds all of it: the same nodes can be built from it."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from scaly_ir.dialect import parse_source
from scaly_ir.graph.walk import postorder
from scaly_ir.text.source import Source
from scaly_ir.tools.translate.json_text import json_text
from scaly_ir.tools.translate.targets import Input
from tests.tools.c.samples import GOLDEN


def _json_of(text: str, name: str = "f.sir") -> dict[str, Any]:
    parsed = parse_source(Source.from_text(text, name))
    assert parsed.root is not None
    found: dict[str, Any] = json.loads(json_text(Input(parsed.root, parsed.locations, name), None))
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: str(path.stem))
def test_every_node_and_statement(path: Any) -> None:
    text = path.read_text(encoding="utf-8")
    found = _json_of(text)
    parsed = parse_source(Source.from_text(text))
    assert parsed.root is not None
    nodes = postorder(parsed.root)
    assert [entry["op"] for entry in found["nodes"]] == [node.op.name for node in nodes]
    numbers = {node: number for number, node in enumerate(nodes)}
    for node, entry in zip(nodes, found["nodes"], strict=True):
        assert entry.get("args", []) == [numbers[operand] for operand in node.args]
        assert entry.get("type") == (None if node.type is None else str(node.type))
        assert set(entry.get("attrs", {})) == set(node.attrs)
    assert len(found["statements"]) == len(parsed.locations.starts)
    lines = text.split("\n")
    for statement in found["statements"]:
        first = lines[statement["line"] - 1][statement["column"] - 1 :]
        assert first.startswith(("prog.", "%"))


def test_numbers_that_json_lacks_are_text() -> None:
    text = "prog.proc @f(%x: memref<4xfloat64>) {\n"
    values = ["inf", "-inf", "nan", "nan<0x7ff8000000000123>", "-0.0", "0.1"]
    text += "".join([f"  prog.store {value}, %x[0] : float64\n" for value in values])
    found = [entry["attrs"]["value"] for entry in _json_of(text + "}\n")["nodes"] if entry["op"] == "prog.const_float"]
    assert found[:4] == values[:4]
    assert math.copysign(1, found[4]) == -1
    assert found[5] == 0.1


def test_an_empty_file() -> None:
    found = _json_of("")
    assert found["nodes"] == [{"op": "prog.program", "attrs": {"bare": True, "proc_count": 0}}]
    assert found["statements"] == []


def test_names_that_need_escapes() -> None:
    name = 'a "b"\n\ud800'
    found = _json_of('prog.proc @f(%"a\\n\\ud800": memref<1xfloat64>) {\n}\n', name)
    assert found["file"] == name
    assert found["nodes"][0]["attrs"]["name"] == "a\n\ud800"


def test_depth_does_not_matter() -> None:
    text = "prog.proc @f(%x: memref<1xfloat64>) {\n  prog.store "
    text += "prog.neg(" * 5000 + "prog.load %x[0]" + ")" * 5000 + ", %x[0] : float64\n}\n"
    assert len([entry for entry in _json_of(text)["nodes"] if entry["op"] == "prog.neg"]) == 5000
