"""Strategies for random `prog` programs that are valid by construction.

`programs` draws modules and bare procedures, `fragments` statements without a procedure. Everything that text can hold
occurs: all element types and operators, every form of buffer, loops of all kinds, calls, names that need quotes,
numbers at the ends of their ranges and scalars made of constants only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.attributes import AttrValue, Word
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.prim import SCALAR_OPS
from scaly_ir.text.spelling import BARE_NAME, float_from_bits
from scaly_ir.types import BOOL, DTYPES, FLOAT32, FLOAT64, INT32, INT64, DType, int_range

# --- names and numbers ------------------------------------------------------------------------------------------------

_PLAIN_NAMES: Final = tuple(
    "x y out t0 i_y v1 to step dense offset inf nan True slice prog memref float64 e1 a.b a-b a$ _ SCALY".split()
)
_ODD_NAMES: Final = (
    *r'a b| |"|"x"|\|0|%x|@f|//|{|é|名|1x|-|x y\n|\u0041|=|prog.add('.split("|"),
    *"\U0001f642|\ud800|\udfff|\n|\t|\r|\0|\x7f|\u2028|\ufeff|e\u0301".split("|"),
)
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def _spellable(name: str) -> bool:
    """Tell whether JSON can spell a name: two surrogates in a row would be read back as one character."""
    return _PAIR.search(name) is None


NAMES: Final[st.SearchStrategy[str]] = st.one_of(
    st.sampled_from(_PLAIN_NAMES),
    st.sampled_from(_PLAIN_NAMES),
    st.sampled_from(_ODD_NAMES),
    st.from_regex(BARE_NAME, fullmatch=True).filter(lambda name: not name.startswith(ops.RESERVED_PREFIX)),
    st.text(st.characters(), min_size=1, max_size=8).filter(_spellable),
).filter(lambda name: not name.startswith(ops.RESERVED_PREFIX))
"""Names a user may declare, bare and quoted."""

_WIDTHS: Final = ("SCALY_WIDTH_4_4_4_4", "SCALY_WIDTH_f_lanes_1", "SCALY_", "SCALY_ odd")

_FLOAT64_BITS: Final = (
    *(0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800FFFFFFFFFFFFF, 0x0010000000000000),
    *(0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000000),
    *(0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 0xFFF0000000000001, 0x3FB999999999999A, 0x4341C37937E08000),
    *(0x3FF0000000000000, 0x4000000000000000, 0x430FFFFFFFFFFFFF, 0x44B52D02C7E14AF6, 0x3E7AD7F29ABCAF48),
)
_FLOAT32_BITS: Final = (
    *(0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000),
    *(0xFFC00000, 0x7F800001, 0x7FFFFFFF, 0xFF800001, 0x3DCCCCCD, 0x3F800000, 0x4B800000, 0x5A0E1BCA, 0x3F800001),
)


def float_values(dtype: DType) -> st.SearchStrategy[float]:
    """Return a strategy for the values of a floating type: any bits, with a liking for the odd ones."""
    special = _FLOAT64_BITS if dtype is FLOAT64 else _FLOAT32_BITS
    bits = st.sampled_from(special) | st.integers(0, (1 << dtype.bits) - 1)
    small = st.integers(-4, 40).map(lambda value: value / 4)
    return bits.map(lambda value: float_from_bits(value, dtype)) | small


def int_values(dtype: DType) -> st.SearchStrategy[int]:
    """Return a strategy for the values of an integer type or bool."""
    allowed = int_range(dtype)
    if dtype is BOOL:
        return st.integers(0, 1)
    return st.integers(-3, 9) | st.sampled_from((allowed[0], allowed[-1])) | st.integers(allowed[0], allowed[-1])


_VALUES: Final = {dtype: float_values(dtype) if dtype.is_float else int_values(dtype) for dtype in DTYPES}

# --- attribute values of registered operators -------------------------------------------------------------------------

_NO_WORD: Final = frozenset({"True", "False", "None", "inf", "nan", "slice", *map(str, DTYPES)})

ATTR_KEYS: Final = st.sampled_from('k|a_b|a.b|kind|prog.add|to|True|a b|é||"|slice|a-b|inf|nan'.split("|"))
_ATOMS: Final[st.SearchStrategy[AttrValue]] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from((10**400, -(10**400))),
    float_values(FLOAT64),
    st.text(st.characters(), max_size=6).filter(_spellable),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True).filter(lambda word: word not in _NO_WORD).map(Word),
    st.sampled_from(DTYPES),
)
ATTR_VALUES: Final[st.SearchStrategy[AttrValue]] = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(ATTR_KEYS, inner, max_size=2),
        st.builds(slice, inner, inner, inner),
    ),
    max_leaves=5,
)
"""Attribute values of every kind, nested."""


def _registered(name: str, **attributes: Any) -> Op:
    if name in Op.list_op_names():
        return Op.get(name)
    op = Op.register(name)
    for key, value in attributes.items():
        op.set_attr(key, value)
    return op


_INFERRED: Final = _registered("test_ext.square", FInferType=lambda node: node.args[0].type)
_FIXED: Final = _registered("test_ext.unit", TFixedReturnType=FLOAT64)
_UNTYPED: Final = _registered("test_ext.deep.mix")

# --- procedures -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Buffer:
    """A buffer in scope: its declaration, the storage behind it, and whether it may be written."""

    node: Node
    root: str
    offset: int
    writable: bool

    @property
    def size(self) -> int:
        size = buffer_size(self.node)
        assert size is not None
        return size


@dataclass(frozen=True)
class _Loop:
    """A loop around the current place; `values` are those its variable takes, or None when nobody knows."""

    name: str
    values: range | None


@dataclass
class _Module:
    """The procedures so far, their names, and those that calls to procedures outside the file use."""

    bare: bool
    registered: bool
    procs: list[Node] = field(default_factory=list)
    inside: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)


_ELEMENTWISE: Final = [(name, row) for name, row in SCALAR_OPS.items() if row.typing == "arith"]


class _Procedure:
    """One procedure (or fragment) in the making: what is in scope, and a method for each construct."""

    def __init__(self, draw: st.DrawFn, module: _Module) -> None:
        self._draw = draw
        self._module = module
        self._names: set[str] = set()
        self._buffers: list[_Buffer] = []
        self._scalars: list[tuple[str, DType]] = []
        self._loops: list[_Loop] = []
        self._own = self._chosen(0, 0, 7, 64)
        """Elements of workspace the procedure itself may use."""
        self._used = 0
        self._needs: int | None = 0
        """What the callees so far need; None when one does not say."""

    # --- small draws --------------------------------------------------------------------------------------------------

    def _int(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def _maybe(self) -> bool:
        return self._draw(st.booleans())

    def _chosen(self, *choices: Any) -> Any:
        return self._draw(st.sampled_from(choices))

    def _name(self) -> str:
        name = self._draw(NAMES)
        while name in self._names:
            name += self._chosen("1", "'")
        return name

    def _shape(self, most: int | None = None) -> tuple[int, ...]:
        shapes = ((), (0,), (1,), (4,), (8,), (2, 3), (3, 1, 2), (2, 0), (15,), (40, 40), (1 << 31, 1 << 31))
        return self._chosen(*[shape for shape in shapes if most is None or math.prod(shape) <= most])  # type: ignore[no-any-return]

    def _dtype(self) -> DType:
        return self._chosen(FLOAT64, FLOAT64, FLOAT64, FLOAT32, INT64, INT32, BOOL)  # type: ignore[no-any-return]

    # --- procedures and declarations ----------------------------------------------------------------------------------

    def proc(self, name: str) -> Node:
        """Return a procedure called `name`."""
        count = self._int(0, 3)
        inputs = self._chosen(None, *range(count + 1))
        params = []
        for position in range(count):
            node = build.param(self._name(), self._shape(), self._dtype())
            self._bring(node, writable=inputs is None or position >= inputs)
            params.append(node)
        body = self.statements(depth=2, top=True)
        attrs: dict[str, AttrValue] = {} if inputs is None else {"input_count": inputs}
        if self._own or self._maybe():
            attrs["w_self"] = self._own
        if self._maybe():
            attrs["sz_w"] = self._own + (self._int(0, 99) if self._needs is None else self._needs)
        optional: dict[str, tuple[AttrValue, ...]] = {
            "device": (Word("host"),),
            "lowering": ops.LOWERING_HINTS,
            "scalarize_mode": ops.SCALARIZE_MODES,
            "scalarized": (True,),
            "hoisted_from": (self._draw(NAMES), ""),
            "in_place": (True,),
        }
        for key, values in optional.items():
            if self._int(0, 3) == 0:
                attrs[key] = self._chosen(*values)
        return build.proc(name, params, body, attrs)

    def _bring(self, node: Node, *, writable: bool, source: _Buffer | None = None) -> None:
        name = node.attrs["name"]
        root, offset = name, 0
        if source is not None:
            root, offset = source.root, source.offset + node.attrs["alias_offset"]
        self._names.add(name)
        self._buffers.append(_Buffer(node, root, offset, writable))

    def _declaration(self) -> Node:
        """Declare a buffer of any form."""
        form = self._chosen("plain", "alias", "alias", "table", "table", "workspace")
        name = self._name()
        if form == "alias" and self._buffers:
            source = self._chosen(*self._buffers)
            shape = self._shape(source.size)
            offset = self._int(0, source.size - math.prod(shape))
            node = build.alias(name, source.node, offset, shape, self._chosen("private", "private", "local"))
            self._bring(node, writable=source.writable, source=source)
            return node
        if form == "table":
            dtype, shape = self._dtype(), self._shape(8)
            values = [self._draw(_VALUES[dtype]) for _ in range(math.prod(shape))]
            node = build.table(name, values, dtype, shape)
            self._bring(node, writable=False)
            return node
        if form == "workspace" and self._used < self._own:
            shape = self._shape(self._own - self._used)
            node = build.workspace(name, shape, self._used)
            self._used += max(1, math.prod(shape))
        else:
            node = build.buffer(name, self._shape(), self._dtype(), self._chosen("private", "private", "local"))
        self._bring(node, writable=True)
        return node

    # --- statements ---------------------------------------------------------------------------------------------------

    def statements(self, depth: int, *, top: bool = False, least: int = 0) -> list[Node]:
        """Return a list of statements; what they declare goes out of scope behind it, except at the top."""
        names, scalars = set(self._names), len(self._scalars)
        made: list[Node] = []
        for _ in range(self._int(least, 5 if top else 3)):
            made.extend(self._statement(depth, top))
        if not top:
            self._names = names
            del self._scalars[scalars:]
        return made

    def _statement(self, depth: int, top: bool) -> list[Node]:
        kinds = ["store", "store", "pair", "declare", "assign", "call"]
        kinds += ["buffer"] * 4 * top + ["for", "for", "lanes"] * (depth > 0) + ["call"] * 4 * bool(self._module.procs)
        kind = self._chosen(*kinds)
        if kind == "for":
            return [self._for(depth)]
        if kind == "lanes":
            return [self._lanes(depth)]
        if kind == "buffer":
            return [self._declaration()]
        if kind == "call":
            return self._call(top)
        if kind == "assign" and self._scalars:
            name, dtype = self._chosen(*self._scalars)
            return [build.assign(name, self.scalar(dtype))]
        if kind in ("store", "pair"):
            wanted = [b for b in self._buffers if b.writable and (kind == "store" or b.node.type is FLOAT64)]
            if wanted:
                return [self._store(self._chosen(*wanted), pair=kind == "pair")]
        dtype = self._dtype()
        value, name = self.scalar(dtype), self._name()
        self._names.add(name)
        self._scalars.append((name, dtype))
        return [build.assign(name, value, declare=True)]

    def _store(self, buffer: _Buffer, *, pair: bool) -> Node:
        view = build.view(buffer.node, self.index(buffer.size - pair))
        if pair:
            return build.store_pair(view, self.scalar(FLOAT64), self.scalar(FLOAT64))
        return build.store(view, self.scalar(buffer.node.type))

    def _body(self, loop: _Loop, depth: int) -> list[Node]:
        self._names.add(loop.name)
        self._loops.append(loop)
        body = self.statements(depth - 1)
        self._loops.pop()
        self._names.discard(loop.name)
        return body

    def _for(self, depth: int) -> Node:
        kind = self._chosen("global", "reduce", "serial", "unroll")
        start: Node | int = self._int(-2, 4)
        stop: Node | int = self._int(-3, 12)
        step: Node | int = self._chosen(1, 1, 1, 2, 3, (1 << 63) - 1)
        if self._int(0, 3) == 0:
            start, stop = self.scalar(INT64), self.scalar(INT64)
        if self._int(0, 5) == 0:
            step = build.apply("maximum", self.scalar(INT64), build.index(1))
        domain = build.range_(self._name(), start, stop, step, kind)
        values = None
        if all([bound.op is ops.CONST_INT for bound in domain.args]):
            values = range(*[bound.attrs["value"] for bound in domain.args])
        return build.for_(domain, self._body(_Loop(domain.attrs["name"], values), depth))

    def _lanes(self, depth: int) -> Node:
        width = build.var(self._chosen(*_WIDTHS))
        stop = build.index(self._int(0, 64))
        outer = build.range_(self._name(), 0, stop, width, "serial")
        at = _Loop(outer.attrs["name"], None)
        self._names.add(at.name)
        self._loops.append(at)
        left = build.apply("minimum", width, build.apply("sub", stop, build.var(at.name)))
        inner = build.range_(self._name(), 0, left, 1, "vector")
        body = self._body(_Loop(inner.attrs["name"], None), depth)
        self._loops.pop()
        self._names.discard(at.name)
        return build.for_(outer, [build.for_(inner, body)])

    # --- calls --------------------------------------------------------------------------------------------------------

    def _call(self, top: bool) -> list[Node]:
        if self._module.bare and self._maybe():
            return [self._outside_call()]
        if not self._module.procs:
            return []
        callee = self._chosen(*self._module.procs)
        inputs = callee.attrs.get("input_count")
        declared: list[Node] = []
        arguments: list[Node] = []
        taken: list[tuple[str, int, int, bool]] = []
        for position, param in enumerate(build.params_of(callee)):
            argument = self._argument(
                param, taken, written=position >= (inputs or 0), declare=declared if top else None
            )
            if argument is None:
                return declared
            arguments.append(argument)
        attrs: dict[str, AttrValue] = {}
        if self._maybe():
            attrs["n_in"] = self._int(0, len(arguments)) if inputs is None else inputs
            attrs["n_out"] = len(arguments) - attrs["n_in"]
        needed = callee.attrs.get("sz_w")
        if self._maybe():
            attrs["w_self"] = self._own
            attrs["callee_needs_w"] = self._maybe() if needed is None else needed > 0
        self._needs = None if needed is None or self._needs is None else max(self._needs, needed)
        return [*declared, build.call(callee.attrs["name"], arguments, **attrs)]

    def _argument(
        self, param: Node, taken: list[tuple[str, int, int, bool]], *, written: bool, declare: list[Node] | None
    ) -> Node | None:
        """Return an argument for a parameter that overlaps no other one, or None when there is none."""
        needed = buffer_size(param)
        assert needed is not None
        fitting = [
            b for b in self._buffers if b.node.type is param.type and b.size >= needed and (b.writable or not written)
        ]
        if fitting:
            chosen = self._chosen(*fitting)
            form = self._chosen("whole", "place", "place", "somewhere")
            start = self._int(0, chosen.size - needed) if form == "place" else 0
            low = chosen.offset + start
            entry = (chosen.root, low, low + needed, written)
            if form == "somewhere" or not any([_clash(entry, other) for other in taken]):
                if form != "somewhere":
                    taken.append(entry)
                where = self._opaque() if form == "somewhere" else start
                return chosen.node if form == "whole" else build.view(chosen.node, where)
        if declare is None:
            return None
        node = build.buffer(self._name(), param.attrs["shape"], param.type)
        self._bring(node, writable=True)
        taken.append((node.attrs["name"], 0, needed, written))
        declare.append(node)
        return node

    def _outside_call(self) -> Node:
        """Call a procedure that another file defines; nothing is known of it."""
        name = self._draw(NAMES)
        while name in self._module.inside:
            name += "'"
        self._module.outside.add(name)
        self._needs = None
        buffers = [self._chosen(*self._buffers) for _ in range(self._int(0, 3))] if self._buffers else []
        return build.call(name, [b.node if self._maybe() else build.view(b.node, self.index(b.size)) for b in buffers])

    # --- scalars ------------------------------------------------------------------------------------------------------

    def scalar(self, dtype: DType, depth: int | None = None, *, constant: bool = False) -> Node:
        """Return a scalar of a type; with `constant`, one made of constants only."""
        if depth is None:
            depth = self._int(0, 3)
        constant = constant or self._int(0, 4) == 0
        if depth == 0:
            return self._leaf(dtype, constant)

        def inner(of: DType) -> Node:
            return self.scalar(of, depth - 1, constant=constant)

        kind = self._chosen("arith", "arith", "arith", "select", "cast", "registered")
        if kind == "registered" and self._module.registered:
            return self._application(dtype, inner)
        if kind == "select":
            return build.apply("select", inner(BOOL), inner(dtype), inner(dtype))
        if dtype is BOOL:
            return self._condition(inner)
        if kind == "cast":
            return build.cast(inner(self._dtype()), dtype)
        name, row = self._chosen(*[(name, row) for name, row in _ELEMENTWISE if dtype.kind in row.kinds.split()])
        return build.apply(name, *[inner(dtype) for _ in row.operands])

    def _condition(self, inner: Callable[[DType], Node]) -> Node:
        name = self._chosen("lt", "le", "eq", "ne", "lt", "ne", "and", "or", "not", "isfinite")
        if name == "isfinite":
            return build.apply(name, inner(self._chosen(FLOAT64, FLOAT32)))
        if name == "not":
            return build.apply(name, inner(BOOL))
        dtype = BOOL if name in ("and", "or") else self._dtype()
        return build.apply(name, inner(dtype), inner(dtype))

    def _application(self, dtype: DType, inner: Callable[[DType], Node]) -> Node:
        """Apply an operator that somebody registered."""
        attrs = self._draw(st.dictionaries(ATTR_KEYS, ATTR_VALUES, max_size=2))
        if self._maybe():
            return Node(_INFERRED, [inner(dtype)], attrs, dtype)
        operands = [inner(self._dtype()) for _ in range(self._int(0, 2))]
        return Node(_FIXED if dtype is FLOAT64 and self._maybe() else _UNTYPED, operands, attrs, dtype)

    def _leaf(self, dtype: DType, constant: bool) -> Node:
        scalars = [name for name, of in self._scalars if of is dtype]
        if dtype is INT64:
            scalars += [loop.name for loop in self._loops]
        buffers = [buffer for buffer in self._buffers if buffer.node.type is dtype]
        kind = self._chosen("const", "scalar", "scalar", "load", "load")
        if not constant and kind == "scalar" and scalars:
            return build.var(self._chosen(*scalars), dtype)
        if not constant and kind == "load" and buffers:
            buffer = self._chosen(*buffers)
            return build.load(build.view(buffer.node, self.index(buffer.size)))
        if not constant and dtype is INT64 and self._int(0, 4) == 0:
            return build.var(self._chosen(*_WIDTHS))
        return build.const(self._draw(_VALUES[dtype]), dtype)

    def index(self, size: int) -> Node:
        """Return an index of which nobody can say that it is outside ``[0, size)``."""
        kind = self._chosen("constant", "affine", "affine", "opaque", "free")
        certain = all([loop.values for loop in self._loops])
        if kind == "free" and not certain:
            return self.scalar(INT64, 1)
        if size > 0 and kind == "constant":
            value = self._chosen(0, size - 1, self._int(0, size - 1))
            return build.index(value) if self._maybe() else build.apply("add", build.index(value - 1), build.index(1))
        if size > 0 and kind == "affine" and self._loops:
            return self._affine(size)
        return self._opaque()

    def _affine(self, size: int) -> Node:
        """Return a sum of multiples of loop variables that stays inside ``[0, size)``."""
        low = high = 0
        terms = []
        for loop in [self._chosen(*self._loops) for _ in range(self._int(1, 2))]:
            factor = self._chosen(1, 1, -1, 2, 3)
            var = build.var(loop.name)
            values = loop.values or range(1)
            ends = (factor * values[0], factor * values[-1])
            low, high = low + min(ends), high + max(ends)
            if factor in (1, -1):
                terms.append(var if factor == 1 else build.apply("neg", var))
            else:
                terms.append(build.apply("mul", *self._draw(st.permutations([var, build.index(factor)]))))
        if high - low >= size:
            return self._opaque()
        total = terms[0] if len(terms) == 1 else build.apply("add", *terms)
        shift = self._int(-low, size - 1 - high)
        if shift < 0 and self._maybe():
            return build.apply("sub", total, build.index(-shift))
        return build.apply("add", *self._draw(st.permutations([total, build.index(shift)]))) if shift else total

    def _opaque(self) -> Node:
        """Return an index that is no affine form, so that no rule knows its value."""
        name = self._chosen("minimum", "maximum", "floormod", "mod", "select", "cast")
        if name == "select":
            return build.apply(name, self.scalar(BOOL, 0), self._small(), self._small())
        return (
            build.cast(self.scalar(INT32, 0), INT64)
            if name == "cast"
            else build.apply(name, self._small(), self._small())
        )

    def _small(self) -> Node:
        names = [loop.name for loop in self._loops] + [name for name, dtype in self._scalars if dtype is INT64]
        return build.var(self._chosen(*names)) if names and self._maybe() else build.index(self._int(-1, 9))


def _clash(one: tuple[str, int, int, bool], other: tuple[str, int, int, bool]) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2] and (one[3] or other[3])


# --- programs ---------------------------------------------------------------------------------------------------------


@st.composite
def programs(draw: st.DrawFn, *, registered: bool = False) -> Node:
    """Draw a module or bare procedures; `registered` adds operators that a third party registered."""
    module = _Module(bare=draw(st.integers(0, 3)) == 0, registered=registered)
    for _ in range(draw(st.integers(0, 3))):
        name = draw(NAMES)
        while name in module.inside | module.outside:
            name += "'"
        module.inside.add(name)
        module.procs.append(_Procedure(draw, module).proc(name))
    lanes = None if module.bare else draw(st.sampled_from((None, None, 1, 2, 4, 8)))
    root = build.program(module.procs, lanes=lanes, bare=module.bare)
    sc.verify(root)
    return root


@st.composite
def fragments(draw: st.DrawFn, *, registered: bool = False) -> Node:
    """Draw statements that stand in no procedure and declare what they use."""
    statements: Sequence[Node] = ()
    while not statements:
        module = _Module(bare=True, registered=registered)
        statements = _Procedure(draw, module).statements(depth=2, top=True, least=1)
    root = build.block(statements)
    sc.verify(root)
    return root
