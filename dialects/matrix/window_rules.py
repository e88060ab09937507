"""What must hold for reductions along axes, sums of products by a string, and windows.

Source: matrix specification 13.
"""

from __future__ import annotations

from typing import Final

from scaly_ir.dialects.buffer.rules import on, title
from scaly_ir.dialects.matrix import windows
from scaly_ir.graph import Node
from scaly_ir.spec import Fault, Faults, Rule
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import MemRefType

_WINDOWED: Final = on(windows.CONV, windows.POOL)


def _shape(node: Node, position: int) -> tuple[int, ...]:
    type_ = node.args[position].type
    return type_.shape if isinstance(type_, MemRefType) else ()


def reduce_axes(node: Node) -> Faults:
    """The axes exist, each is given once, and they ascend."""
    axes, rank = node.attrs["axes"], len(_shape(node, 0))
    for axis in axes:
        if not 0 <= axis < rank:
            yield Fault(f"REDUCE axis {axis} is outside [0, {rank})", part="axes")
            return
    if list(axes) != sorted(set(axes)):
        yield Fault("REDUCE axes do not ascend", part="axes")


def fold_kind(node: Node) -> Faults:
    """The way elements are combined is known; a mean is of floating numbers."""
    kind = node.attrs["kind"]
    known = [*windows.FOLDS, *([windows.MEAN] if node.op is windows.POOL else [])]
    if kind not in known:
        yield Fault(f"{title(node)} kind {kind} is unknown{did_you_mean(kind, known)}", part="kind")
    elif kind == windows.MEAN and not node.args[0].type.dtype.is_float:
        yield Fault(f"{title(node)} kind mean does not accept {node.args[0].type.dtype}", part="kind")


def einsum_spec(node: Node) -> Faults:
    """The string names an index for each axis of each input, and those of the result."""
    try:
        subscripts = windows.read_subscripts(node.attrs["spec"])
    except windows.SpecError as error:
        yield Fault(f"EINSUM spec: {error}", part="spec")
        return
    if len(subscripts.inputs) != len(node.args) or not node.args:
        reason = f"EINSUM has {len(node.args)} inputs and {len(subscripts.inputs)} rows of letters"
        yield Fault(reason, part="spec")
        return
    extents: dict[str, int] = {}
    for position, letters in enumerate(subscripts.inputs):
        shape = _shape(node, position)
        if len(letters) != len(shape):
            reason = f"EINSUM input {position} has rank {len(shape)} and {len(letters)} letters"
            yield Fault(reason, part="spec")
            return
        for letter, extent in zip(letters, shape, strict=True):
            first = extents.setdefault(letter, extent)
            if first != extent:
                yield Fault(f"EINSUM index '{letter}' has extents {first} and {extent}", part=position)
                return


def conv_operands(node: Node) -> Faults:
    """Images and kernels have as many axes, at least two, and as many channels."""
    images, kernels = _shape(node, 0), _shape(node, 1)
    if len(images) < 2:
        yield Fault(f"CONV operand 0 has rank {len(images)}, expected at least 2", part=0)
    elif len(kernels) != len(images):
        yield Fault(f"CONV operand 1 has rank {len(kernels)}, expected {len(images)}", part=1)
    elif images[1] != kernels[1]:
        yield Fault(f"CONV channels {images[1]} != {kernels[1]}", part=1)


def window_attrs(node: Node) -> Faults:
    """Each list has an entry for each axis that a window moves along."""
    rank = len(_shape(node, 0))
    if node.op is windows.POOL:
        count = len(node.attrs["window"])
        if count > rank:
            yield Fault(f"POOL window has {count} entries for rank {rank}", part="window")
            return
    else:
        count = max(rank - 2, 0)
    for key in ("stride", "dilation", "lo", "hi"):
        if len(node.attrs[key]) != count:
            reason = f"{title(node)} {key} has {len(node.attrs[key])} entries for {count} axes of the window"
            yield Fault(reason, part=key)


def window_moves(node: Node) -> Faults:
    """Windows have elements and go forwards, and padding is not negative."""
    least = {"window": 1, "stride": 1, "dilation": 1, "lo": 0, "hi": 0}
    for key, bound in least.items():
        for axis, value in enumerate(node.attrs.get(key, ())):
            if value < bound:
                yield Fault(f"{title(node)} axis {axis}: {key} {value} is less than {bound}", part=key)
    if node.op is windows.CONV:
        for axis, extent in enumerate(_shape(node, 1)[2:]):
            if extent < 1:
                yield Fault(f"CONV axis {axis}: window {extent} is less than 1", part=1)


def window_extent(node: Node) -> Faults:
    """A window fits into the padded axis."""
    for check in (conv_operands, window_attrs, window_moves):
        if (check is not conv_operands or node.op is windows.CONV) and any(True for _ in check(node)):
            return
    for number, axis in enumerate(windows.axes_of(node)):
        if axis.reach > axis.padded:
            reason = f"{title(node)} axis {number}: the window reaches {axis.reach}, the padded extent is {axis.padded}"
            yield Fault(reason, part=1 if node.op is windows.CONV else "window")


RULES: Final = (
    Rule("reduce-axes", reduce_axes, on(windows.REDUCE)),
    Rule("fold-kind", fold_kind, on(windows.REDUCE, windows.POOL)),
    Rule("einsum-spec", einsum_spec, on(windows.EINSUM)),
    Rule("conv-operands", conv_operands, on(windows.CONV)),
    Rule("window-attrs", window_attrs, _WINDOWED),
    Rule("window-moves", window_moves, _WINDOWED),
    Rule("window-extent", window_extent, _WINDOWED),
)
