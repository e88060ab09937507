"""What an operator declares about its calls: operands, a variadic tail, and attributes. Knows no operator and no node.

Source: operator specification A1 (`set_signature`) and A4 (what a call is checked for).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from scaly_ir.attributes import Attrs, AttrValue, OwnKind, Referable, Word, spell_value
from scaly_ir.tables import Table
from scaly_ir.text.diagnostics import one_of
from scaly_ir.types import DType, near_dtypes


class ArgInfo(NamedTuple):
    """One operand in an operator's signature."""

    name: str
    doc: str


class _Required:
    """Stands for the default of an attribute that may not be left out."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()

_STORED_AS: Final[dict[type, type]] = {list: tuple, dict: Attrs}
_KINDS: Final[dict[type, tuple[str, str]]] = {
    bool: ("bool", "'True' or 'False'"),
    int: ("int", "an integer"),
    float: ("float", "a number"),
    str: ("str", "a string"),
    Word: ("word", "a word"),
    DType: ("dtype", "a dtype"),
    tuple: ("list", "a list"),
    Attrs: ("dict", "a map"),
    slice: ("slice", "a slice"),
    Table: ("table", "a number or lists of numbers"),
    Referable: ("function", "a function"),
    type(None): ("None", "'None'"),
}
"""The kinds of attribute values: their names for a programmer, and in the words of the IR."""


def _called(kind: type) -> tuple[str, str]:
    """Return the names of a kind of values, for a programmer and in the words of the IR."""
    return _KINDS.get(kind) or (kind.__name__, getattr(kind, "words", ""))


_FOREIGN_CONSTANTS: Final[dict[str, Any]] = {"true": True, "false": False, "none": None, "null": None}
"""What other languages write for the constants, in small letters; here these are words as any other."""


class AttrSpec:
    """What one attribute of a call may hold, as in ``{"axis": AttrSpec(int), "keep": AttrSpec(bool, default=False)}``.

    - `kinds`: the Python types of its values; ``list`` and ``dict`` stand for what they are stored as.
    - `default`: what it counts as when it is left out; without one it may not be left out. It is never stored.
    - `choices`: the values allowed, all when empty; `least`: the least value of an integer.
    - `printed`: false for an attribute that the syntax of its operator writes elsewhere, as the name of a symbol.
    - `words`: the wanted value in the words of the IR, as "a loop kind"; made from the rest when not given.
    """

    __slots__ = ("choices", "default", "kinds", "least", "printed", "words")

    def __init__(
        self,
        *kinds: type,
        default: Any = REQUIRED,
        choices: tuple[Hashable, ...] = (),
        least: int | None = None,
        printed: bool = True,
        words: str = "",
    ) -> None:
        for kind in kinds:
            if _STORED_AS.get(kind, kind) not in _KINDS and not issubclass(kind, OwnKind):
                raise TypeError(f"an attribute cannot hold a value of {kind!r}")
        if not kinds:
            raise TypeError("an AttrSpec needs the type of the values")
        self.kinds = tuple([_STORED_AS.get(kind, kind) for kind in kinds])
        self.default = default
        self.choices = choices
        self.least = least
        self.printed = printed
        self.words = words or self._described(1)

    def but(self, **changes: Any) -> AttrSpec:
        """Return this specification with other fields."""
        fields = {name: getattr(self, name) for name in ("default", "choices", "least", "printed", "words")}
        return AttrSpec(*self.kinds, **{**fields, **changes})

    @property
    def required(self) -> bool:
        """Whether it may not be left out."""
        return self.default is REQUIRED

    @property
    def by_kind(self) -> bool:
        """Whether any value of the right kind fits."""
        return not self.choices and self.least is None

    def fits(self, value: AttrValue) -> bool:
        """Tell whether the attribute may hold a (frozen) value."""
        if type(value) not in self.kinds and not (Referable in self.kinds and isinstance(value, Referable)):
            return False
        if self.choices and value not in self.choices:
            return False
        return self.least is None or value >= self.least

    def fault(self, value: AttrValue) -> str | None:
        """Return what is wrong with a value, as ``expects int, got str``; None when it fits."""
        if self.fits(value):
            return None
        kind = type(value)
        got = spell_value(value) if kind in self.kinds else _called(kind)[0]
        return f"expects {self._described(0)}, got {got}{self.hint(value)}"

    def hint(self, value: AttrValue) -> str:
        """Return the end of a message that translates a word of another language, as ``; write 'True'``, or nothing."""
        if not isinstance(value, str):
            return ""
        word = value.lower()
        if word in _FOREIGN_CONSTANTS and type(_FOREIGN_CONSTANTS[word]) in self.kinds:
            return f"; write '{_FOREIGN_CONSTANTS[word]}'"
        return near_dtypes(value) if DType in self.kinds else ""

    def _described(self, column: int) -> str:
        if self.choices:
            quoted = not {Word, bool}.isdisjoint(self.kinds)
            return one_of([f"'{choice}'" if quoted else spell_value(choice) for choice in self.choices])
        kinds = one_of([_called(kind)[column] for kind in self.kinds])
        return kinds if self.least is None else f"{kinds} of at least {self.least}"

    def __repr__(self) -> str:
        return f"AttrSpec({self._described(0)})"


def read_operands(op_name: str, entries: Any) -> tuple[ArgInfo, ...]:
    """Return operands declared by names or (name, doc) pairs; `TypeError` for anything else or a name given twice."""
    if isinstance(entries, str):
        raise TypeError(f"{op_name}: args is a sequence of operand names, not one string")
    operands = tuple([read_operand(op_name, entry) for entry in entries])
    names = [operand.name for operand in operands]
    for name in names:
        if names.count(name) > 1:
            raise TypeError(f"{op_name}: two operands are called '{name}'")
    return operands


def read_operand(op_name: str, entry: Any) -> ArgInfo:
    """Return one operand declared by its name or a (name, doc) pair."""
    if isinstance(entry, str):
        return ArgInfo(entry, "")
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str) and isinstance(entry[1], str):
        return ArgInfo(*entry)
    raise TypeError(f"{op_name}: a signature entry is a name or a (name, doc) pair, not {entry!r}")


def read_attributes(op_name: str, specs: Mapping[str, type | AttrSpec]) -> dict[str, AttrSpec]:
    """Return attributes declared by the type of their values or an `AttrSpec`; `TypeError` for anything else."""
    declared = {}
    for name, spec in specs.items():
        if not isinstance(spec, AttrSpec):
            if not isinstance(spec, type):
                raise TypeError(f"{op_name}: attribute '{name}' is declared by a type or an AttrSpec, not {spec!r}")
            spec = AttrSpec(spec)
        declared[name] = spec
    return declared


def count_fault(wanted: int, variadic: bool, given: int) -> str | None:
    """Return what is wrong with a number of operands, as ``expects 1 argument, got 0``; None when it is right."""
    if given == wanted or (variadic and given > wanted):
        return None
    least = "at least " if variadic else ""
    return f"expects {least}{wanted} argument{'s' if wanted != 1 else ''}, got {given}"


def attribute_faults(specs: Mapping[str, AttrSpec], attrs: Mapping[str, AttrValue]) -> Iterator[str]:
    """Yield what is wrong with the attributes of a call: missing ones, then undeclared ones and wrong values."""
    for name, spec in specs.items():
        if spec.required and name not in attrs:
            yield f"missing attribute '{name}'"
    for name, value in attrs.items():
        declared = specs.get(name)
        if declared is None:
            yield f"unexpected attribute '{name}'"
        elif (fault := declared.fault(value)) is not None:
            yield f"attribute '{name}' {fault}"
