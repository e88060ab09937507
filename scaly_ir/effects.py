"""Effect classes of operators, the effect of an expression, and what passes may do by effect.

The table `PERMISSIONS` is the only place that says what an effect allows; passes ask it through the functions below.
Source: operator specification A5.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from scaly_ir.graph import Node


class CallEffectKind(IntEnum):
    """What evaluating an operator may do, weakest first; a pass compares kinds by order."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6
    Opaque = 3


class Permission(NamedTuple):
    """What a pass may do with an expression of one effect class.

    ``unless updated`` allows it only where no state is updated in between (or, for `hoist`, by the loop).
    """

    drop: bool
    """Leave it out where its value is unused."""
    merge: Literal["yes", "unless updated", "no"]
    """Evaluate two equal expressions once."""
    swap_with_read: bool
    swap_with_update: bool
    hoist: Literal["yes", "unless updated", "no"]
    """Move it out of a loop."""


PERMISSIONS: Final = {
    CallEffectKind.Pure: Permission(True, "yes", True, True, "yes"),
    CallEffectKind.ReadState: Permission(True, "unless updated", True, False, "unless updated"),
    CallEffectKind.UpdateState: Permission(False, "no", False, False, "no"),
}
"""By the three classes that `effect_class` distinguishes."""


def effect_class(kind: int) -> CallEffectKind:
    """Return `Pure`, `ReadState` or `UpdateState`: weaker kinds count as the first, stronger ones as the last."""
    if kind <= CallEffectKind.Pure:
        return CallEffectKind.Pure
    return CallEffectKind.ReadState if kind == CallEffectKind.ReadState else CallEffectKind.UpdateState


def may_drop(kind: int) -> bool:
    """Tell whether an expression whose value is unused may be left out."""
    return PERMISSIONS[effect_class(kind)].drop


def may_merge(kind: int, *, updated_between: bool) -> bool:
    """Tell whether two equal expressions may be evaluated once; `updated_between` when state may change in between."""
    return _allows(PERMISSIONS[effect_class(kind)].merge, updated_between)


def may_swap(kind: int, other: int) -> bool:
    """Tell whether two expressions may be evaluated in the other order."""
    first, second = sorted((effect_class(kind), effect_class(other)))
    if second is CallEffectKind.UpdateState:
        return PERMISSIONS[first].swap_with_update
    return second is CallEffectKind.Pure or PERMISSIONS[first].swap_with_read


def may_hoist(kind: int, *, loop_updates: bool) -> bool:
    """Tell whether an expression may move out of a loop; `loop_updates` when the loop may change state."""
    return _allows(PERMISSIONS[effect_class(kind)].hoist, loop_updates)


def _allows(permission: str, updated: bool) -> bool:
    return permission == "yes" or (permission == "unless updated" and not updated)


def side_effect(expression: Node) -> CallEffectKind:
    """Return the effect class of an expression: the strongest that an operator in it has, at least `Pure`.

    An operator that does not say what it does counts as `UpdateState`; so does every kind above that.
    """
    from scaly_ir.graph import preorder  # nodes point at operators, which are made of what this module defines

    found = CallEffectKind.Pure
    for node in preorder(expression):
        found = max(found, effect_class(node.op.get_attr("TCallEffectKind")))
        if found is CallEffectKind.UpdateState:
            break
    return found
