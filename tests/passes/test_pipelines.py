"""The named pipelines: what they run, on which modules, and that they are run step by step."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.pass_manager import build_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.passes.pipelines import PROGRAM_PASSES
from tests.tools.running import CHAIN, FUSED, scaly_opt

SCALED = sc.Function.from_exprs("f", [sc.sym("x", 4)], [sc.sym("x", 4).sin() * 2.0])
EXPR = sc.render(SCALED.node)


def steps(text: str) -> list[str]:
    return [step.name for step in build_pipeline(text, PASSES)]


def test_pipelines_stand_for_their_steps() -> None:
    assert steps("O0") == ["lower"]
    assert steps("default") == ["lower", *PROGRAM_PASSES]
    assert steps("cse,default,dce") == ["cse", "lower", *PROGRAM_PASSES, "dce"]
    assert build_pipeline("default{reciprocal=false lanes=1}", PASSES) == build_pipeline("default", PASSES)


def test_lanes_come_before_storage_is_packed() -> None:
    names = steps("default{lanes=4}")
    at = names.index("widen_ranges")
    assert names[at + 1] == "pack_workspace"
    assert [name for name in names if name not in ("widen_ranges", "prepare_scalar")] == [
        "lower",
        *[name for name in PROGRAM_PASSES if name != "prepare_scalar"],
    ]
    assert names.index("prepare_scalar") == at - 1 if "prepare_scalar" in PASSES else "prepare_scalar" not in names
    for lanes in ("auto", "2", "8"):
        (step,) = [step for step in build_pipeline(f"default{{lanes={lanes}}}", PASSES) if step.name == "widen_ranges"]
        assert str(vars(step)["lanes"]) == lanes


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
    count = 1 + len(PROGRAM_PASSES)
    assert said[1] == f"scaly-opt: pass 1 of {count}: lower changed the IR"
    assert [line.split(": ")[2].split()[0] for line in said[1:]] == ["lower", *PROGRAM_PASSES]


@pytest.mark.parametrize(
    ("text", "message", "blamed"),
    [
        (
            "dce,default{ reciprocal }",
            "'reciprocal=true' needs the pass 'hoist_reciprocals', which does not exist yet",
            "reciprocal",
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
