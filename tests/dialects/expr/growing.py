"""Random graphs that simplification finds much to do in, with calls and loops, and numbers to evaluate them on.

Growing a graph applies a random row of a table to random operands; what the builders refuse is left out. Numbers are
small, so that what is computed is finite nearly always: what identities make of NaN and infinity is not defined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.graph import Node

Array = np.ndarray[Any, Any]
Draw = Callable[[Any], Any]

ROWS: Final[tuple[Callable[[Any, Any], Any], ...]] = (
    # arithmetic, and what the identities are about
    lambda x, y: x + y,
    lambda x, y: y + x,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: y * x,
    lambda x, y: x / y,
    lambda x, y: x // y,
    lambda x, y: x % y,
    lambda x, y: -x,
    lambda x, y: abs(x),
    lambda x, y: x + x,
    lambda x, y: x - x,
    lambda x, y: x / x,
    lambda x, y: x % x,
    lambda x, y: x // x,
    lambda x, y: x + -y,
    lambda x, y: x - -y,
    lambda x, y: -x * -y,
    lambda x, y: -x / y,
    lambda x, y: x + 0,
    lambda x, y: 0 - x,
    lambda x, y: x * 0,
    lambda x, y: x * 1,
    lambda x, y: -1 * x,
    lambda x, y: 0 / x,
    lambda x, y: x // 1,
    lambda x, y: x**2,
    lambda x, y: x**1,
    lambda x, y: x**0,
    lambda x, y: 1**x,
    lambda x, y: x + sc.zeros_like(y),
    lambda x, y: x * sc.ones_like(y),
    lambda x, y: sc.zeros_like(x),
    lambda x, y: x.tanh(),
    lambda x, y: sc.minimum(x, y),
    lambda x, y: sc.maximum(x, y),
    lambda x, y: sc.cast(x, "int64") if x.dtype == "bool" else sc.cast(x, "float64"),
    # choices
    lambda x, y: sc.less(x, y),
    lambda x, y: sc.equal(x, y),
    lambda x, y: x & y,
    lambda x, y: y | x,
    lambda x, y: ~x,
    lambda x, y: sc.where(sc.less(x, y), x, y),
    lambda x, y: sc.where(x.reshape(-1)[0] < 0, y, y),
    lambda x, y: sc.where(sc.const(np.True_), x, y),
    lambda x, y: sc.where(sc.less(x, x), x * 0, y - y),
    # structure
    lambda x, y: x.reshape(x.shape),
    lambda x, y: x.reshape(-1),
    lambda x, y: x.reshape((1, *x.shape)),
    lambda x, y: x.reshape(2, -1),
    lambda x, y: x.T,
    lambda x, y: x[:],
    lambda x, y: x[1:],
    lambda x, y: x[-1],
    lambda x, y: x[:, 1:],
    lambda x, y: x[:, 0],
    lambda x, y: x[::-1],
    lambda x, y: x.sum(0),
    lambda x, y: x.sum(),
    lambda x, y: x.max(-1),
    lambda x, y: sc.stack([x, y]),
    lambda x, y: sc.stack([x, y], axis=1)[1:],
    lambda x, y: sc.stack([x, y])[1],
    lambda x, y: sc.concat([x, y]),
    lambda x, y: x @ y,
    lambda x, y: x.T @ y,
    lambda x, y: x @ sc.ones_like(y[0]),
    lambda x, y: sc.gather(x, list(range(x.size))),
    lambda x, y: sc.gather(x, y),
    lambda x, y: sc.gather(sc.zeros_like(x), y, fill=1),
    lambda x, y: sc.index_add(x, list(range(y.size)), y),
    lambda x, y: sc.index_add(x, [0, 1], sc.zeros_like(x[:2])),
    lambda x, y: sc.index_set(x, [0, 0], y[:2]),
    # hints
    lambda x, y: (x + 0).block(),
    lambda x, y: (x * y).scalar(),
)

_SHAPES: Final[tuple[tuple[int, ...], ...]] = ((), (3,), (2, 3), (3, 3))
_MOST: Final = 60
"""The most entries that what grows may have."""
_NUMBERS: Final = {"float64": (1.0, 2.0, -1.0, 0.5, 3.0, -2.0), "int64": (0, 1, 2, -1, 3, -3), "bool": (True, False)}


class Grower:
    """Grows graphs and functions from what is drawn."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.functions: list[sc.Function] = []
        self.bodies = 0

    def any_of(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def leaves(self) -> list[Any]:
        kinds = st.tuples(st.sampled_from(["float64", "float64", "int64", "bool"]), st.sampled_from(_SHAPES))
        drawn = self.draw(st.lists(kinds, min_size=2, max_size=4))
        return [sc.sym(f"x{number}", shape, dtype=dtype) for number, (dtype, shape) in enumerate(drawn)]

    def grown(self, pool: list[Any], steps: int, rows: Sequence[Callable[[Any, Any], Any]]) -> list[Any]:
        """Add the results of some rows to a pool of values."""
        for _ in range(steps):
            try:
                made = self.any_of(rows)(self.any_of(pool), self.any_of(pool))
            except (TypeError, ValueError, IndexError):
                continue
            if made.size <= _MOST:
                pool.append(made)
        return pool

    def _call(self, x: Any, y: Any) -> Any:
        """Apply a function to `x` and `y` where they fit, else to constants."""
        function = self.any_of(self.functions)
        args = [
            next((each for each in (x, y) if each.type.but(diff=True) is formal.type), sc.const(self.numbers(formal)))
            for formal in function.inputs
        ]
        result = function(*args)
        return self.any_of(result) if isinstance(result, tuple) else result

    def _loop(self, x: Any, y: Any) -> Any:
        """Apply a body again and again, to a carry of the shape of `x` and three slices of `y`."""
        carry, part = sc.sym("c", x.shape, dtype=x.dtype), sc.sym("p", y[0].shape, dtype=y.dtype)
        step = sc.sym("k", dtype="int64")
        index = self.draw(st.booleans())
        inputs = [carry, *([step] if index else []), part]
        pool = self.grown(list(inputs), 4, ROWS)
        following = [each for each in pool if each.type.but(diff=True) is carry.type]
        body = sc.Function.from_exprs(f"body{self.bodies}", inputs, [following[-1], pool[-1]])
        self.bodies += 1
        length = self.any_of([0, 1, min(y.shape[0], 8)])
        reverse, slices = self.draw(st.booleans()), sc.window(y, 0, part.size)
        carries, ys = sc.scan(body, x, slices, length=length, index=index, reverse=reverse)
        return self.any_of([carries, ys])

    def function(self, name: str, steps: int) -> sc.Function:
        inputs = self.leaves()
        rows = (*ROWS, *[self._call] * (8 if self.functions else 0), *[self._loop] * 8)
        pool = self.grown(list(inputs), steps, rows)
        outputs = [pool[-1], *([self.any_of(pool)] if self.draw(st.booleans()) else [])]
        made = sc.Function.from_exprs(name, inputs, outputs)
        self.functions.append(made)
        return made

    def numbers(self, node: Any) -> Array:
        choices = _NUMBERS[str(node.dtype)]
        entries = self.draw(st.lists(st.sampled_from(choices), min_size=node.size, max_size=node.size))
        return np.array(entries, str(node.dtype)).reshape(node.shape)


@st.composite
def modules(draw: Draw, most: int = 3, steps: int = 16) -> tuple[Node, dict[str, Array]]:
    """A module of functions that call each other, and values for the inputs of the last one."""
    grower = Grower(draw)
    for number in range(draw(st.integers(1, most))):
        entry = grower.function(f"f{number}", steps)
    return make_module([each.node for each in grower.functions]), {str(x.name): grower.numbers(x) for x in entry.inputs}
