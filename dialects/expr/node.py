"""`Expr`: the nodes of tensor type as users see them, with Python's operators and the methods of arrays.

Every method is one line that hands over to a builder; what it makes and refuses is described there. Source: expression
specification 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from scaly_ir.attributes import Attrs
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.names import ExprOp
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType

if TYPE_CHECKING:
    from numpy import ndarray


class Expr(Node):
    """A value: one operation of a graph of tensors.

    The constructor checks nothing and takes the type that it is given; the builders check. Fields: `op`, `args`,
    `type` (a `TensorType`), `attrs`, `name` (of an input), `value` (of a constant) and the hint `lowering`.
    """

    __slots__ = ()

    args: tuple[Expr, ...]  # operands of tensor operations are tensors
    type: TensorType

    def __new__(
        cls,
        op: Any,
        args: Sequence[Node] = (),
        type: TensorType | None = None,
        name: str | None = None,
        value: Any = None,
        attrs: Mapping[str, Any] | None = None,
        lowering: str = "auto",
    ) -> Expr:
        """Return the one node with these fields."""
        given = dict(attrs or {})
        if name is not None:
            given["name"] = name
        if value is not None:
            given["value"] = value if isinstance(value, Table) else _as_table(value, type)
        if lowering != "auto":
            given["lowering"] = lowering
        operator = op if isinstance(op, Op) else Op.get(f"expr.{op}")
        return intern_node(operator, tuple(args), Attrs(given), type)  # type: ignore[return-value]

    # --- fields -------------------------------------------------------------------------------------------------------

    @property
    def name(self) -> str | None:
        """The name of an input; None for any other node."""
        found: str | None = self.attrs.get("name") if self.op is ops.INPUT else None
        return found

    @property
    def value(self) -> ndarray[Any, Any] | None:
        """The array of a constant, read-only; None for any other node."""
        table = self.attrs.get("value") if self.op is ops.CONST else None
        return table.array if isinstance(table, Table) else None

    @property
    def lowering(self) -> str:
        """The hint for lowering: ``auto``, ``scalar`` or ``block``."""
        hint: str = self.attrs.get("lowering", "auto")
        return hint

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        shape: tuple[int, ...] = self.type.shape
        return shape

    @property
    def size(self) -> int:
        """The number of entries."""
        size: int = self.type.size
        return size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def diff(self) -> bool:
        """Whether the value can carry a derivative."""
        diff: bool = self.type.diff
        return diff

    # --- operators ----------------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Expr:
        return build.binary("add", self, other)

    def __radd__(self, other: Any) -> Expr:
        return build.binary("add", other, self)

    def __sub__(self, other: Any) -> Expr:
        return build.binary("sub", self, other)

    def __rsub__(self, other: Any) -> Expr:
        return build.binary("sub", other, self)

    def __mul__(self, other: Any) -> Expr:
        return build.binary("mul", self, other)

    def __rmul__(self, other: Any) -> Expr:
        return build.binary("mul", other, self)

    def __truediv__(self, other: Any) -> Expr:
        return build.binary("div", self, other)

    def __rtruediv__(self, other: Any) -> Expr:
        return build.binary("div", other, self)

    def __floordiv__(self, other: Any) -> Expr:
        return build.binary("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return build.binary("floordiv", other, self)

    def __mod__(self, other: Any) -> Expr:
        return build.binary("mod", self, other)

    def __rmod__(self, other: Any) -> Expr:
        return build.binary("mod", other, self)

    def __pow__(self, other: Any) -> Expr:
        return build.power(self, other)

    def __rpow__(self, other: Any) -> Expr:
        return build.power(other, self)

    def __matmul__(self, other: Any) -> Expr:
        return build.matmul(self, other)

    def __rmatmul__(self, other: Any) -> Expr:
        return build.matmul(other, self)

    def __neg__(self) -> Expr:
        return build.unary("neg", self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return build.unary("abs", self)

    def __lt__(self, other: Any) -> Expr:
        return build.binary("lt", self, other)

    def __le__(self, other: Any) -> Expr:
        return build.binary("le", self, other)

    def __gt__(self, other: Any) -> Expr:
        return build.binary("lt", other, self)

    def __ge__(self, other: Any) -> Expr:
        return build.binary("le", other, self)

    def __and__(self, other: Any) -> Expr:
        return build.binary("and", self, other)

    def __rand__(self, other: Any) -> Expr:
        return build.binary("and", other, self)

    def __or__(self, other: Any) -> Expr:
        return build.binary("or", self, other)

    def __ror__(self, other: Any) -> Expr:
        return build.binary("or", other, self)

    def __invert__(self) -> Expr:
        return build.unary("not", self)

    def __bool__(self) -> NoReturn:
        raise TypeError("an expression has no truth value: its numbers are not known yet; choose with sc.where")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Expr]:
        if not self.shape:
            raise TypeError("a scalar cannot be iterated over")
        return iter([self[position] for position in range(self.shape[0])])

    def __getitem__(self, index: Any) -> Expr:
        return build.slice_(self, index)

    # --- methods ------------------------------------------------------------------------------------------------------

    @property
    def T(self) -> Expr:  # noqa: N802 - as NumPy calls it
        """The axes in reverse order."""
        return build.transpose(self, ())

    def reshape(self, *shape: Any) -> Expr:
        """Return the same entries in another shape, given as ints or one sequence; one -1 is worked out."""
        return build.reshape(self, shape[0] if len(shape) == 1 else shape)

    def vec(self) -> Expr:
        """Return the entries along one axis."""
        return build.reshape(self, (self.size,))

    def transpose(self, *axes: Any) -> Expr:
        """Return the axes in another order, reversed when none is given."""
        return build.transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Expr:
        """Return the sum over an axis, several, or all."""
        return build.reduce(self, "add", axis, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Expr:
        """Return the greatest entry over an axis, several, or all; NaN where one is."""
        return build.reduce(self, "max", axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Expr:
        """Return the least entry over an axis, several, or all; NaN where one is."""
        return build.reduce(self, "min", axis, keepdims=keepdims)

    def mean(self, axis: Any = None, keepdims: bool = False) -> Expr:
        """Return the mean over an axis, several, or all."""
        return library.mean(self, axis, keepdims)

    def astype(self, dtype: Any) -> Expr:
        """Return the value converted to another dtype; the same as `cast`."""
        return build.cast(self, dtype)

    def cast(self, dtype: Any) -> Expr:
        """Return the value converted to another dtype; itself when it has it."""
        return build.cast(self, dtype)

    def sin(self) -> Expr:
        """Return the sine."""
        return build.unary("sin", self)

    def cos(self) -> Expr:
        """Return the cosine."""
        return build.unary("cos", self)

    def tan(self) -> Expr:
        """Return the tangent."""
        return build.unary("tan", self)

    def asin(self) -> Expr:
        """Return the arc sine."""
        return build.unary("asin", self)

    def acos(self) -> Expr:
        """Return the arc cosine."""
        return build.unary("acos", self)

    def atan(self) -> Expr:
        """Return the arc tangent."""
        return build.unary("atan", self)

    def sinh(self) -> Expr:
        """Return the hyperbolic sine."""
        return build.unary("sinh", self)

    def cosh(self) -> Expr:
        """Return the hyperbolic cosine."""
        return build.unary("cosh", self)

    def tanh(self) -> Expr:
        """Return the hyperbolic tangent."""
        return build.unary("tanh", self)

    def erf(self) -> Expr:
        """Return the error function."""
        return build.unary("erf", self)

    def exp(self) -> Expr:
        """Return the exponential."""
        return build.unary("exp", self)

    def log(self) -> Expr:
        """Return the natural logarithm."""
        return build.unary("log", self)

    def sqrt(self) -> Expr:
        """Return the square root."""
        return build.unary("sqrt", self)

    def abs(self) -> Expr:
        """Return the magnitude."""
        return build.unary("abs", self)

    def floor(self) -> Expr:
        """Return the value rounded down."""
        return build.unary("floor", self)

    def ceil(self) -> Expr:
        """Return the value rounded up."""
        return build.unary("ceil", self)

    def isfinite(self) -> Expr:
        """Return where entries are neither infinite nor NaN."""
        return build.unary("isfinite", self)

    def minimum(self, other: Any) -> Expr:
        """Return the lesser of two values; of a NaN and a number, the number."""
        return build.binary("minimum", self, other)

    def maximum(self, other: Any) -> Expr:
        """Return the greater of two values; of a NaN and a number, the number."""
        return build.binary("maximum", self, other)

    def gather(self, idx: Any, *, axis: int | None = None, mode: str | None = None, fill: Any = 0) -> Expr:
        """Return entries at positions of the flat array, or along an axis."""
        return build.gather(self, idx, axis=axis, mode=mode, fill=fill)

    def dot(self, other: Any) -> Expr:
        """Return the sum of the products of entries."""
        return library.dot(self, other)

    def scalar(self) -> Expr:
        """Return this value with the hint that lowering should expand it into scalars."""
        return build.hinted(self, "scalar")

    def block(self) -> Expr:
        """Return this value with the hint that lowering should keep it in loops."""
        return build.hinted(self, "block")

    def __repr__(self) -> str:
        label = "" if self.name is None else f" {self.name}"
        return f"<{self.op.name}{label} : {self.type}>"


def _as_table(value: Any, type_: TensorType | None) -> Table:
    import numpy

    array = numpy.asarray(value)
    return Table.from_array(array if type_ is None else array.astype(str(type_.dtype)))


TensorType.node_class = Expr

from scaly_ir.dialects.expr import build, library  # noqa: E402 - they build nodes of this class

__all__ = ["Expr", "ExprOp"]
