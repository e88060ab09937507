"""Strategies for random functions of matrices, loops and buffers that are valid by construction.

Everything that text can hold occurs: all operations and element types, shapes with extents 0 and 1, maps, nests,
carried values, nameless and quoted names, numbers at the ends of their ranges. What they compute does not matter:
indices may lie outside at run time, and storage may be read before it is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any, Final

from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.attributes import Word
from scaly_ir.dialects.affine import build as affine
from scaly_ir.dialects.affine import ops as affine_ops
from scaly_ir.dialects.affine.maps import DIVISIONS, NEGATE, AffineMap, Dim, Expr, read_map
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.names import is_number, numbered
from scaly_ir.dialects.buffer.types import INDEX, ValueType, folded
from scaly_ir.dialects.matrix import ops as matrix
from scaly_ir.dialects.prog import build as prog
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.prim import SCALAR_OPS
from scaly_ir.types import BOOL, DTYPES, FLOAT64, INT64, DType, MemRefType
from tests.dialects.prog.generators import NAMES, float_values, int_values

_VALUES: Final = {dtype: float_values(dtype) if dtype.is_float else int_values(dtype) for dtype in DTYPES}
_ARITHMETIC: Final = [(name, row) for name, row in SCALAR_OPS.items() if row.typing == "arith"]
_NUMBERS: Final = st.integers(-3, 12) | st.integers(-(1 << 63) + 1, (1 << 63) - 1)


@st.composite
def expressions(draw: st.DrawFn, dims: int, *, depth: int = 4, literals: st.SearchStrategy[int] = _NUMBERS) -> Expr:
    """Draw an expression of a map as the reader gives it: constants of products on the right."""
    kind = draw(st.sampled_from(("leaf", "leaf", "+", "-", "*", NEGATE, *DIVISIONS))) if depth else "leaf"
    if kind == "leaf":
        return (Dim(draw(st.integers(0, dims - 1))),) if dims and draw(st.booleans()) else (draw(literals),)
    left = draw(expressions(dims, depth=depth - 1, literals=literals))
    if kind == NEGATE:
        literal = left[0] if len(left) == 1 else None
        return (-literal,) if isinstance(literal, int) else (*left, NEGATE)
    if kind in ("+", "-"):
        return (*left, *draw(expressions(dims, depth=depth - 1, literals=literals)), kind)
    least = 1 if kind in DIVISIONS else -4
    return (*left, draw(literals.filter(lambda value: value >= least)), kind)


@st.composite
def maps(
    draw: st.DrawFn, dims: int, *, least: int = 1, most: int = 3, literals: st.SearchStrategy[int] = _NUMBERS
) -> AffineMap:
    """Draw a map of some dimensions."""
    count = draw(st.integers(least, most))
    return AffineMap(dims, [draw(expressions(dims, literals=literals)) for _ in range(count)])


class _Scope:
    """What is visible at a place, by the kind of value; a nested one is a copy."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self.names: set[str] = set(outer.names) if outer else set()
        self.values: list[build.Binding] = list(outer.values) if outer else []
        self.writable: set[str] = set(outer.writable) if outer else set()


class _Function:
    """One function in the making."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._number = 0
        self._scope = _Scope()

    # --- small draws --------------------------------------------------------------------------------------------------

    def _int(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def _maybe(self) -> bool:
        return self._draw(st.booleans())

    def _chosen(self, choices: Iterable[Any]) -> Any:
        return self._draw(st.sampled_from(list(choices)))

    def _dtype(self) -> DType:
        return self._chosen((FLOAT64, *DTYPES))  # type: ignore[no-any-return]

    def _shape(self, most: int = 3) -> tuple[int, ...]:
        return tuple([self._chosen((0, 1, 1, 2, 3, 4)) for _ in range(self._int(0, most))])

    def _name(self, *, nameless: bool = True) -> str:
        """Return a name that is not visible."""
        if nameless and self._maybe():
            self._number += 1
            return str(1000 + self._number)
        name = self._draw(NAMES.filter(lambda name: not is_number(name)))
        while name in self._scope.names:
            name += self._chosen(("1", "'", "_1"))
        return name

    def _bind(self, type_: Any, *, writable: bool = False, nameless: bool = True) -> str:
        name = self._name(nameless=nameless)
        self._scope.names.add(name)
        self._scope.values.append(build.Binding(name, type_))
        if writable:
            self._scope.writable.add(name)
        return name

    def _memrefs(self, *dtypes: DType) -> list[build.Binding]:
        return [
            value
            for value in self._scope.values
            if isinstance(value.type, MemRefType) and (not dtypes or value.type.dtype in dtypes)
        ]

    # --- scalars and indices ------------------------------------------------------------------------------------------

    def _scalar(self, dtype: DType, depth: int | None = None) -> Node:
        depth = self._int(0, 3) if depth is None else depth
        if depth == 0:
            known = [v for v in self._scope.values if v.type is dtype or (v.type is INDEX and dtype is INT64)]
            if known and self._maybe():
                return build.value(*self._chosen(known))
            return prog.const(self._draw(_VALUES[dtype]), dtype)
        kind = self._chosen(("arith", "arith", "select", "cast"))
        if kind == "select":
            return prog.apply("select", *[self._scalar(of, depth - 1) for of in (BOOL, dtype, dtype)])
        if dtype is BOOL:
            of = self._dtype()
            return prog.apply(
                self._chosen(("lt", "ne", "eq")), self._scalar(of, depth - 1), self._scalar(of, depth - 1)
            )
        if kind == "cast":
            return prog.cast(self._scalar(self._dtype(), depth - 1), dtype)
        name, row = self._chosen([(name, row) for name, row in _ARITHMETIC if dtype.kind in row.kinds.split()])
        return prog.apply(name, *[self._scalar(dtype, depth - 1) for _ in row.operands])

    def _index(self, extent: int = 1 << 62) -> Node:
        """Return an index that is no literal outside of an axis."""
        known = [value for value in self._scope.values if value.type is INDEX]
        if known and (extent == 0 or self._maybe()):
            return build.value(*self._chosen(known))
        return prog.index(self._int(0, min(extent, 9) - 1))

    def _element(self, type_: MemRefType) -> list[Node] | None:
        """Return indices of an element; None where there is none to name."""
        extents = folded(type_.shape)
        if 0 in extents and not any([value.type is INDEX for value in self._scope.values]):
            return None
        return [self._index(extent) for extent in extents]

    # --- statements ---------------------------------------------------------------------------------------------------

    def function(self, name: str) -> Node:
        """Return a function called `name`."""
        called = []
        for _ in range(self._int(0, 2)):
            called.append(self._name(nameless=False))
            self._scope.names.add(called[-1])  # nothing else has the name of a result
        params = [
            build.declaration(self._bind(type_), type_)
            for type_ in [self._value_type() for _ in range(self._int(0, 3))]
        ]
        body = self._statements(depth=2)
        usable = [value for value in self._scope.values if value.type is not INDEX]
        returned = [self._chosen(usable) for _ in called] if usable else []
        results = [build.declaration(name, value.type) for name, value in zip(called, returned, strict=False)]
        body.append(build.statement(ops.RETURN, [build.value(*value) for value in returned]))
        return numbered(build.func(name, params, results, body))

    def _value_type(self) -> MemRefType | DType:
        return MemRefType(self._shape(), self._dtype()) if self._int(0, 3) else self._dtype()

    def _statements(self, depth: int) -> list[Node]:
        made = []
        for _ in range(self._int(0, 4)):
            kinds = [*_STATEMENTS, *(["_for", "_for"] if depth else [])]
            kind = self._chosen(kinds)
            statement = self._for(depth) if kind == "_for" else getattr(self, kind)()
            if statement is not None:
                made.append(statement)
        return made

    def _made(self, op: Op, args: Iterable[Node], type_: Any, **attrs: Any) -> Node:
        """Return a statement that binds its result, or that of a pure operation that nobody wants."""
        if self._int(0, 9) == 0:
            return build.statement(op, args, type_, (), attrs)
        return build.statement(op, args, type_, (self._bind(type_, writable=True),), attrs)

    def _alloc(self) -> Node:
        return self._made(ops.ALLOC, (), MemRefType(self._shape(), self._dtype()))

    def _constant(self) -> Node:
        dtype = self._dtype()
        return self._made(ops.CONSTANT, (self._scalar(dtype),), MemRefType(self._shape(), dtype))

    def _let(self) -> Node:
        dtype = self._dtype()
        literal = self._int(0, 4) == 0
        scalar = prog.const(self._draw(_VALUES[dtype]), dtype) if literal else self._scalar(dtype, self._int(1, 3))
        return build.let(self._bind(dtype), scalar)

    def _buffer(self, *dtypes: DType) -> tuple[Node, MemRefType] | None:
        known = self._memrefs(*dtypes)
        if not known:
            return None
        chosen = self._chosen(known)
        return build.value(*chosen), chosen.type

    def _read(self) -> Node | None:
        found = self._buffer()
        indices = self._element(found[1]) if found else None
        if found is None or indices is None:
            return None
        return self._made(ops.READ, (found[0], *indices), found[1].dtype)

    def _write(self) -> Node | None:
        known = [value for value in self._memrefs() if value.name in self._scope.writable]
        if not known:
            return None
        target = self._chosen(known)
        indices = self._element(target.type)
        if indices is None:
            return None
        args = (self._scalar(target.type.dtype), build.value(*target), *indices)
        return build.statement(ops.WRITE, args, target.type.dtype)

    def _axis(self) -> Node | None:
        found = self._buffer()
        if found is None or not found[1].shape:
            return None
        return self._made(ops.SHAPE, (found[0],), INDEX, axis=self._int(0, len(found[1].shape) - 1))

    def _map(self) -> Node:
        op = self._chosen((affine_ops.APPLY, affine_ops.MIN, affine_ops.MAX))
        operands = [self._index() for _ in range(self._int(0, 3))]
        most = 1 if op is affine_ops.APPLY else 3
        return self._made(op, operands, INDEX, map=self._draw(maps(len(operands), most=most)))

    def _whole(self) -> Node | None:
        """Sum, transpose or multiply."""
        found = self._buffer(*[dtype for dtype in DTYPES if dtype is not BOOL])
        if found is None:
            return None
        value, type_ = found
        if len(type_.shape) != 2 or self._maybe():
            return self._made(matrix.SUM, (value,), type_.dtype)
        fitting = [
            each
            for each in self._memrefs(type_.dtype)
            if len(each.type.shape) == 2 and each.type.shape[0] == type_.shape[1]
        ]
        if fitting and self._int(0, 3):
            other = self._chosen(fitting)
            shape = (type_.shape[0], other.type.shape[1])
            return self._made(matrix.PROD, (value, build.value(*other)), MemRefType(shape, type_.dtype))
        return self._made(matrix.TRANSPOSE, (value,), MemRefType(type_.shape[::-1], type_.dtype))

    def _logical(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same shape with an axis of extent 1 more, or not."""
        at = self._int(0, len(shape))
        return (*shape[:at], 1, *shape[at:]) if self._maybe() else shape

    def _broadcast(self) -> Node | None:
        found = self._buffer()
        if found is None:
            return None
        value, type_ = found
        source = self._logical(type_.shape)
        target = tuple([self._int(0, 4) if extent == 1 else extent for extent in source])
        return self._made(matrix.BROADCAST, (value,), MemRefType(target, type_.dtype), s_in=source, s_out=target)

    def _pad(self) -> Node | None:
        found = self._buffer()
        if found is None:
            return None
        value, type_ = found
        source = self._logical(type_.shape)
        mode = self._chosen((matrix.CONSTANT_MODE, matrix.REPLICATE_MODE))
        most = [0 if extent == 0 and mode == matrix.REPLICATE_MODE else 2 for extent in source]
        low, high = [tuple([self._int(0, each) for each in most]) for _ in range(2)]
        target = tuple([sum(widths) for widths in zip(low, source, high, strict=True)])
        args = (value, self._scalar(type_.dtype)) if mode == matrix.CONSTANT_MODE else (value,)
        attrs = {"s_in": source, "s_out": target, "mode": mode, "lo": low, "hi": high}
        return self._made(matrix.PAD, args, MemRefType(target, type_.dtype), **attrs)

    def _concat(self) -> Node | None:
        found = self._buffer()
        if found is None:
            return None
        value, type_ = found
        source = self._logical(type_.shape) or (1,)
        axis, count = self._int(0, len(source) - 1), self._int(1, 3)
        target = (*source[:axis], source[axis] * count, *source[axis + 1 :])
        attrs = {"axis": axis, "shapes": (source,) * count, "s_out": target}
        return self._made(matrix.CONCAT, (value,) * count, MemRefType(target, type_.dtype), **attrs)

    # --- regions ------------------------------------------------------------------------------------------------------

    def _combiner(self, types: list[DType], *, reads_accumulator: bool) -> Node:
        outer, self._scope = self._scope, _Scope(self._scope)
        if not reads_accumulator:
            self._scope.names.add(name := self._name())
            params = [build.declaration(name, types[0])]
        else:
            params = [build.declaration(self._bind(types[0]), types[0])]
        params += [build.declaration(self._bind(type_), type_) for type_ in types[1:]]
        body = [self._let() for _ in range(self._int(0, 2))]
        body.append(build.statement(matrix.YIELD, [self._scalar(types[0])]))
        self._scope = outer
        return build.region(params, body)

    def _reduced(self, op: Op, inputs: list[build.Binding], type_: MemRefType, empty: bool, **attrs: Any) -> Node:
        init = None if empty or self._maybe() else build.undef(type_.dtype)
        types = [type_.dtype, *[value.type.dtype for value in inputs]]
        region = self._combiner(types, reads_accumulator=init is None)
        args = [build.value(*value) for value in inputs]
        return self._made(op, [*args, self._scalar(type_.dtype) if init is None else init, region], type_, **attrs)

    def _map_reduce(self) -> Node:
        known = self._memrefs()
        inputs = [self._chosen(known) for _ in range(self._int(0, 2))] if known else []
        shape = self._shape(2)
        extents = dict(enumerate(shape))
        indices = []
        for value in inputs:
            chosen = []
            for extent in value.type.shape:
                fitting = [number for number, of in extents.items() if of == extent]
                fresh = max([len(shape) - 1, *extents]) + self._int(1, 2)  # numbers may have gaps
                number = self._chosen([*fitting, fresh])
                extents[number] = extent
                chosen.append(number)
            indices.append(tuple(chosen))
        empty = any([extent == 0 for number, extent in extents.items() if number >= len(shape)])
        type_ = MemRefType(shape, self._dtype())
        return self._reduced(matrix.MAP_REDUCE, inputs, type_, empty, indices=tuple(indices))

    def _map_reduce_aff(self) -> Node:
        rank = self._int(0, 2)
        box = [self._int(0, 3) for _ in range(rank + self._int(0, 2))]
        order = self._draw(st.permutations(range(rank)))
        shape, results = [], []
        for number in order:
            factor, shift = self._int(1, 2), self._int(0, 2)
            shape.append(max(0, (box[number] - 1) * factor + shift + 1) + self._int(0, 1))
            results.append(read_map(f"affine_map<(d0, d1) -> (d{number} * {factor} + {shift})>").results[0])
        known = [value for value in self._memrefs() if 0 in box or 0 not in value.type.shape]
        inputs = [self._chosen(known) for _ in range(self._int(0, 2))] if known else []
        in_maps = []
        for value in inputs:
            small = st.integers(0, 3)
            exprs = [self._draw(expressions(len(box), literals=small)) for _ in value.type.shape]
            found = zip(exprs, value.type.shape, strict=True)
            in_maps.append(AffineMap(len(box), [(*expr, max(extent, 1), "mod") for expr, extent in found]))
        attrs = {"bounds": tuple(box), "in_maps": tuple(in_maps), "out_map": AffineMap(len(box), results)}
        empty = 0 in box or prod(box[:rank]) < prod(shape)
        return self._reduced(matrix.MAP_REDUCE_AFF, inputs, MemRefType(tuple(shape), self._dtype()), empty, **attrs)

    def _for(self, depth: int) -> Node:
        types = [self._dtype() for _ in range(self._int(0, 2))]
        kind = self._chosen(("reduce", "serial") if types else affine_ops.FOR_KINDS)
        lower, upper, step = self._index(), self._index(), self._int(1, 3)
        inits = [self._scalar(type_) if self._int(0, 4) else build.undef(type_) for type_ in types]
        outer, self._scope = self._scope, _Scope(self._scope)
        declared: list[ValueType] = [INDEX, *types]
        params = [build.declaration(self._bind(type_), type_) for type_ in declared]
        body = self._statements(depth - 1)
        if types:
            body.append(affine.yield_([self._scalar(type_) for type_ in types]))
        self._scope = outer
        args = (lower, upper, *inits, build.region(params, body))
        attrs = {"step": step, "kind": Word(kind), **({"types": tuple(types)} if types else {})}
        return build.statement(affine_ops.FOR, args, None, [self._bind(type_) for type_ in types], attrs)


_STATEMENTS: Final = (
    *("_alloc", "_constant", "_let", "_read", "_read", "_write", "_axis", "_map", "_whole", "_whole"),
    *("_broadcast", "_pad", "_concat", "_map_reduce", "_map_reduce", "_map_reduce_aff"),
)


@st.composite
def modules(draw: st.DrawFn) -> Node:
    """Draw the functions of a file: at least one, as an empty text is one of another dialect."""
    names: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        names.append(draw(NAMES.filter(lambda name: name not in names)))
    root = build.module([_Function(draw).function(name) for name in names])
    sc.verify(root)
    return root
