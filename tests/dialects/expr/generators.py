"""Random `expr` programs that are valid by construction: `roots` draws modules, bare functions, regions and fragments.

Everything that text can hold occurs: every operation, all dtypes, zero extents, numbers at the ends of their ranges,
NaNs with payloads, signed zeros, hints, sparse types, names that need quotes, unused inputs, functions that call others
and, outside of modules, functions that nobody knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from scaly_ir.attributes import NO_ATTRS, Attrs
from scaly_ir.dialects.expr import build, library, ops
from scaly_ir.dialects.expr.functions import inputs_of, make_function, make_module, outputs_of
from scaly_ir.dialects.expr.ingest import make_const
from scaly_ir.dialects.expr.node import Expr, ExprOp
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.spelling import float_from_bits, round_float
from scaly_ir.types import BOOL, DTYPES, FLOAT32, FLOAT64, INT64, DType, int_range

NAMES: Final = (
    *"x y out t0 in True None nan inf slice splat sparse tensor expr float64 a.b a-b a$ _".split(),
    *r'a b| |"|\|0|%x|@f|//|{|} : |é|名|1x|-|fwd:x|x\n|, |(|=|expr.add(|tensor<3xbool>'.split("|"),
    *"\U0001f642|\ud800|\n|\t|\r|\0|\x7f|\u2028|\ufeff".split("|"),
)
"""Names a user may give, bare and quoted."""

_BITS64: Final = (
    *(0x0, 0x8000000000000000, 0x1, 0x800FFFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000),
    *(0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF, 0x7FF8000000000001),
    *(0x3FB999999999999A, 0x3FF0000000000000, 0x44B52D02C7E14AF6, 0x430FFFFFFFFFFFFF),
)
_BITS32: Final = (
    *(0x0, 0x80000000, 0x1, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FC00001),
    *(0x3DCCCCCD, 0x3F800000, 0x00800000, 0x4B7FFFFF),
)
_EXTENTS: Final = (0, 1, 1, 2, 2, 3, 4)

_ELEMENTWISE: Final = tuple(
    [op for op in ExprOp if op not in ("cast", "select") and f"expr.{op}" in ops.OPERATORS]  # the rest need more care
)


def number(random: Random, dtype: DType) -> float:
    """Return a number of a dtype, often one at the end of its range."""
    if dtype is BOOL:
        return random.random() < 0.5
    if dtype.is_int:
        values = int_range(dtype)
        return random.choice((0, 1, -1, 7, values[0], values[-1], random.randint(values[0], values[-1])))
    if random.random() < 0.5:
        return float_from_bits(random.choice(_BITS64 if dtype is FLOAT64 else _BITS32), dtype)
    return round_float(random.choice((1.0, 2.5, -3.0, random.uniform(-10, 10), 10.0 ** random.randint(-30, 30))), dtype)


def table(random: Random, dtype: DType, shape: tuple[int, ...]) -> Table:
    """Return a table of random numbers."""
    return Table.of([number(random, dtype) for _ in range(math.prod(shape))], dtype, shape)


class Graphs:
    """Makes operations on what was made before; one object for each function."""

    def __init__(self, random: Random, functions: list[Node], *, known: bool = True, declared: bool = True) -> None:
        self.random = random
        self.functions = functions
        self.known = known
        """Whether every function that is called is known."""
        self.inputs: dict[str, Expr] = {}
        self.made: list[Expr] = []
        self._declared = declared

    # --- leaves -------------------------------------------------------------------------------------------------------

    def shape(self, most: int = 3) -> tuple[int, ...]:
        return tuple(self.random.choices(_EXTENTS, k=self.random.randint(0, most)))

    def dtype(self) -> DType:
        return self.random.choice(DTYPES)

    def type(self) -> TensorType:
        return TensorType(self.shape(), self.dtype(), self.random.random() < 0.7)

    def leaf(self, type_: TensorType) -> Expr:
        """Return an input or a constant of a type, but for `diff`."""
        if type_.pattern is None and self.random.random() < 0.4:
            return self.hinted(make_const(table(self.random, type_.dtype, type_.shape)))
        name = self.random.choice(NAMES)
        while name in self.inputs:
            name += self.random.choice("ab01 ")
        made = build.make(ops.INPUT, (), Attrs({"name": name}), type_)
        self.inputs[name] = made = self.hinted(made)
        return made

    def hinted(self, node: Expr) -> Expr:
        return build.hinted(node, self.random.choice(ops.HINTS)) if self.random.random() < 0.05 else node

    def like(self, type_: TensorType) -> Expr:
        """Return an operand of a shape, dtype and pattern."""
        wanted = (type_.shape, type_.dtype, type_.pattern)
        fitting = [n for n in self.made if (n.type.shape, n.type.dtype, n.type.pattern) == wanted]
        return self.random.choice(fitting) if fitting and self.random.random() < 0.8 else self.leaf(type_)

    def any(self) -> Expr:
        return self.random.choice(self.made) if self.made and self.random.random() < 0.8 else self.leaf(self.type())

    # --- operations ---------------------------------------------------------------------------------------------------

    def grow(self, count: int) -> None:
        """Make up to `count` operations; what is no operation on the operands drawn is left out."""
        for _ in range(count):
            try:
                made = self.random.choice(_MAKERS)(self)
            except (TypeError, ValueError, IndexError, OverflowError):
                continue
            if made.op in (ops.CALL, ops.INPUT):  # a call has no hint, and an input is declared as it is
                self.made.append(made)
                continue
            made = self.hinted(made)
            if made.type.diff and self.random.random() < 0.05:
                made = made.replace(type=made.type.but(diff=False))  # type: ignore[assignment]
            self.made.append(made)

    def elementwise(self) -> Expr:
        op = Op.get(f"expr.{self.random.choice(_ELEMENTWISE)}")
        first = self.any()
        count = len(op.args_info)
        rest = [self.like(first.type.but(shape=self.random.choice((first.shape, first.shape[1:])), pattern=None))]
        return build.make(op, [first, *rest][:count])

    def select(self) -> Expr:
        first = self.any()
        condition = self.like(TensorType(self.random.choice((first.shape, ())), BOOL))
        return build.make(Op.get("expr.select"), [condition, first, self.like(first.type)])

    def cast(self) -> Expr:
        return build.cast(self.any(), self.dtype())

    def reduce(self) -> Expr:
        x = self.any()
        axes = [axis for axis in range(x.ndim) if self.random.random() < 0.5]
        return build.reduce(x, self.random.choice(ops.REDUCTIONS), axes)

    def reshape(self) -> Expr:
        x = self.any()
        return build.reshape(x, self.random.choice(([-1], x.shape[::-1], [*x.shape, 1], [1, -1])))

    def transpose(self) -> Expr:
        x = self.any()
        return build.transpose(x, self.random.sample(range(x.ndim), x.ndim))

    def slice(self) -> Expr:
        x = self.any()
        return build.slice_(x, tuple([self._index_item(extent) for extent in x.shape]))

    def _index_item(self, extent: int) -> Any:
        if extent and self.random.random() < 0.4:
            return self.random.randrange(-extent, extent)
        bounds = (None, 0, 1, -1, 2, -extent, 100)
        return slice(self.random.choice(bounds), self.random.choice(bounds), self.random.choice((None, 1, 2, -1, -3)))

    def _index(self, extent: int, shape: tuple[int, ...]) -> Expr:
        if extent and self.random.random() < 0.5:
            numbers = [self.random.randrange(extent) for _ in range(math.prod(shape))]
            return make_const(Table.of(numbers, INT64, shape))
        return self.like(TensorType(shape, INT64))

    def _axis(self, x: Expr) -> int | None:
        axis: int | None = self.random.choice((None, *range(x.ndim)))
        return axis

    def gather(self) -> Expr:
        x = self.any()
        axis = self._axis(x)
        index = self._index(x.size if axis is None else x.shape[axis], self.shape(2))
        mode = self.random.choice((None, "fill"))
        return build.gather(x, index, axis=axis, mode=mode, fill=number(self.random, x.type.dtype))

    def scatter(self) -> Expr:
        base = self.any()
        axis = self._axis(base)
        index = self._index(base.size if axis is None else base.shape[axis], self.shape(1))
        shape = index.shape if axis is None else (*base.shape[:axis], *index.shape, *base.shape[axis + 1 :])
        values = self.like(base.type.but(shape=shape, pattern=None))
        return self.random.choice((build.index_add, build.index_set))(base, index, values, axis=axis)

    def stack(self) -> Expr:
        x = self.any()
        parts = [x, *[self.like(x.type) for _ in range(self.random.randrange(3))]]
        return build.stack(parts, axis=self.random.randrange(x.ndim + 1))

    def concat(self) -> Expr:
        x = self.any()
        axis = self.random.randrange(x.ndim)
        shape = (*x.shape[:axis], self.random.choice(_EXTENTS), *x.shape[axis + 1 :])
        return build.concat([x, self.like(x.type.but(shape=shape, pattern=None)), x], axis=axis)

    def matmul(self) -> Expr:
        x = self.any()
        shape = self.random.choice(((x.shape[-1],), (x.shape[-1], self.random.choice(_EXTENTS))))
        return build.matmul(x, self.like(x.type.but(shape=shape, pattern=None)))

    def sparse(self) -> Expr:
        rows, columns = self.random.choice(((2, 3), (4, 5), (1, 1), (0, 2)))
        every = [(row, column) for row in range(rows) for column in range(columns)]
        chosen = every if self.random.random() < 0.5 else self.random.sample(every, len(every) // 2)
        pattern = SparsityPattern((rows, columns), [row for row, _ in chosen], [column for _, column in chosen])
        if self.random.random() < 0.5:
            return library.pack(self.like(TensorType((pattern.nnz,), FLOAT64)), pattern)
        batch = self.random.choice(((), (2,)))
        return self.leaf(TensorType((*batch, rows, columns), self.random.choice((FLOAT32, FLOAT64)), True, pattern))

    # --- calls --------------------------------------------------------------------------------------------------------

    def call(self) -> Expr:
        if not self.known and self.random.random() < 0.5:
            operands = [self.any() for _ in range(self.random.randrange(3))]
            attrs = {"callee": f"nobody knows {self.random.choice(NAMES)}", "output": self.random.randrange(3)}
            return Expr(ops.CALL, operands, self.type(), attrs=attrs)
        callee = self.random.choice(self.functions)
        operands = [self.like(formal.type) for formal in inputs_of(callee)]
        output = self.random.randrange(len(outputs_of(callee)))
        return build.make(ops.CALL, operands, {"callee": callee, "output": output})

    def loop(self) -> Expr:
        length = self.random.randrange(4)
        carries = self.random.randrange(3)
        index, conditional = self.random.random() < 0.5, carries > 0 and self.random.random() < 0.4
        body = self._body(carries, index)
        windows = inputs_of(body)[carries + index :]
        strides = [self.random.choice((0, formal.type.size)) for formal in windows]
        starts = [self.random.randrange(3) for _ in windows]
        outers = [
            self.like(TensorType((start + stride * length + formal.type.size,), formal.type.dtype))
            for formal, start, stride in zip(windows, starts, strides, strict=True)
        ]
        trip = [self.like(TensorType((), INT64))] if self.random.random() < 0.3 else []
        shared = [formal for formal, stride in zip(windows, strides, strict=True) if stride == 0]
        condition = self._condition([*inputs_of(body)[:carries], *shared]) if conditional else None
        attrs: dict[str, Any] = {"callee": body, "cond": condition, "n_carry": carries, "length": length}
        attrs.update(starts=starts, strides=strides, index=index)
        attrs["reverse"] = not conditional and self.random.random() < 0.5
        attrs["in_place"] = [place for place in range(carries) if self.random.random() < 0.3]
        attrs["output"] = self.random.randrange(carries + 1 + len(outputs_of(body)))
        inits = [self.like(formal.type) for formal in inputs_of(body)[:carries]]
        return build.make(ops.LOOP, [*inits, *outers, *trip], attrs)

    def _body(self, carries: int, index: bool) -> Node:
        carried = [build.sym(f"c{at}", self.random.choice(((), (2,)))) for at in range(carries)]
        step = [build.sym("k", dtype="int64")] if index else []
        rest = [build.sym(f"x{at}", self.random.choice(((), (2,), (1, 3)))) for at in range(self.random.randrange(3))]
        following = [build.binary("mul", c, build.binary("add", c, 0.5)) for c in carried]
        stacked = [build.unary("sin", x) for x in rest] + [build.cast(k, "float32") for k in step]
        results = [*following, *stacked] or [build.const(self.random.random())]
        return self._add("body", [*carried, *step, *rest], results)

    def _condition(self, formals: list[Node]) -> Node:
        result = build.binary("lt", build.reduce(formals[0], "add"), 1.5)
        return self._add("go", formals, [result])

    def _add(self, name: str, inputs: list[Any], results: list[Any]) -> Node:
        names = [f"out{at}" for at in range(len(results))]
        taken = {function.attrs["name"] for function in self.functions}
        while name in taken:
            name += self.random.choice("01 :")
        function = make_function(name, inputs, results, names)
        self.functions.append(function)
        return function

    # --- what holds them ----------------------------------------------------------------------------------------------

    def results(self) -> list[Expr]:
        """Return some of what was made last."""
        last = self.made[-3:] or [self.leaf(self.type())]
        return self.random.sample(last, self.random.randint(1, len(last)))

    def function(self) -> Node:
        """Return a function with what was made, which is listed from now on."""
        results = self.results()
        inputs = list(self.inputs.values())
        if self.random.random() < 0.3:
            inputs.append(build.sym("not used", 2))
        used = [node for node in inputs if "lowering" not in node.attrs or node in _reached(results)]
        self.random.shuffle(used)
        names = self.random.sample(NAMES, len(results))
        taken = {function.attrs["name"] for function in self.functions}
        name = self.random.choice(NAMES)
        while name in taken:
            name += self.random.choice("fg01")
        function = make_function(name, used, results, names)
        self.functions.append(function)
        return function


def _reached(results: list[Expr]) -> set[Node]:
    from scaly_ir.graph import postorder

    return set(postorder(*results))


_MAKERS: Final[tuple[Callable[[Graphs], Expr], ...]] = (
    *([Graphs.elementwise] * 6),
    *(Graphs.select, Graphs.cast, Graphs.reduce, Graphs.reshape, Graphs.transpose, Graphs.slice, Graphs.gather),
    *(Graphs.scatter, Graphs.stack, Graphs.concat, Graphs.matmul, Graphs.sparse, Graphs.call, Graphs.loop),
)


def random_module(random: Random, *, bare: bool = False) -> Node:
    """Return a module of functions, or bare functions, which may call what is not known."""
    functions: list[Node] = []
    for _ in range(random.randint(1, 3)):
        graphs = Graphs(random, functions, known=not bare)
        graphs.grow(random.randint(0, 12))
        graphs.function()
    return make_module(functions, bare=bare)


def random_fragment(random: Random, *, name: str | None = None) -> Node:
    """Return results on their own, or with a name; they call only what is not known."""
    graphs = Graphs(random, [], known=False)
    while not graphs.made:
        graphs.grow(random.randint(1, 12))
    results = tuple([result for result in graphs.results() if not _has_functions(result)]) or (
        graphs.leaf(graphs.type()),
    )
    if name is None:
        return intern_node(ops.RETURN, results, NO_ATTRS, None)
    return intern_node(ops.REGION, results, Attrs({"name": name}), None)


def _has_functions(result: Expr) -> bool:
    return any([isinstance(value, Node) for node in _reached([result]) for value in node.attrs.values()])


def random_root(seed: int) -> Node:
    """Return a module, bare functions, a region or a fragment; the same one for the same seed."""
    random = Random(seed)
    form = random.randrange(6)
    if form < 4:
        return random_module(random, bare=form == 3)
    return random_fragment(random, name=random.choice(NAMES) if form == 4 else None)


def roots() -> st.SearchStrategy[Node]:
    """Random roots of every form."""
    return st.integers(0, 1 << 32).map(random_root)
