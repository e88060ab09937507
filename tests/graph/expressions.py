"""Integer expressions of `prog` for tests of the graph core: builders, random graphs, exact values, sound rules.

Values are unbounded: a rule that is sound here is sound for integers without overflow, which is all these tests need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hypothesis import strategies as st

from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.vocabulary import patterns
from scaly_ir.graph.walk import topovisit
from scaly_ir.op import Op
from scaly_ir.types import INT64

ADD: Final = Op.get("prog.add")
SUB: Final = Op.get("prog.sub")
MUL: Final = Op.get("prog.mul")
NEG: Final = Op.get("prog.neg")
LT: Final = Op.get("prog.lt")
SELECT: Final = Op.get("prog.select")
VAR: Final = Op.get("prog.var")
CONST: Final = Op.get("prog.const_int")
BLOCK: Final = Op.get("prog.block")

CALL: Final = Op.register("test_graph.call", "A call: the body, then arguments.")
CALL.set_attr("TCallBody", True)

var = build.var
int_ = build.index


def add(x: Node, y: Node) -> Node:
    return build.apply("add", x, y)


def sub(x: Node, y: Node) -> Node:
    return build.apply("sub", x, y)


def mul(x: Node, y: Node) -> Node:
    return build.apply("mul", x, y)


def neg(x: Node) -> Node:
    return build.apply("neg", x)


def lt(x: Node, y: Node) -> Node:
    return build.apply("lt", x, y)


def select(c: Node, x: Node, y: Node) -> Node:
    return build.apply("select", c, x, y)


def block(*args: Node) -> Node:
    """Make a node that takes any number of operands."""
    return intern_node(BLOCK, args, NO_ATTRS, None)


def call(body: Node, *args: Node) -> Node:
    return intern_node(CALL, (body, *args), NO_ATTRS, INT64)


def value(node: Node) -> Any:
    """Return the value of a constant."""
    return node.attrs["value"]


NAMES: Final = ("a", "b", "c")
_VALUES: Final[dict[Op, Callable[..., Any]]] = {
    ADD: lambda x, y: x + y,
    SUB: lambda x, y: x - y,
    MUL: lambda x, y: x * y,
    NEG: lambda x: -x,
    LT: lambda x, y: x < y,
    SELECT: lambda c, x, y: x if c else y,
}


def evaluate(root: Node, env: Mapping[str, int]) -> Any:
    """Return the exact value of an expression."""
    values: dict[Node, Any] = {}

    def of(node: Node) -> Any:
        if node.op is CONST:
            return value(node)
        if node.op is VAR:
            return env[node.attrs["name"]]
        return _VALUES[node.op](*[values[operand] for operand in node.args])

    return topovisit(root, of, values)


ENVIRONMENTS: Final = st.fixed_dictionaries({name: st.integers(-9, 9) for name in NAMES})


@st.composite
def graphs(draw: st.DrawFn, max_size: int = 25) -> Node:
    """Draw an expression whose parts are shared: each operation takes any of those before it as operands."""
    nodes = [var(name) for name in NAMES] + [int_(draw(st.integers(-2, 2))) for _ in range(3)]
    conditions: list[Node] = []
    for _ in range(draw(st.integers(0, max_size))):
        kind = draw(st.sampled_from(("add", "sub", "mul", "neg", "lt", "select")))
        x, y = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
        if kind == "lt":
            conditions.append(lt(x, y))
        elif kind == "select":
            if conditions:
                nodes.append(select(draw(st.sampled_from(conditions)), x, y))
        else:
            nodes.append(neg(x) if kind == "neg" else build.apply(kind, x, y))
    # Values grow with each product of products; the depth of the last ones is what makes a graph interesting.
    return nodes[-1]


P: Final = patterns("prog")
_x, _y, _z = P.var("x"), P.var("y"), P.var("z")
_c, _d = P.const(name="c"), P.const(name="d")

IDENTITIES: Final = PatternMatcher(
    [
        (_x + 0, lambda x: x),
        (_x * 1, lambda x: x),
        (_x * 0, lambda: int_(0)),
        (_x - 0, lambda x: x),
        (_x - _x, lambda: int_(0)),
        (P.neg(-_x), lambda x: x),
        (_x + -_y, lambda x, y: sub(x, y)),
        (P.select(_z, _x, _x), lambda x: x),
        (P.select(P.lt(_x, _x), _y, _z), lambda z: z),
    ]
)

FOLDING: Final = PatternMatcher(
    [
        (_c + _d, lambda c, d: int_(value(c) + value(d))),
        (_c * _d, lambda c, d: int_(value(c) * value(d))),
        (_c - _d, lambda c, d: int_(value(c) - value(d))),
        (-_c, lambda c: int_(-value(c))),
        ((_x + _c) + _d, lambda x, c, d: add(x, int_(value(c) + value(d)))),
        ((_x * _c) * _d, lambda x, c, d: mul(x, int_(value(c) * value(d)))),
        ((_x + _c) * _d, lambda x, c, d: add(mul(x, d), int_(value(c) * value(d)))),
    ]
)

SIMPLIFY: Final = IDENTITIES + FOLDING


def chain(length: int, *amounts: int) -> Node:
    """Return ``x + c + c + ...``, each sum on the one before, with the constants `amounts` in turn."""
    constants = [int_(amount) for amount in amounts]
    node = var("x")
    for at in range(length):
        node = intern_node(ADD, (node, constants[at % len(constants)]), NO_ATTRS, INT64)
    return node
