"""What must hold for map-reductions: their indices, combiners, boxes and maps. Source: matrix specification 4 and 7."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scaly_ir.dialects.affine.maps import AffineMap, dims_of
from scaly_ir.dialects.affine.ranges import Interval, bounds, holes, is_injective, reach
from scaly_ir.dialects.affine.rules import expression_fault
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer import ops as buffer_ops
from scaly_ir.dialects.buffer.rules import listed, on, title
from scaly_ir.dialects.matrix import ops
from scaly_ir.effects import CallEffectKind
from scaly_ir.graph import Node, preorder
from scaly_ir.spec import Fault, Faults, Rule
from scaly_ir.types import DType, MemRefType

_BOTH: Final = on(ops.MAP_REDUCE, ops.MAP_REDUCE_AFF)


def inputs_of(node: Node) -> tuple[Node, ...]:
    """Return the inputs of a map-reduction, its first accumulator left out."""
    return build.operands_of(node)[:-1]


def init_of(node: Node) -> Node:
    """Return what the accumulator is at first."""
    return build.operands_of(node)[-1]


def index_extents(node: Node) -> dict[int, int]:
    """Return the extent of each index of a `matrix.map_reduce`: those of the result, then others where first used."""
    found = dict(enumerate(node.type.shape))
    for value, indices in zip(inputs_of(node), node.attrs["indices"], strict=False):
        for index, extent in zip(indices, value.type.shape, strict=False):
            found.setdefault(index, extent)
    return found


def mr_operands(node: Node) -> Faults:
    """A map-reduction has a combiner and a first accumulator, and its inputs are buffers."""
    if build.region_of(node) is None:
        yield f"{title(node)} lacks a combiner; write '{{ ^comb(...): ... }}'"
        return
    operands = build.operands_of(node)
    if not operands:
        yield f"{title(node)} lacks init(...)"
    for position, value in enumerate(operands[:-1]):
        if not isinstance(value.type, MemRefType):
            yield Fault(f"{title(node)} operand {position} is {value.type}, expected a memref", part=position)
    if operands and isinstance(operands[-1].type, MemRefType):
        last = len(operands) - 1
        yield Fault(f"{title(node)} operand {last} is {operands[-1].type}, expected a scalar", part=last)


def mr_indices(node: Node) -> Faults:
    """Each input has an index for each of its axes."""
    inputs, tuples = inputs_of(node), node.attrs["indices"]
    if len(inputs) != len(tuples):
        yield Fault(f"{title(node)} has {len(inputs)} inputs and {len(tuples)} index tuples", part="indices")
        return
    for position, (value, indices) in enumerate(zip(inputs, tuples, strict=True)):
        if isinstance(value.type, MemRefType) and len(value.type.shape) != len(indices):
            rank = len(value.type.shape)
            yield Fault(f"{title(node)} input {position} has rank {rank} and {len(indices)} indices", part="indices")
        for index in indices:
            if index < 0:
                yield Fault(f"{title(node)} index {index} is negative", part="indices")


def mr_extent(node: Node) -> Faults:
    """All axes with one index have one extent."""
    known = dict(enumerate(node.type.shape))
    for position, (value, indices) in enumerate(zip(inputs_of(node), node.attrs["indices"], strict=False)):
        shape = value.type.shape if isinstance(value.type, MemRefType) else ()
        for index, extent in zip(indices, shape, strict=False):
            first = known.setdefault(index, extent)
            if first != extent:
                yield Fault(f"{title(node)} index {index} has extents {first} and {extent}", part=position)
                return


def mr_comb_args(node: Node) -> Faults:
    """A combiner takes the accumulator and an element of each input."""
    params = build.params_of(node.args[-1])
    wanted = [node.type.dtype, *[getattr(value.type, "dtype", value.type) for value in inputs_of(node)]]
    if len(params) != len(wanted):
        yield f"{title(node)} combiner takes {len(params)} arguments, expected {len(wanted)}"
        return
    for position, (param, type_) in enumerate(zip(params, wanted, strict=True)):
        if param.type is not type_:
            yield Fault(f"{title(node)} combiner argument {position} is {param.type}, expected {type_}", param, "type")


def mr_init(node: Node) -> Faults:
    """The first accumulator has the element type of the result."""
    init = init_of(node)
    if isinstance(init.type, DType) and init.type is not node.type.dtype:
        part = len(build.operands_of(node)) - 1
        yield Fault(f"{title(node)} init is {init.type}, expected {node.type.dtype}", part=part)


def mr_yield(node: Node) -> Faults:
    """A combiner ends in a `matrix.yield` of the new accumulator."""
    body = build.body_of(node.args[-1])
    ends = [each for each in body if each.op is ops.YIELD]
    sound = len(ends) == 1 and body[-1] is ends[0] and len(ends[0].args) == 1
    if not sound or ends[0].args[0].type is not node.type.dtype or ends[0].args[0].op is buffer_ops.UNDEF:
        yield f"{title(node)} combiner must end in one matrix.yield of {node.type.dtype}"


def mr_pure(node: Node) -> Faults:
    """A combiner names scalars, and does nothing else."""
    for statement in build.statements_in(node.args[-1]):
        if statement.op is not ops.YIELD and statement.op is not buffer_ops.LET:
            yield f"{title(node)} combiner contains {statement.op.name}"
            return
        for value in statement.args:
            for below in preorder(value):
                if below.op.get_attr("TCallEffectKind") > CallEffectKind.Pure and below.op.is_expression:
                    yield f"{title(node)} combiner contains {below.op.name}"
                    return


def _reads_accumulator(node: Node) -> Node | None:
    """Return a use of the accumulator in a combiner, or None."""
    params = build.params_of(node.args[-1])
    name = params[0].attrs.get("name") if params else None
    for statement in build.body_of(node.args[-1]):
        for value in statement.args:
            for below in preorder(value):
                if build.is_variable(below) and below.attrs.get("name") == name:
                    return below
    return None


def mr_undef(node: Node) -> Faults:
    """Where there is no first accumulator, none is read and every cell gets a value."""
    init = init_of(node)
    part = len(build.operands_of(node)) - 1
    if init.op is not buffer_ops.UNDEF:
        return
    read = _reads_accumulator(node)
    if read is not None:
        name = f"%{read.attrs['name']}"
        yield Fault(f"{title(node)} init is undef but the combiner reads {name}", part=part)
        return
    if 0 in node.type.shape:
        return
    for index, extent in _reductions(node):
        if extent == 0:
            yield Fault(f"{title(node)} init is undef but index {index} has extent 0", part=part)
            return


def _reductions(node: Node) -> Sequence[tuple[int, int]]:
    rank = len(node.type.shape)
    if node.op is ops.MAP_REDUCE_AFF:
        return list(enumerate(node.attrs["bounds"]))[rank:]
    return [(index, extent) for index, extent in sorted(index_extents(node).items()) if index >= rank]


# --- affine access ----------------------------------------------------------------------------------------------------


def aff_bounds(node: Node) -> Faults:
    """There is a loop for each axis of the result."""
    box, rank = node.attrs["bounds"], len(node.type.shape)
    if len(box) < rank:
        yield Fault(f"{title(node)} needs at least {rank} bounds, got {len(box)}", part="bounds")
    for position, bound in enumerate(box):
        if bound < 0:
            yield Fault(f"{title(node)} bound {position} is negative", part="bounds")


def _maps(node: Node) -> Iterator[tuple[str, str, AffineMap, tuple[int, ...]]]:
    """Yield the maps with what they are called, the attribute that holds them, and the shape of what they address."""
    yield "out_map", "out_map", node.attrs["out_map"], node.type.shape
    for position, (map_, value) in enumerate(zip(node.attrs["in_maps"], inputs_of(node), strict=False)):
        if isinstance(value.type, MemRefType):
            yield f"in_maps[{position}]", "in_maps", map_, value.type.shape


def aff_maps(node: Node) -> Faults:
    """A map takes the loops, and has a result for each axis."""
    dims = len(node.attrs["bounds"])
    for name, key, map_, shape in _maps(node):
        if map_.dims != dims:
            yield Fault(f"{title(node)} {name} takes {map_.dims} dims, expected {dims}", part=key)
        elif len(map_.results) != len(shape):
            yield Fault(f"{title(node)} {name} has {len(map_.results)} results, expected {len(shape)}", part=key)
    if len(node.attrs["in_maps"]) != len(inputs_of(node)):
        count = len(inputs_of(node))
        yield Fault(f"{title(node)} has {count} inputs and {len(node.attrs['in_maps'])} maps", part="in_maps")


def _are_maps_sound(node: Node) -> bool:
    """Tell whether the maps can be evaluated over the box."""
    if any(True for _ in aff_bounds(node)) or any(True for _ in aff_maps(node)):
        return False
    return not any([expression_fault(e, map_.dims) for _, _, map_, _ in _maps(node) for e in map_.results])


def aff_out_reduction(node: Node) -> Faults:
    """Where a result goes does not depend on reductions."""
    rank = len(node.type.shape)
    used = {number for expr in node.attrs["out_map"].results for number in dims_of(expr)}
    for number in sorted(used):
        if number >= rank:
            yield Fault(f"{title(node)} out_map uses reduction dim d{number}", part="out_map")
            return


def aff_range(node: Node) -> Faults:
    """What maps give lies within the axes, all over the box."""
    if not _are_maps_sound(node):
        return
    for name, key, map_, shape in _maps(node):
        # What a result goes to is written where the reductions are at 0, even if there are none to run.
        box = _out_box(node) if key == "out_map" else node.attrs["bounds"]
        if 0 in box:
            continue
        for number, (expr, extent) in enumerate(zip(map_.results, shape, strict=True)):
            if _is_within(bounds(expr, box), extent):
                continue
            found = reach(expr, box)
            if found is None:
                yield Fault(f"{title(node)} {name} result {number} cannot be bounded", part=key)
            elif not _is_within(found, extent):
                value = found[0] if found[0] < 0 else found[1]
                yield Fault(f"{title(node)} {name} result {number} reaches {value}, extent is {extent}", part=key)


def _is_within(values: Interval, extent: int) -> bool:
    return values[0] >= 0 and values[1] < extent


def _out_box(node: Node) -> tuple[int, ...]:
    rank = len(node.type.shape)
    return tuple(node.attrs["bounds"][:rank]) + (1,) * (len(node.attrs["bounds"]) - rank)


def aff_injective(node: Node) -> Faults:
    """No cell is written twice."""
    if not _are_maps_sound(node) or any(True for _ in aff_out_reduction(node)) or any(True for _ in aff_range(node)):
        return
    found = is_injective(node.attrs["out_map"], _out_box(node))
    if found is None:
        yield Fault(f"{title(node)} out_map cannot be shown injective", part="out_map")
    elif not isinstance(found, bool):
        yield Fault(f"{title(node)} out_map writes cell {listed(found)} twice", part="out_map")


def aff_hole(node: Node) -> Faults:
    """Without a first accumulator, every cell is written."""
    if init_of(node).op is not buffer_ops.UNDEF or not _are_maps_sound(node):
        return
    if any(True for _ in aff_injective(node)) or any(True for _ in aff_range(node)):
        return
    if holes(_out_box(node), node.type.shape):
        yield Fault(f"{title(node)} out_map leaves cells unwritten and init is undef", part="out_map")


# --- the tables -------------------------------------------------------------------------------------------------------


FORM_RULES: Final = (Rule("operand-kind", mr_operands, _BOTH),)
RULES: Final = (
    Rule("mr-indices", mr_indices, on(ops.MAP_REDUCE)),
    Rule("mr-extent", mr_extent, on(ops.MAP_REDUCE)),
    *[
        Rule(name, check, _BOTH)
        for name, check in (
            ("mr-comb-args", mr_comb_args),
            ("mr-init", mr_init),
            ("mr-yield", mr_yield),
            ("mr-pure", mr_pure),
            ("mr-undef", mr_undef),
        )
    ],
    *[
        Rule(name, check, on(ops.MAP_REDUCE_AFF))
        for name, check in (
            ("aff-bounds", aff_bounds),
            ("aff-maps", aff_maps),
            ("aff-out-reduction", aff_out_reduction),
            ("aff-range", aff_range),
            ("aff-injective", aff_injective),
            ("aff-hole", aff_hole),
        )
    ],
)


# --- what others ask the operators ------------------------------------------------------------------------------------


def combiner_params(call: Node) -> list[Node]:
    """Return the parameters that the combiner of a map-reduction takes: the accumulator, an element of each input."""
    return [
        build.declaration("acc", call.type.dtype),
        *[build.declaration(f"x{number}", value.type.dtype) for number, value in enumerate(call.args[:-1])],
    ]


def validate_combiner(call: Node) -> None:
    """Raise `ValueError` for the first rule that a map-reduction breaks."""
    for name, reason in call.op.get_attr("FVerify")(call):
        raise ValueError(f"{name}: {reason}")


for _op in _BOTH:
    _op.set_attr("FRegionGetBodyParams", combiner_params)
    _op.set_attr("FRegionValidate", validate_combiner)
