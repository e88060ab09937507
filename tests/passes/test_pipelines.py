"""The named pipelines: what they run, on which modules, and that they are run step by step."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.pass_manager import build_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.passes.pipelines import IMPROVEMENTS, MATRIX, STORAGE
from tests.tools.running import CHAIN, FUSED, scaly_opt, scaly_translate

SCALED = sc.Function.from_exprs("f", [sc.sym("x", 4)], [sc.sym("x", 4).sin() * 2.0])
EXPR = sc.render(SCALED.node)


def steps(text: str) -> list[str]:
    return [step.name for step in build_pipeline(text, PASSES)]


def test_pipelines_stand_for_their_steps() -> None:
    assert steps("O0") == ["lower"]
    assert steps("default") == ["lower", *IMPROVEMENTS, *STORAGE, "prepare_scalar"]
    assert steps("cse,default,dce") == ["cse", *steps("default"), "dce"]
    assert build_pipeline("default{reciprocal=false lanes=1}", PASSES) == build_pipeline("default", PASSES)


def test_matrices_become_programs_and_go_on_from_there() -> None:
    assert steps("matrix_to_prog") == list(MATRIX)
    function = (
        "buffer.func @f(%a: memref<2x3xfloat64>, %b: memref<3x4xfloat64>) -> (%c: memref<2x4xfloat64>) {\n"
        "  %0 = matrix.prod(%a, %b) : memref<2x4xfloat64>\n  buffer.return %0\n}\n"
    )
    improved = scaly_opt("--pass=matrix_to_prog,default", stdin=function)
    assert (improved.code, improved.err) == (0, "")
    translated = scaly_translate("--to=c", stdin=improved.out)
    assert (translated.code, translated.err) == (0, "")
    assert "int f(" in translated.out


def test_options_add_passes_before_storage_is_packed() -> None:
    last = [*STORAGE, "prepare_scalar"]
    assert steps("default{delinearize}") == ["lower", *IMPROVEMENTS, "delinearize_loops", *last]
    assert steps("default{interchange}") == ["lower", *IMPROVEMENTS, "interchange_reductions", *last]
    assert steps("default{reciprocal}") == ["lower", *IMPROVEMENTS, "hoist_reciprocals", *last]
    lanes = ["prepare_scalar", "widen_ranges", *STORAGE]
    assert steps("default{lanes=4}") == ["lower", *IMPROVEMENTS, *lanes]
    all_three = ["delinearize_loops", "interchange_reductions", "hoist_reciprocals"]
    assert steps("default{lanes=auto interchange reciprocal delinearize}") == [
        "lower",
        *IMPROVEMENTS,
        *all_three,
        *lanes,
    ]
    for width in ("auto", "2", "8"):
        (step,) = [step for step in build_pipeline(f"default{{lanes={width}}}", PASSES) if step.name == "widen_ranges"]
        assert str(vars(step)["lanes"]) == width


def test_the_passes_of_default_take_programs() -> None:
    for step in build_pipeline("default", PASSES)[1:]:
        assert step.dialects is None or "prog" in step.dialects


def test_pipelines_run_wherever_passes_are_named() -> None:
    for lowered in (sc.run_passes(sc.parse(EXPR), "O0"), sc.run_passes(sc.parse(EXPR), "default")):
        assert [proc.attrs["name"] for proc in lowered.args] == ["f"]
    for argument in ("--pass=default", "--default"):
        sized = FUSED.replace("{input_count=1}", "{input_count=1, sz_w=0, w_self=0}")
        assert scaly_opt(argument, stdin=CHAIN) == (0, sized, "")
    assert scaly_opt("-O0", stdin=CHAIN) == (0, CHAIN, "")


def test_every_step_is_watched() -> None:
    said = scaly_opt("-v", "--default", stdin=EXPR).err.splitlines()
    count = len(steps("default"))
    assert said[1] == f"scaly-opt: pass 1 of {count}: lower changed the IR"
    assert [line.split(": ")[2].split()[0] for line in said[1:]] == steps("default")


@pytest.mark.parametrize(
    ("text", "message", "blamed"),
    [
        (
            "default{reciprocal=maybe}",
            "option 'reciprocal' of pass 'default' expects true or false, got 'maybe'",
            "maybe",
        ),
        ("default{lanes=3}", "option 'lanes' of pass 'default' expects 'auto', '1', '2', '4' or '8', got '3'", "3"),
        ("default{lane=1}", "pass 'default' has no option 'lane'; did you mean 'lanes'?", "lane"),
        ("O0{fast}", "pass 'O0' has no option 'fast'; it has none", "fast"),
        ("o0", "unknown pass 'o0'; did you mean 'O0'?", "o0"),
    ],
)
def test_what_cannot_be_is_blamed_where_it_stands(text: str, message: str, blamed: str) -> None:
    with pytest.raises(sc.PipelineError) as caught:
        build_pipeline(text, PASSES)
    assert str(caught.value) == message
    assert text[caught.value.start : caught.value.end] == blamed
