"""The patterns of one dialect, written like algebra.

    P = patterns("prog")
    x, y, c = P.var("x"), P.var("y"), P.const(name="c")
    RULES = PatternMatcher([(x + 0, lambda x: x), (P.select(c, x, x), lambda x: x)])

``P.add(x, y)`` and ``x + y`` are the same pattern: the operator ``prog.add`` on two operands, in any order because the
operator is commutative. A number stands for a constant that equals it, an int for floats as well; of an array, all
entries must. Patterns of one order alone are written with `in_order`, those of operators whose names a vocabulary takes
(`var`, `const`, `any`) with `Pattern` or `op`. Source of the rules: graph specification A5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from scaly_ir.graph.pattern import ANY, Pattern, is_constant
from scaly_ir.op import Op


class Term(Pattern):
    """A pattern of one dialect: Python's operators on it make patterns of that dialect's operators.

    They are those that share the meaning of `prim.add` and so on; ``//`` and ``%`` are `floordiv` and `floormod`, as
    they are for Python's numbers.
    """

    __slots__ = ("vocabulary",)

    vocabulary: Vocabulary

    def __init__(self, vocabulary: Vocabulary, op: Any = None, **fields: Any) -> None:
        object.__setattr__(self, "vocabulary", vocabulary)
        super().__init__(op, **fields)

    def __add__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("add", self, other)

    def __radd__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("add", other, self)

    def __sub__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("sub", self, other)

    def __rsub__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("sub", other, self)

    def __mul__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("mul", self, other)

    def __rmul__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("mul", other, self)

    def __truediv__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("div", self, other)

    def __rtruediv__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("div", other, self)

    def __floordiv__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("floordiv", other, self)

    def __mod__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("floormod", self, other)

    def __rmod__(self, other: Operand) -> Term:
        return self.vocabulary.scalar("floormod", other, self)

    def __neg__(self) -> Term:
        return self.vocabulary.scalar("neg", self)


Operand = Pattern | int | float
"""An operand of a pattern: a pattern, or the value of a constant."""


class Vocabulary:
    """The patterns of one dialect: ``P.<operator>(operands, ...)``, with a trailing ``_`` after a word of Python.

    Fields of `Pattern` may follow by keyword; without operands, operands do not matter.
    """

    __slots__ = ("_constants", "_scalar_names", "dialect")

    def __init__(self, dialect: str) -> None:
        self.dialect: Final = dialect
        ops = [op for op in map(Op.get, Op.list_op_names()) if op.dialect == dialect]
        if not ops:
            message = f"no operator of dialect '{dialect}' is registered"
            raise ValueError(f"{message}; import its operators first, as 'scaly_ir.dialects.prog.ops'")
        self._constants = frozenset([op for op in ops if is_constant(op)])
        shared = [(op, op.get_attr("TScalarOp")) for op in ops]
        self._scalar_names = {name.removeprefix("prim."): op.mnemonic for op, name in shared if name is not None}
        self._scalar_names |= {op.mnemonic: op.mnemonic for op in ops}

    def op(self, name: str, /, *operands: Operand, **fields: Any) -> Term:
        """Return the pattern of operator `name`; `AttributeError` when there is none, `TypeError` for a wrong count."""
        op = Op.get(f"{self.dialect}.{name}")
        args = list(map(self._operand, operands))
        if not args:
            return Term(self, op, **fields)
        fault = op.count_fault(len(args))
        if fault is not None:
            raise TypeError(f"'{op.name}' {fault}")
        return Term(self, op, args=args if op.get_attr("TCommutative", False) else tuple(args), **fields)

    def scalar(self, name: str, *operands: Operand) -> Term:
        """Return the pattern of the operator called `name`, else of the one that means ``prim.<name>``."""
        return self.op(self._scalar_names.get(name, name), *operands)

    def _operand(self, operand: Operand) -> Pattern:
        if isinstance(operand, Pattern):
            return operand
        if isinstance(operand, int | float):
            return self.const(lambda found: _is_number(getattr(found, "uniform", found), operand))
        raise TypeError(f"an operand of a pattern is a pattern or a number, not a '{type(operand).__name__}'")

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name.startswith("__"):
            raise AttributeError(name)

        def pattern(*operands: Operand, **fields: Any) -> Term:
            return self.op(name.removesuffix("_"), *operands, **fields)

        return pattern

    def var(self, name: str | None = None, type: Any = None) -> Term:
        """Return a pattern for any node, or any of a type."""
        return Term(self, name=name, type=type)

    def const(self, value: Any = ANY, name: str | None = None, type: Any = None) -> Term:
        """Return a pattern for a constant of this dialect; `value` is a value or a predicate."""
        return Term(self, self._constants, name=name, type=type, attrs={"value": value})

    def in_order(self, pattern: Term) -> Term:
        """Return a pattern whose operands have to stand as they are written, though its operator is commutative."""
        if pattern.args is None:
            raise TypeError("a pattern without operands has no order")
        return Term(self, pattern.op, args=tuple(pattern.args), name=pattern.name)

    def any(self, *choices: Pattern) -> Term:
        """Return a pattern for what one of `choices` matches, tried in order."""
        return Term(self, alternatives=Pattern.any(*choices).alternatives)


def _is_number(found: Any, wanted: float) -> bool:
    """Tell whether a constant is meant by a number: a float stands for floats alone."""
    return bool(found == wanted) and (isinstance(found, float) or not isinstance(wanted, float))


class SharedVocabulary(Vocabulary):
    """The patterns of the operators that dialects share: ``P.add`` matches every dialect's form of `prim.add`."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("prim")

    def op(self, name: str, /, *operands: Operand, **fields: Any) -> Term:
        """Return the pattern of the forms of ``prim.<name>``."""
        own = super().op(name, *operands)
        shared = f"{self.dialect}.{name}"
        args = None if own.args is None else list(own.args) if own.any_order else own.args
        return Term(self, lambda op: op.get_attr("TScalarOp", op.name) == shared, args=args, **fields)

    def const(self, value: Any = ANY, name: str | None = None, type: Any = None) -> Term:
        """Return a pattern for a constant of any dialect; `value` is a value or a predicate."""
        return Term(self, is_constant, name=name, type=type, attrs={"value": value})


def shared_patterns() -> SharedVocabulary:
    """Return the patterns of the shared scalar operators."""
    return SharedVocabulary()


def patterns(dialect: str) -> Vocabulary:
    """Return the patterns of a dialect whose operators are registered; `ValueError` when it has none."""
    return Vocabulary(dialect)
