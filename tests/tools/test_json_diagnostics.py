"""Diagnostics as JSON: one object for each, with all that is known, in every tool and whatever goes wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.graph import Node
from scaly_ir.passes import PASSES
from scaly_ir.text.diagnostics import Diagnostic, error, note, suggested, suggestions_in
from scaly_ir.text.locations import Locations
from scaly_ir.text.source import Source, Span
from scaly_ir.text.spelling import BARE_NAME
from scaly_ir.tools import input_driver
from scaly_ir.tools.entry import Main
from scaly_ir.tools.json_diagnostics import json_line
from scaly_ir.tools.scaly_opt import main as scaly_opt_main
from scaly_ir.tools.scaly_run import main as scaly_run_main
from scaly_ir.tools.scaly_translate import main as scaly_translate_main
from tests.tools.passes import REGISTRY
from tests.tools.running import BAD_SYNTAX, OUT_OF_BOUNDS, TEN_LINES, run_tool, scaly_opt

pytestmark = pytest.mark.usefixtures("workspace")

KEYS = (
    "file",
    "line",
    "column",
    "end_line",
    "end_column",
    "severity",
    "code",
    "message",
    "suggestions",
    "pass",
    "notes",
)


def _records(err: str) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in err.splitlines()]
    for record in [*records, *[inner for outer in records for inner in outer["notes"]]]:
        assert tuple(record) == KEYS
    return records


def test_a_record_has_all_that_is_known() -> None:
    source = Source("a b.sir", "one\n\u65e5 two\n", first_line=10)
    where = note("here it was", Span(source, 0, 3))
    diagnostic = Diagnostic("error", "no 'tow'; did you mean 'two'?", Span(source, 6, 9), "no-such", (where,), "cse")
    (record,) = _records(json_line(diagnostic))
    assert record == {
        "file": "a b.sir",
        "line": 11,
        "column": 3,
        "end_line": 11,
        "end_column": 6,
        "severity": "error",
        "code": "no-such",
        "message": "no 'tow'; did you mean 'two'?",
        "suggestions": ["two"],
        "pass": "cse",
        "notes": [
            {
                "file": "a b.sir",
                "line": 10,
                "column": 1,
                "end_line": 10,
                "end_column": 4,
                "severity": "note",
                "code": None,
                "message": "here it was",
                "suggestions": [],
                "pass": None,
                "notes": [],
            }
        ],
    }


def test_without_a_place_all_of_it_is_null() -> None:
    (record,) = _records(json_line(error("it is\nso")))
    assert [record[key] for key in KEYS[:5]] == [None] * 5
    assert (record["message"], record["notes"]) == ("it is\nso", [])


@pytest.mark.parametrize("main", [scaly_opt_main, scaly_run_main, scaly_translate_main])
@pytest.mark.parametrize("option", [("--diagnostics=json",), ("-diagnostics", "json")])
def test_every_tool_has_it(main: Main, option: tuple[str, ...]) -> None:
    Path("f.sir").write_text(OUT_OF_BOUNDS)
    target = ("--to=sir",) if main is scaly_translate_main else ()
    done = run_tool(main, ["f.sir", *target, *option])
    records = _records(done.err)
    assert done.code == 1
    assert [(record["line"], record["code"]) for record in records] == [
        (2, "index-static-bounds"),
        (3, "index-static-bounds"),
    ]
    done = run_tool(main, ["--no-such-option", *option])
    (record,) = _records(done.err)
    assert (done.code, record["code"], record["file"]) == (2, "usage", None)


def test_suggestions_are_a_list_and_part_of_the_message() -> None:
    text = "prog.proc @f(%in1: memref<8xfloat64>, %in2: memref<8xfloat64>) {\n  prog.store 1, %in3[0] : float64\n}\n"
    (record,) = _records(scaly_opt("--diagnostics=json", stdin=text).err)
    assert record["suggestions"] == ["%in1", "%in2"]
    assert "; did you mean %in1 or %in2? [in-scope]" in record["message"]
    (record,) = _records(scaly_opt("--diagnostics=json", "--pass=fold_arit").err)
    assert record["suggestions"] == ["fold_arith", "fold_arith_after_unroll"]


def test_the_limit_of_errors_is_a_note_and_there_is_no_summary() -> None:
    records = _records(scaly_opt("--diagnostics=json", "--max-errors=1", stdin=OUT_OF_BOUNDS).err)
    assert [(record["severity"], record["code"]) for record in records] == [
        ("error", "index-static-bounds"),
        ("note", "max-errors"),
    ]
    assert "1 more error not shown" in records[1]["message"]


def test_quiet_leaves_the_errors() -> None:
    text = "prog.proc @f(%x: memref<8xfloat64>) {\n"
    assert _records(scaly_opt("--diagnostics=json", stdin=text).err)[0]["notes"]
    assert not _records(scaly_opt("--diagnostics=json", "-q", stdin=text).err)[0]["notes"]


@pytest.mark.parametrize(
    ("name", "code", "slug"),
    [("refuses", 1, "pass"), ("stumbles", 1, "pass"), ("raises", 3, "internal"), ("breaks", 1, "range-attrs")],
)
def test_the_pass_that_failed_is_named(name: str, code: int, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for known, place in REGISTRY.items():
        monkeypatch.setitem(PASSES, known, place)
    done = scaly_opt("--diagnostics=json", f"--pass=same,{name},same", stdin=TEN_LINES)
    (record,) = _records(done.err)
    assert (done.code, record["pass"], record["code"]) == (code, name, slug)


def test_remarks_name_their_pass_and_errors_of_the_next_file_do_not() -> None:
    text = (
        "expr.func @f(%x: tensor<float64>) -> (%y: tensor<float64>) {\n"
        '  %0 = expr.input {name="x"} : tensor<float64>\n  expr.return %0\n}\n'
    )
    Path("f.sir").write_text(text)
    Path("g.sir").write_text(BAD_SYNTAX)
    remark, refused = _records(scaly_opt("--diagnostics=json", "--print_stats", "f.sir", "g.sir").err)
    assert (remark["severity"], remark["pass"]) == ("remark", "print_stats")
    assert (refused["severity"], refused["pass"], refused["file"]) == ("error", None, "g.sir")


def test_what_fails_before_the_passes_of_the_next_file_has_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(root: Node, locations: Locations) -> list[Diagnostic]:
        if locations.source.name == "g.sir":
            raise KeyError("a bug")
        return []

    monkeypatch.setattr(input_driver, "verify_parsed", check)
    monkeypatch.setitem(PASSES, "refuses", REGISTRY["refuses"])
    for name in ("f.sir", "g.sir"):
        Path(name).write_text(TEN_LINES)
    records = _records(scaly_opt("--diagnostics=json", "--refuses", "f.sir", "g.sir").err)
    assert [(record["code"], record["pass"]) for record in records] == [("pass", "refuses"), ("internal", None)]


def test_a_plug_in_that_cannot_be_loaded() -> None:
    done = scaly_opt("--diagnostics=json", "--load-plugin=no_such:thing", stdin=TEN_LINES)
    (record,) = _records(done.err)
    assert (done.code, record["code"]) == (1, "plug-in")


def test_only_text_and_json_are_formats() -> None:
    done = scaly_opt("--diagnostics=jsno")
    assert done.code == 2
    assert "option '--diagnostics' expects 'text' or 'json', got 'jsno'; did you mean 'json'?" in done.err
    assert scaly_opt("--diagnostics=text", stdin=BAD_SYNTAX).err == scaly_opt(stdin=BAD_SYNTAX).err


NAMES = st.lists(st.from_regex(BARE_NAME, fullmatch=True).filter(lambda name: name.isascii()), min_size=1, max_size=3)


@given(NAMES, st.sampled_from(["'", '"', ""]), st.text(), st.sampled_from(["", " [some-rule]"]))
def test_suggestions_are_read_back_from_a_message(names: list[str], quote: str, before: str, after: str) -> None:
    shown = names if quote else [f"%{name}" for name in names]
    assert suggestions_in(f"{before}{suggested(shown, quote=quote)}{after}") == shown


@given(st.text())
def test_any_message_has_suggestions_or_none(message: str) -> None:
    assert all([name in message for name in suggestions_in(message)])
