"""Patterns: what a node and the nodes below it must look like, and which of them get names.

A pattern is an immutable description without a dialect; `match` finds every way in which a node fits it. Patterns that
read like algebra are in `scaly_ir.graph.vocabulary`, rules made of them in `scaly_ir.graph.matcher`. Source of the
rules: graph specification A5.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, Self

from scaly_ir.attributes import freeze, spell_value
from scaly_ir.graph.node import Node
from scaly_ir.op import Op

ANY: Final[Any] = type("_Any", (), {"__slots__": (), "__repr__": lambda self: "ANY"})()
"""In place of an attribute value: every value will do."""

Solver = Callable[..., Iterator[tuple[Node | None, ...]]]
OpTest = Callable[[Op], bool]

_MAX_CHOICES: Final = 16  # each is a nested loop of the generated code, and Python nests no more than twenty


def is_constant(op: Op) -> bool:
    """Tell whether nodes of `op` are constants; the value of such a node is its attribute ``value``."""
    return bool(op.get_attr("TConst", False))


class Pattern:
    """A description of nodes; all fields but `op` are given by keyword.

    - `op`: one operator, several, a test for operators that is answered once for each, or None for all.
    - `type`: one type or several (compared by identity), or None for all.
    - `attrs`: for each attribute that matters a value, told apart as node identity does, or a predicate. A node that
      lacks the attribute does not match.
    - `args`: a tuple wants just these operands in this order (with `allow_any_len` any further ones behind them), a
      list just these in any order, a single pattern is for every operand, and None leaves operands alone.
    - `name` binds the node; what is bound to one name twice must be the same node.
    - `where`: a predicate on the node, checked last.
    - `early_reject`: operators that must all occur among the operands, or else nothing more is tried. By default those
      that patterns listed in `args` name alone.

    `ValueError` for the name ``ctx``, which a rule's function uses otherwise, and for a list with `allow_any_len`.
    """

    __slots__ = (
        "_below",
        "_solver",
        "alternatives",
        "any_order",
        "args",
        "at_least",
        "attrs",
        "choices",
        "each",
        "early_reject",
        "explicit_reject",
        "name",
        "names",
        "op",
        "type",
        "where",
    )

    op: frozenset[Op] | OpTest | None
    type: tuple[Any, ...] | None
    attrs: tuple[tuple[str, Any], ...]
    args: tuple[Pattern, ...] | None
    each: Pattern | None
    any_order: bool
    at_least: bool
    name: str | None
    where: Callable[[Node], bool] | None
    early_reject: frozenset[Op]
    explicit_reject: bool
    alternatives: tuple[Pattern, ...]
    names: tuple[str, ...]
    """The names bound here and below, in the order in which a match meets them."""
    choices: int
    """In how many places matching may have to go back and try something else."""
    _below: tuple[str, ...]
    _solver: Solver | None

    def __init__(
        self,
        op: Op | Iterable[Op] | OpTest | None = None,
        *,
        type: Any = None,
        attrs: Mapping[str, Any] | None = None,
        args: Pattern | Sequence[Pattern] | None = None,
        allow_any_len: bool = False,
        name: str | None = None,
        where: Callable[[Node], bool] | None = None,
        early_reject: Iterable[Op] | None = None,
        alternatives: Iterable[Pattern] = (),
    ) -> None:
        if allow_any_len and not isinstance(args, tuple):
            raise ValueError("allow_any_len goes with a tuple of operand patterns")
        listed = None if args is None or isinstance(args, Pattern) else tuple(args)
        each = args if isinstance(args, Pattern) else None
        choices = tuple(alternatives)
        any_order = isinstance(args, list) and len(args) > 1
        below = [*choices, *(listed or ()), *([] if each is None else [each])]
        several = isinstance(type, tuple | list | set | frozenset)
        self._set(
            op=_op_field(op),
            type=None if type is None else tuple(type) if several else (type,),
            attrs=tuple([(key, v if callable(v) else freeze(v)) for key, v in (attrs or {}).items() if v is not ANY]),
            args=listed,
            each=each,
            any_order=any_order,
            at_least=allow_any_len,
            where=where,
            early_reject=_required_ops(listed or ()) if early_reject is None else frozenset(early_reject),
            explicit_reject=early_reject is not None,
            alternatives=choices,
            # Alternatives and the pattern of every operand are functions of their own; a loop runs over what they find.
            choices=sum([any_order, each is not None, bool(choices), *[pattern.choices for pattern in listed or ()]]),
            _below=tuple(dict.fromkeys([inner for pattern in below for inner in pattern.names])),
        )
        if self.choices > _MAX_CHOICES:
            raise ValueError(f"a pattern has more than {_MAX_CHOICES} lists and alternatives")
        self._set_name(name)

    def _set_name(self, name: str | None) -> None:
        if name == "ctx":
            raise ValueError("no node can be named 'ctx': a rule's function receives the context under that name")
        first = () if name is None else (name,)
        self._set(name=name, names=tuple(dict.fromkeys(first + self._below)), _solver=None)

    def _set(self, **fields: Any) -> None:
        for field, value in fields.items():
            object.__setattr__(self, field, value)

    @staticmethod
    def var(name: str | None = None, type: Any = None) -> Pattern:
        """Return a pattern for any node, or any of a type."""
        return Pattern(name=name, type=type)

    @staticmethod
    def const(value: Any = ANY, name: str | None = None, type: Any = None, ops: Any = is_constant) -> Pattern:
        """Return a pattern for a constant: a node whose operator has `TConst`, or is one of `ops`.

        `value` is a value or a predicate. Kinds differ as they do in nodes: 0, 0.0 and False are three constants.
        """
        return Pattern(ops, name=name, type=type, attrs={"value": value})

    @staticmethod
    def any(*patterns: Pattern) -> Pattern:
        """Return a pattern for what one of `patterns` matches, tried in order."""
        if not patterns:
            raise ValueError("Pattern.any needs a pattern")
        return Pattern(alternatives=patterns)

    def named(self, name: str) -> Self:
        """Return this pattern with the node bound to `name`."""
        new = object.__new__(self.__class__)
        for cls in self.__class__.__mro__:
            new._set(**{field: getattr(self, field) for field in getattr(cls, "__slots__", ())})
        new._set_name(name)
        return new

    def match(self, node: Node, bound: Mapping[str, Node] | None = None) -> list[dict[str, Node]]:
        """Return every binding of names with which `node` fits, in the order found, each once.

        `bound` holds what names stand for already; it is part of each result.
        """
        known = dict(bound or {})
        solutions = self.solver(node, *[known.get(name) for name in self.names])
        found = [zip(self.names, solution, strict=True) for solution in solutions]
        return [known | {name: node for name, node in pairs if node is not None} for pairs in found]

    @property
    def solver(self) -> Solver:
        """The function that finds matches: ``solver(node, *known)`` yields what each of `names` stands for, once each.

        A name that is free, before or after, has None.
        """
        if self._solver is None:
            from scaly_ir.graph.match_code import make_solver

            object.__setattr__(self, "_solver", make_solver(self))
        assert self._solver is not None
        return self._solver

    @property
    def names_ops(self) -> bool:
        """Whether it says which operators it is for."""
        return self.op is not None or (
            len(self.alternatives) > 0 and all([choice.names_ops for choice in self.alternatives])
        )

    @property
    def single_op(self) -> Op | None:
        """The operator it is for, when there is just one."""
        if self.op is not None:
            return next(iter(self.op)) if isinstance(self.op, frozenset) and len(self.op) == 1 else None
        wanted = {choice.single_op for choice in self.alternatives}
        return wanted.pop() if len(wanted) == 1 else None

    def accepts(self, op: Op) -> bool:
        """Tell whether a node of `op` may match."""
        if self.op is not None and not (op in self.op if isinstance(self.op, frozenset) else self.op(op)):
            return False
        return not self.alternatives or any([choice.accepts(op) for choice in self.alternatives])

    def admits(self, op: Op, operands: Sequence[Op] | None, present: Collection[Op]) -> bool:
        """Tell whether a node of `op` may match whose operands have the operators `operands`, and so those `present`.

        Without `operands`, neither their number nor their places count.
        """
        if not self.accepts(op) or not self.early_reject.issubset(present):
            return False
        if self.args is not None and operands is not None:
            if len(operands) < len(self.args) or (len(operands) > len(self.args) and not self.at_least):
                return False
            if not self.any_order:
                pairs = zip(self.args, operands, strict=False)
                if not all([pattern.accepts(operand) for pattern, operand in pairs]):
                    return False
        return not self.alternatives or any([choice.admits(op, operands, present) for choice in self.alternatives])

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a pattern is immutable: cannot set '{name}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a pattern is immutable: cannot delete '{name}'")

    def __bool__(self) -> NoReturn:
        raise TypeError("a pattern has no truth value")

    def __repr__(self) -> str:
        label = "" if self.name is None else f"{self.name}: "
        if self.alternatives:
            return f"{label}any({', '.join(map(repr, self.alternatives))})"
        text = self._op_text()
        if self.attrs:
            text += f" {{{', '.join([f'{key}={_shown(value)}' for key, value in self.attrs])}}}"
        if self.each is not None:
            text += f"({self.each!r}*)"
        elif self.args is not None:
            inside = ", ".join(map(repr, self.args)) + (", ..." if self.at_least else "")
            text += f"[{inside}]" if self.any_order else f"({inside})"
        types = "" if self.type is None else f" : {'|'.join(map(str, self.type))}"
        return f"{label}{text}{types}{' where ...' if self.where else ''}"

    def _op_text(self) -> str:
        if self.op is None:
            return "_"
        if isinstance(self.op, frozenset):
            return "|".join(sorted([op.name for op in self.op]))
        return getattr(self.op, "__name__", "?")


def _op_field(op: Op | Iterable[Op] | OpTest | None) -> frozenset[Op] | OpTest | None:
    if op is None or (callable(op) and not isinstance(op, Op)):
        return op
    return frozenset((op,)) if isinstance(op, Op) else frozenset(op)


def _required_ops(patterns: Sequence[Pattern]) -> frozenset[Op]:
    return frozenset([op for op in [pattern.single_op for pattern in patterns] if op is not None])


def _shown(value: Any) -> str:
    return getattr(value, "__name__", "?") if callable(value) else spell_value(value)
