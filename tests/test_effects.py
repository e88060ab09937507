"""Effect classes and what passes may do by them (A5)."""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.effects import (
    PERMISSIONS,
    CallEffectKind,
    effect_class,
    may_drop,
    may_hoist,
    may_merge,
    may_swap,
    side_effect,
)
from scaly_ir.op import Op
from scaly_ir.types import FLOAT64

PURE, READ, UPDATE = CallEffectKind.Pure, CallEffectKind.ReadState, CallEffectKind.UpdateState


pytestmark = pytest.mark.usefixtures("registry")


def test_kinds_have_their_numbers() -> None:
    names = "ExprAnnotation Pure ReadState UpdateState SpecialCallArg EmbedInfo ControlJump".split()
    assert [CallEffectKind(number).name for number in range(7)] == names
    assert CallEffectKind["Opaque"] is CallEffectKind.UpdateState
    assert sc.CallEffectKind is CallEffectKind


@pytest.mark.parametrize(("kind", "expected"), list(enumerate([PURE, PURE, READ, UPDATE, UPDATE, UPDATE, UPDATE])))
def test_classes(kind: int, expected: CallEffectKind) -> None:
    assert effect_class(kind) is expected


@pytest.mark.parametrize(
    ("kind", "drop", "merge", "swap_read", "swap_update", "hoist"),
    [
        # (no update between, update between) and (loop updates nothing, loop updates)
        (CallEffectKind.ExprAnnotation, True, (True, True), True, True, (True, True)),
        (PURE, True, (True, True), True, True, (True, True)),
        (READ, True, (True, False), True, False, (True, False)),
        (UPDATE, False, (False, False), False, False, (False, False)),
        (CallEffectKind.EmbedInfo, False, (False, False), False, False, (False, False)),
        (CallEffectKind.ControlJump, False, (False, False), False, False, (False, False)),
    ],
)
def test_what_passes_may_do(
    kind: CallEffectKind,
    drop: bool,
    merge: tuple[bool, bool],
    swap_read: bool,
    swap_update: bool,
    hoist: tuple[bool, bool],
) -> None:
    assert may_drop(kind) == drop
    assert (may_merge(kind, updated_between=False), may_merge(kind, updated_between=True)) == merge
    assert may_swap(kind, READ) == may_swap(READ, kind) == swap_read
    assert may_swap(kind, UPDATE) == may_swap(UPDATE, kind) == swap_update
    assert may_swap(kind, PURE) == may_swap(PURE, kind)
    assert (may_hoist(kind, loop_updates=False), may_hoist(kind, loop_updates=True)) == hoist


def test_pure_expressions_swap_with_everything() -> None:
    assert [may_swap(PURE, kind) for kind in PERMISSIONS] == [True, True, True]


X = build.var("x", FLOAT64)
LOAD = build.load(build.view("b", 0, FLOAT64))


def _op(name: str, kind: CallEffectKind | None) -> Op:
    op = Op.register(f"my_ext.{name}")
    if kind is not None:
        op.set_attr("TCallEffectKind", kind)
    return op


def test_the_effect_of_an_expression_is_the_strongest_in_it() -> None:
    assert side_effect(X) is PURE
    assert side_effect(X + 1) is PURE
    assert side_effect(LOAD) is READ
    assert side_effect(sc.elementwise("exp", X * LOAD + 1)) is READ
    assert side_effect(sc.Call("prim.sigmoid", [X])) is PURE


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (None, UPDATE),
        (CallEffectKind.ExprAnnotation, PURE),
        (CallEffectKind.Pure, PURE),
        (CallEffectKind.ReadState, READ),
        (CallEffectKind.UpdateState, UPDATE),
        (CallEffectKind.SpecialCallArg, UPDATE),
        (CallEffectKind.ControlJump, UPDATE),
    ],
)
def test_a_registered_operator_counts_what_it_says(kind: CallEffectKind | None, expected: CallEffectKind) -> None:
    call = sc.Call(_op("f", kind), [X], ty="float64")
    assert side_effect(call) is expected
    assert side_effect(sc.elementwise("neg", call) + X) is expected
    assert side_effect(call + LOAD) is max(expected, READ)


def test_statements_have_the_effect_of_their_operators() -> None:
    assert side_effect(build.store(build.view("y", 0, FLOAT64), X)) is UPDATE
    assert side_effect(build.call("f", [])) is UPDATE


def test_a_large_shared_expression_is_walked_once() -> None:
    value = LOAD
    for _ in range(5000):
        value = value + value
    assert side_effect(value) is READ
