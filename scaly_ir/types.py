"""The types every dialect shares: machine element types and references to flat storage.

Types are immutable and interned: equal types are the same object, and each has exactly one text spelling. This module
knows no dialect and no operator.
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar, Final, Literal, NoReturn, Self

from scaly_ir.text.diagnostics import did_you_mean, one_of, suggested

Kind = Literal["bool", "int", "float"]


class DType(str):
    """An element type: ``bool``, ``int32``, ``int64``, ``float32`` or ``float64``.

    A `DType` is its own name, so ``dtype == "float64"`` holds and it can be a dictionary key beside plain strings. Take
    one from the constants of this module or from `dtype`; there are no others.
    """

    __slots__ = ("bits", "c_type", "is_float", "is_int", "kind", "size")

    kind: Kind
    size: int
    """Bytes of one element in memory."""
    bits: int
    """Bits of the value: 1 for ``bool``, else eight times `size`."""
    c_type: str
    is_int: bool
    is_float: bool

    def __new__(cls, name: str) -> DType:
        """Return the type called `name`; `ValueError` when there is none."""
        known = _BY_NAME.get(name)
        if known is None:
            raise ValueError(unknown_dtype(name))
        return known

    def __repr__(self) -> str:
        return str(self)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a dtype is immutable: cannot set '{name}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a dtype is immutable: cannot delete '{name}'")

    def __reduce__(self) -> tuple[type[DType], tuple[str]]:
        return DType, (str(self),)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DType:
        return self


_BY_NAME: dict[str, DType] = {}


def _define(name: str, kind: Kind, size: int, c_type: str) -> DType:
    new = str.__new__(DType, name)
    fields = {
        "kind": kind,
        "size": size,
        "bits": 1 if kind == "bool" else 8 * size,
        "c_type": c_type,
        "is_int": kind == "int",
        "is_float": kind == "float",
    }
    for field, value in fields.items():
        object.__setattr__(new, field, value)
    _BY_NAME[name] = new
    return new


BOOL: Final = _define("bool", "bool", 1, "uint8_t")
INT32: Final = _define("int32", "int", 4, "int32_t")
INT64: Final = _define("int64", "int", 8, "int64_t")
FLOAT32: Final = _define("float32", "float", 4, "float")
FLOAT64: Final = _define("float64", "float", 8, "double")

DTYPES: Final = tuple(_BY_NAME.values())
"""The five element types, narrowest kind first."""


FOREIGN_NAMES: Final = {
    "i1": (BOOL,),
    "i32": (INT32,),
    "i64": (INT64,),
    "index": (INT64,),
    "int": (INT32, INT64),
    "long": (INT64,),
    "f32": (FLOAT32,),
    "f64": (FLOAT64,),
    "float": (FLOAT32, FLOAT64),
    "double": (FLOAT64,),
}
"""What other languages call the element types, for suggestions; they are no names here."""


def dtype(name: str) -> DType:
    """Return the element type called `name`; `ValueError` names the choices when there is none."""
    return DType(name)


def unknown_dtype(name: str) -> str:
    """Return what to say of a name that no element type has: what was probably meant, or the choices."""
    return f"unknown dtype '{name}'{near_dtypes(name) or f'; expected {one_of(_BY_NAME)}'}"


def near_dtypes(name: str) -> str:
    """Return ``; did you mean 'float64'?`` for what other languages call an element type or a typo, else nothing."""
    return suggested(FOREIGN_NAMES[name]) if name in FOREIGN_NAMES else did_you_mean(str(name), _BY_NAME)


def int_range(dtype: DType) -> range:
    """Return the values of an integer or boolean type as a range (two's complement; 0 and 1 for ``bool``)."""
    if dtype.kind == "bool":
        return range(2)
    if dtype.kind == "int":
        return range(-(1 << (dtype.bits - 1)), 1 << (dtype.bits - 1))
    raise ValueError(f"{dtype} has no integer range")


_OTHER_WORDS: Final = frozenset({"True", "False", "None", "inf", "nan", "slice", *map(str, DTYPES)})


def is_word(text: str) -> bool:
    """Tell whether a text is an identifier that means nothing else where the values of attributes stand."""
    return text.isascii() and text.isidentifier() and text not in _OTHER_WORDS


class MemRefError(ValueError):
    """A text is no memref type; `text[start:end]` is the part to blame."""

    def __init__(self, message: str, start: int, end: int) -> None:
        self.start = start
        self.end = end
        super().__init__(message)


_memref_parts = re.compile(r"memref<((?:[0-9]+x)*+)([^,<>]*)(?:,([^<>]*))?>").fullmatch


class MemRefType:
    """A reference to flat, row-major storage: shape, element type and address space.

    The text is ``memref<3x4xfloat64>``; a space other than ``global`` is written out: ``memref<4xfloat64, private>``.
    A shape may hold zeros; ``()`` is a scalar.
    """

    __slots__ = ("dtype", "shape", "space")

    shape: tuple[int, ...]
    dtype: DType
    space: str

    def __new__(cls, shape: tuple[int, ...], dtype: DType, space: str = "global") -> MemRefType:
        """Return the one type with these fields."""
        key = (shape, dtype, space)
        known = _MEMREFS.get(key)
        if known is None:
            known = object.__new__(cls)
            for field, value in (("shape", shape), ("dtype", dtype), ("space", space)):
                object.__setattr__(known, field, value)
            known = _MEMREFS.setdefault(key, known)
        return known

    @property
    def size(self) -> int:
        """Number of elements: the product of the shape."""
        return math.prod(self.shape)

    @staticmethod
    def read(text: str) -> MemRefType:
        """Read the spelling ``memref<3x4xfloat64, private>``; `MemRefError` says what is wrong with it, and where."""
        known = _READ_MEMREFS.get(text)
        if known is None:
            known = _read_memref(text)
            if len(_READ_MEMREFS) < 4096:
                _READ_MEMREFS[text] = known
        return known

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a memref type is immutable: cannot set '{name}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a memref type is immutable: cannot delete '{name}'")

    def __reduce__(self) -> tuple[type[MemRefType], tuple[tuple[int, ...], DType, str]]:
        return MemRefType, (self.shape, self.dtype, self.space)

    def __str__(self) -> str:
        extents = "".join(f"{extent}x" for extent in self.shape)
        space = "" if self.space == "global" else f", {self.space}"
        return f"memref<{extents}{self.dtype}{space}>"

    __repr__ = __str__


_MEMREFS: dict[tuple[tuple[int, ...], DType, str], MemRefType] = {}
_READ_MEMREFS: dict[str, MemRefType] = {}


def _read_memref(text: str) -> MemRefType:
    parts = _memref_parts(text)
    if parts is None:
        raise MemRefError(f"malformed type '{text}'; write it as in 'memref<2x4xfloat64, private>'", 0, len(text))
    extents, element, space = parts.groups()
    start = parts.start(1)
    shape = []
    for extent in extents.split("x")[:-1]:
        if len(extent) > 18:
            raise MemRefError(f"an extent of {len(extent)} digits is too large", start, start + len(extent))
        start += len(extent) + 1
        shape.append(int(extent))
    if element not in _BY_NAME:
        raise MemRefError(unknown_dtype(element), *parts.span(2))
    word = (space or "").strip() or "global"
    if not is_word(word):
        start = text.rindex(word)
        message = f"'{word}' is no address space; write a word as in 'memref<4xfloat64, private>'"
        raise MemRefError(message, start, start + len(word))
    return MemRefType(tuple(shape), _BY_NAME[element], word)


class _Singleton:
    """A type without parameters: one object for each class, spelled as `text` says."""

    __slots__ = ()

    text: ClassVar[str]

    def __new__(cls) -> Self:
        """Return the one object."""
        known: Self = _SINGLETONS.setdefault(cls, object.__new__(cls))
        return known

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()

    def __repr__(self) -> str:
        return self.text


_SINGLETONS: dict[type[_Singleton], Any] = {}


class StringType(_Singleton):
    """The type of a string operand."""

    __slots__ = ()
    text = "string"


class MissingType(_Singleton):
    """The type of a call whose operator has no type rule: nobody knows it yet. Verified IR has none."""

    __slots__ = ()
    text = "!missing"


STRING: Final = StringType()
MISSING: Final = MissingType()


def is_type(value: object) -> bool:
    """Tell whether `value` may be the type of a node: an element type, or what has one, or one of the types above."""
    return isinstance(value, DType | _Singleton) or (hasattr(value, "dtype") and not isinstance(value, type))


def read_type(value: Any) -> Any:
    """Return a type, given as one or by the name of an element type; `ValueError` for a name, `TypeError` else."""
    if type(value) is str:
        return DType(value)
    if not is_type(value):
        raise TypeError(f"expected a type or the name of one, got {value!r}")
    return value
