"""The procedures in which the verifier finds something are told by the places of its findings."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.passes.prog.faults import faulty_procedures

SOUND = """prog.for %i = 0 to 2 step 1 {kind=global} {
  prog.for %j = 0 to 2 step 1 {kind=global} { prog.store 1, %y[%j] : float64 }
}"""
FAULTY = "\nprog.store 1, %y[2] : float64"


@pytest.mark.parametrize("around", ["{}", "prog.module {{ {} }}"])
@pytest.mark.parametrize(
    ("bodies", "faulty"),
    [
        ([], set()),
        ([SOUND, SOUND], set()),
        ([FAULTY, SOUND, SOUND], {0}),
        ([SOUND, FAULTY, SOUND], {1}),
        ([SOUND, "", SOUND + FAULTY + FAULTY, FAULTY], {2, 3}),
    ],
)
def test_faulty_procedures(around: str, bodies: list[str], faulty: set[int]) -> None:
    heads = [f"prog.proc @f{number}(%y: memref<2xfloat64>)" for number in range(len(bodies))]
    text = "\n".join([f"{head} {{ {body} }}" for head, body in zip(heads, bodies, strict=True)])
    assert faulty_procedures(sc.parse(around.format(text))) == faulty


def test_what_a_head_says_counts_as_well() -> None:
    heads = ["@f(%y: memref<2xfloat64>)", "@g(%y: memref<2xfloat64>) {sz_w=1, w_self=0}", "@h(%y: memref<2xfloat64>)"]
    assert faulty_procedures(sc.parse("".join([f"prog.proc {head} {{ }}" for head in heads]))) == {1}
