"""Affine maps: index expressions of dimensions, as attribute values.

``affine_map<(d0, d1) -> (d0 * 2 + d1, 0)>``. An expression is kept as a tuple in postfix order, so that nothing here
recurses, whatever its length. A map keeps what was written, except that of a product with a constant that stands on the
right; `simplify` makes it shorter. Source: matrix specification 6 and 8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from scaly_ir.attributes import OwnKind
from scaly_ir.graph.encoding import register_kind

T = TypeVar("T")

PREFIX: Final = "affine_map<"


class Dim(NamedTuple):
    """A dimension of a map by its number; integers stand for themselves, and strings for operators."""

    number: int


Token = Dim | int | str
Expr = tuple[Token, ...]
"""An expression in postfix order: ``(Dim(0), 2, "*", Dim(1), "+")`` is ``d0 * 2 + d1``."""

NEGATE: Final = "neg"
DIVISIONS: Final = ("floordiv", "ceildiv", "mod")
_SUM: Final = 1
_PRODUCT: Final = 2
_ATOM: Final = 3
_PRECEDENCE: Final = {"+": _SUM, "-": _SUM, "*": _PRODUCT, **dict.fromkeys(DIVISIONS, _PRODUCT)}


class MapError(ValueError):
    """A text is no affine map; `text[start:end]` is the part to blame."""

    def __init__(self, message: str, start: int, end: int) -> None:
        self.start = start
        self.end = end
        super().__init__(message)


class AffineMap(OwnKind):
    """A map from `dims` integers to as many as there are `results`."""

    __slots__ = ("_hash", "dims", "results")

    words: ClassVar[str] = "an affine map"

    dims: int
    results: tuple[Expr, ...]
    _hash: int

    def __init__(self, dims: int, results: Iterable[Sequence[Token]]) -> None:
        object.__setattr__(self, "dims", dims)
        object.__setattr__(self, "results", tuple([tuple(result) for result in results]))
        object.__setattr__(self, "_hash", hash((dims, self.results)))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a map is immutable: cannot set '{name}'")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineMap) and (self.dims, self.results) == (other.dims, other.results)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[AffineMap], tuple[int, tuple[Expr, ...]]]:
        return AffineMap, (self.dims, self.results)

    def __repr__(self) -> str:
        return self.spell()

    def spell(self) -> str:
        """Return the text of the map, with as few parentheses as its meaning allows."""
        dims = ", ".join([f"d{number}" for number in range(self.dims)])
        return f"{PREFIX}({dims}) -> ({', '.join([spell(result) for result in self.results])})>"

    def __call__(self, point: Sequence[Any]) -> tuple[Any, ...]:
        """Return the results at a point of integers, or of integer arrays of one shape."""
        return tuple([evaluate(result, point) for result in self.results])


def identity(rank: int) -> AffineMap:
    """Return the map of `rank` dimensions to themselves."""
    return AffineMap(rank, [(Dim(number),) for number in range(rank)])


def constant(value: int, dims: int = 0) -> AffineMap:
    """Return the map to one number."""
    return AffineMap(dims, [(value,)])


def fold(expr: Expr, leaf: Callable[[Dim | int], T], apply: Callable[[str, list[T]], T]) -> T:
    """Compute something of an expression from its leaves upwards; `apply` gets an operator and what it applies to."""
    stack: list[T] = []
    for token in expr:
        if isinstance(token, str):
            count = 1 if token == NEGATE else 2
            operands = stack[-count:]
            del stack[-count:]
            stack.append(apply(token, operands))
        else:
            stack.append(leaf(token))
    (whole,) = stack
    return whole


_MEANINGS: Final[dict[str, Callable[..., Any]]] = {
    NEGATE: lambda x: -x,
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "floordiv": lambda x, y: x // y,
    "ceildiv": lambda x, y: -(-x // y),
    "mod": lambda x, y: x % y,
}
"""Division rounds down or up, and what `mod` leaves lies from 0 to below its positive divisor."""


def evaluate(expr: Expr, point: Sequence[Any]) -> Any:
    """Return the value at a point."""
    return fold(
        expr,
        lambda leaf: point[leaf.number] if isinstance(leaf, Dim) else leaf,
        lambda op, operands: _MEANINGS[op](*operands),
    )


def dims_of(expr: Expr) -> set[int]:
    """Return the numbers of the dimensions in an expression."""
    return {token.number for token in expr if isinstance(token, Dim)}


# --- text -------------------------------------------------------------------------------------------------------------


def spell(expr: Expr) -> str:
    """Return the text of an expression."""
    starts = starts_of(expr)
    pieces: list[str] = []
    pending: list[str | tuple[int, int]] = [(len(expr) - 1, 0)]
    while pending:
        entry = pending.pop()
        if isinstance(entry, str):
            pieces.append(entry)
            continue
        at, least = entry  # what ends there, in parentheses when it binds less than that
        token = expr[at]
        if isinstance(token, Dim):
            pieces.append(f"d{token.number}")
        elif isinstance(token, int):
            pieces.append(str(token))
        elif token == NEGATE:
            is_sum = least > _SUM
            inner = "" if isinstance(expr[at - 1], Dim) else "("
            pieces.append(f"{'(' if is_sum else ''}-{inner}")
            pending += [f"{')' if inner else ''}{')' if is_sum else ''}", (at - 1, 0)]
        else:
            level = _PRECEDENCE[token]
            if level < least:
                pieces.append("(")
                pending.append(")")
            pending += [(at - 1, level + 1), f" {token} ", (starts[at - 1] - 1, level)]
    return "".join(pieces)


def starts_of(expr: Expr) -> list[int]:
    """Return, for each token, where the expression that it ends begins."""
    starts: list[int] = []
    for at, token in enumerate(expr):
        start = at
        if isinstance(token, str):
            start = starts[at - 1]
            if token != NEGATE:
                start = starts[start - 1]
        starts.append(start)
    return starts


_tokens = re.compile(r"[ \t\n]*(d[0-9]+|[0-9]+|floordiv|ceildiv|mod|[-+*(),]|->|[A-Za-z_][A-Za-z0-9_]*|[^ \t\n])")
_is_dim = re.compile(r"d[0-9]+").fullmatch


class _Lexeme(NamedTuple):
    text: str
    start: int
    end: int


def read_map(text: str) -> AffineMap:
    """Read ``affine_map<(d0, d1) -> (d0 + d1)>``; `MapError` says what is wrong with a text, and where."""
    if not text.startswith(PREFIX) or not text.endswith(">"):
        raise MapError(f"expected '{PREFIX}(...) -> (...)>'", 0, len(text))
    return _Reader(text).read()


class _Reader:
    """Reads one map, operators by precedence; iterative, as expressions may nest deeply."""

    def __init__(self, text: str) -> None:
        end = len(text) - 1
        found = [_Lexeme(m[1], m.start(1), m.end(1)) for m in _tokens.finditer(text, len(PREFIX), end)]
        joined: list[_Lexeme] = []
        for lexeme in found:  # "->" is cut as two
            if lexeme.text == ">" and joined and joined[-1].text == "-" and joined[-1].end == lexeme.start:
                joined[-1] = _Lexeme("->", joined[-1].start, lexeme.end)
            else:
                joined.append(lexeme)
        self._lexemes = [*joined, _Lexeme("", end, end + 1)]
        self._at = 0

    def _expected(self, what: str) -> MapError:
        lexeme = self._lexemes[self._at]
        found = f"'{lexeme.text}'" if lexeme.text else "the end of the map"
        return MapError(f"expected {what}, found {found}", lexeme.start, lexeme.end)

    def _take(self, text: str) -> None:
        if self._lexemes[self._at].text != text:
            raise self._expected(f"'{text}'" if text else "the end of the map")
        self._at += 1

    def read(self) -> AffineMap:
        """Read the whole map."""
        self._take("(")
        dims = 0
        while self._lexemes[self._at].text != ")":
            if dims:
                self._take(",")
            self._take(f"d{dims}")  # in order, so that a dimension has one name
            dims += 1
        self._take(")")
        self._take("->")
        self._take("(")
        results: list[Expr] = []
        while self._lexemes[self._at].text != ")":
            if results:
                self._take(",")
            results.append(self._expression())
        self._take(")")
        self._take("")
        return AffineMap(dims, results)

    def _expression(self) -> Expr:
        """Read an expression up to a comma or parenthesis that is not its own."""
        out: list[Token] = []
        starts: list[int] = []  # of the operands in `out` that no operator has taken
        pending: list[str] = []
        depth = 0

        def apply() -> None:
            op = pending.pop()
            if op != NEGATE:
                right = starts.pop()
                if (
                    op == "*"
                    and right == starts[-1] + 1
                    and isinstance(out[right - 1], int)
                    and not _is_number(out, right)
                ):
                    out.append(out.pop(right - 1))
            elif _is_number(out, starts[-1]):
                out[-1] = -out[-1]  # type: ignore[operator]
                return
            out.append(op)

        wanted = True  # an operand
        while True:
            text = self._lexemes[self._at].text
            if wanted:
                if text == "(":
                    pending.append("(")
                    depth += 1
                elif text == "-":
                    pending.append(NEGATE)
                elif _is_dim(text):
                    starts.append(len(out))
                    out.append(Dim(int(text[1:])))
                    wanted = False
                elif text.isascii() and text.isdigit():
                    starts.append(len(out))
                    out.append(int(text))
                    wanted = False
                else:
                    raise self._expected("a dimension such as 'd0', a number or '('")
            elif text == ")" and depth:
                while pending[-1] != "(":
                    apply()
                pending.pop()
                depth -= 1
            elif text in _PRECEDENCE:
                level = _PRECEDENCE[text]
                while pending and pending[-1] != "(" and _level(pending[-1]) >= level:
                    apply()
                pending.append(text)
                wanted = True
            else:
                break
            self._at += 1
        if depth:
            raise self._expected("')'")
        while pending:
            apply()
        return tuple(out)


def _level(op: str) -> int:
    return _ATOM if op == NEGATE else _PRECEDENCE[op]


def _is_number(expr: Sequence[Token], start: int) -> bool:
    return start == len(expr) - 1 and isinstance(expr[start], int)


register_kind(AffineMap, read_map)
