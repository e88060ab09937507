"""What must hold for operations on whole arrays. Source: matrix specification 4 and 7."""

from __future__ import annotations

from typing import Final

from scaly_ir.dialects.buffer.rules import on, title
from scaly_ir.dialects.buffer.types import folded
from scaly_ir.dialects.matrix import ops
from scaly_ir.graph import Node
from scaly_ir.spec import Fault, Faults, Rule
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import MemRefType

# --- result types -----------------------------------------------------------------------------------------------------


def _prod_type(call: Node) -> MemRefType:
    first, second = [operand.type for operand in call.args]
    return MemRefType((first.shape[0], second.shape[1]), first.dtype)


def _transpose_type(call: Node) -> MemRefType:
    rows, columns = call.args[0].type.shape
    return MemRefType((columns, rows), call.args[0].type.dtype)


def _written_type(call: Node) -> MemRefType:
    return MemRefType(tuple(call.attrs["s_out"]), call.args[0].type.dtype)


ops.PROD.set_attr("FInferType", _prod_type)
ops.TRANSPOSE.set_attr("FInferType", _transpose_type)
ops.SUM.set_attr("FInferType", lambda call: call.args[0].type.dtype)
for _op in (ops.BROADCAST, ops.PAD, ops.CONCAT):
    _op.set_attr("FInferType", _written_type)


def _shape(node: Node, position: int = 0) -> tuple[int, ...] | None:
    """Return the shape of an operand, None for what is no buffer."""
    type_ = node.args[position].type if len(node.args) > position else None
    return type_.shape if isinstance(type_, MemRefType) else None


# --- products ---------------------------------------------------------------------------------------------------------


def rank_two(node: Node) -> Faults:
    """The operands have two axes, as they are written."""
    for position in range(len(node.args)):
        shape = _shape(node, position)
        if shape is not None and len(shape) != 2:
            yield Fault(f"{title(node)} operand {position} has rank {len(shape)}, expected 2", part=position)


def prod_inner(node: Node) -> Faults:
    """The first operand has as many columns as the second has rows."""
    first, second = _shape(node, 0), _shape(node, 1)
    if first is None or second is None or len(first) != 2 or len(second) != 2:
        return
    if first[1] != second[0]:
        yield Fault(f"PROD inner extents {first[1]} != {second[0]}", part=1)


# --- shapes as attributes ---------------------------------------------------------------------------------------------


def extents(node: Node) -> Faults:
    """Shapes hold extents."""
    for key in ("s_in", "s_out"):
        if any([extent < 0 for extent in node.attrs.get(key, ())]):
            yield Fault(f"{title(node)} shape {key} has a negative extent", part=key)
    for shape in node.attrs.get("shapes", ()):
        if any([extent < 0 for extent in shape]):
            yield Fault(f"{title(node)} shape shapes has a negative extent", part="shapes")
            return


def shape_attr(node: Node) -> Faults:
    """The shape that an operand is said to have has the elements of its type, in their order."""
    shapes = (
        [("s_in", node.attrs["s_in"])]
        if "s_in" in node.attrs
        else [(f"shapes[{position}]", shape) for position, shape in enumerate(node.attrs.get("shapes", ()))]
    )
    for position, (name, shape) in enumerate(shapes):
        own = _shape(node, position)
        if own is not None and folded(own) != folded(tuple(shape)):
            type_ = node.args[position].type
            part = name.partition("[")[0]
            yield Fault(f"{title(node)} shape {name} does not fit operand {position} of type {type_}", part=part)


def bc_rank(node: Node) -> Faults:
    """Input and result have as many axes."""
    source, target = node.attrs["s_in"], node.attrs["s_out"]
    if len(source) != len(target):
        yield Fault(f"BROADCAST ranks {len(source)} and {len(target)} differ", part="s_out")


def bc_extent(node: Node) -> Faults:
    """An axis keeps its extent, or is stretched from 1."""
    for axis, (source, target) in enumerate(zip(node.attrs["s_in"], node.attrs["s_out"], strict=False)):
        if source not in (1, target):
            yield Fault(f"BROADCAST axis {axis}: extent {source} cannot become {target}", part="s_out")


# --- padding ----------------------------------------------------------------------------------------------------------

_MODES: Final = {ops.CONSTANT_MODE: 2, ops.REPLICATE_MODE: 1}
"""How many operands a pad takes in each mode."""


def pad_mode(node: Node) -> Faults:
    """A pad has a known mode, with a value for the new elements where that needs one."""
    mode = node.attrs["mode"]
    if mode not in _MODES:
        yield Fault(f"PAD mode {mode} is unknown{did_you_mean(mode, _MODES)}", part="mode")


def pad_operands(node: Node) -> Faults:
    """A pad has a value for the new elements where its mode needs one."""
    mode = node.attrs.get("mode")
    if mode in _MODES and len(node.args) != _MODES[mode]:
        yield f"PAD takes {_MODES[mode]} operands, got {len(node.args)}"


def pad_rank(node: Node) -> Faults:
    """Each list has an entry for each axis."""
    rank = len(node.attrs["s_in"])
    for key in ("s_out", "lo", "hi"):
        if len(node.attrs[key]) != rank:
            yield Fault(f"PAD {key} has {len(node.attrs[key])} entries for rank {rank}", part=key)


def _axes(node: Node) -> list[tuple[int, int, int, int]]:
    """Return the extent before, the widths below and above, and the extent after, of each axis."""
    lists = [node.attrs[key] for key in ("s_in", "lo", "hi", "s_out")]
    return list(zip(*lists, strict=False))


def pad_width(node: Node) -> Faults:
    """Widths are not negative."""
    for axis, (_, low, high, _) in enumerate(_axes(node)):
        for key, width in (("lo", low), ("hi", high)):
            if width < 0:
                yield Fault(f"PAD axis {axis}: width {width} is negative", part=key)


def pad_sum(node: Node) -> Faults:
    """An axis is as long as its parts."""
    for axis, (extent, low, high, total) in enumerate(_axes(node)):
        if min(low, high) >= 0 and low + extent + high != total:
            yield Fault(f"PAD axis {axis}: {low} + {extent} + {high} != {total}", part="s_out")


def pad_empty(node: Node) -> Faults:
    """There is an edge to replicate."""
    for axis, (extent, low, high, _) in enumerate(_axes(node)):
        if node.attrs["mode"] == ops.REPLICATE_MODE and extent == 0 and max(low, high) > 0:
            yield Fault(f"PAD axis {axis}: cannot replicate an empty axis", part="lo" if low > 0 else "hi")


# --- concatenation ----------------------------------------------------------------------------------------------------


def concat_inputs(node: Node) -> Faults:
    """There is an input, and a shape for each."""
    if not node.args:
        yield "CONCAT takes at least 1 operands, got 0"
        return
    shapes = node.attrs.get("shapes")
    if type(shapes) is tuple and len(shapes) != len(node.args):
        yield Fault(f"CONCAT has {len(node.args)} inputs and {len(shapes)} shapes", part="shapes")


def concat_axis(node: Node) -> Faults:
    """The axis exists."""
    axis, rank = node.attrs["axis"], len(node.attrs["s_out"])
    if not 0 <= axis < rank:
        yield Fault(f"CONCAT axis {axis} is outside [0, {rank})", part="axis")


def concat_rank(node: Node) -> Faults:
    """Inputs and result have as many axes."""
    rank = len(node.attrs["s_out"])
    for position, shape in enumerate(node.attrs["shapes"]):
        if len(shape) != rank:
            yield Fault(f"CONCAT input {position} has rank {len(shape)}, expected {rank}", part="shapes")


def concat_extent(node: Node) -> Faults:
    """Off the axis, all have one extent."""
    total = node.attrs["s_out"]
    for position, shape in enumerate(node.attrs["shapes"]):
        for axis, (extent, wanted) in enumerate(zip(shape, total, strict=False)):
            if axis != node.attrs["axis"] and extent != wanted:
                reason = f"CONCAT axis {axis}: input {position} has extent {extent}, expected {wanted}"
                yield Fault(reason, part="shapes")


def concat_sum(node: Node) -> Faults:
    """Along the axis, extents add up."""
    axis, total = node.attrs["axis"], node.attrs["s_out"]
    if not 0 <= axis < len(total) or any([len(shape) != len(total) for shape in node.attrs["shapes"]]):
        return
    found = sum([shape[axis] for shape in node.attrs["shapes"]])
    if found != total[axis]:
        yield Fault(f"CONCAT axis {axis}: extents add to {found}, s_out has {total[axis]}", part="s_out")


FORM_RULES: Final = (
    Rule("operand-count", pad_operands, on(ops.PAD)),
    Rule("operand-count", concat_inputs, on(ops.CONCAT)),
)
RULES: Final = (
    Rule("prod-rank", rank_two, on(ops.PROD)),
    Rule("transpose-rank", rank_two, on(ops.TRANSPOSE)),
    Rule("prod-inner", prod_inner, on(ops.PROD)),
    Rule("shape-attr", extents, on(ops.BROADCAST, ops.PAD, ops.CONCAT)),
    Rule("shape-attr", shape_attr, on(ops.BROADCAST, ops.PAD, ops.CONCAT)),
    Rule("bc-rank", bc_rank, on(ops.BROADCAST)),
    Rule("bc-extent", bc_extent, on(ops.BROADCAST)),
    Rule("pad-mode", pad_mode, on(ops.PAD)),
    Rule("pad-rank", pad_rank, on(ops.PAD)),
    Rule("pad-width", pad_width, on(ops.PAD)),
    Rule("pad-sum", pad_sum, on(ops.PAD)),
    Rule("pad-empty", pad_empty, on(ops.PAD)),
    Rule("concat-axis", concat_axis, on(ops.CONCAT)),
    Rule("concat-rank", concat_rank, on(ops.CONCAT)),
    Rule("concat-extent", concat_extent, on(ops.CONCAT)),
    Rule("concat-sum", concat_sum, on(ops.CONCAT)),
)
