"""Attribute values and types as plain JSON data, lossless in both directions: for digests and stored graphs.

Unlike the text of `attributes.py`, the encoding tells a word, a string and a type of one spelling apart; it keeps
floats by their bits and integers of any size. Types are stored by their text; whoever makes a new kind of type
registers how to read it back.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from sys import byteorder
from typing import Any, Final

from scaly_ir.attributes import Attrs, AttrValue, OwnKind, Referable, Word
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.spelling import float_bits, float_from_bits
from scaly_ir.types import DType, MemRefType

Json = Any
"""None, booleans, integers, strings, lists and dictionaries of these."""

_SAFE_INTEGER: Final = 1 << 53
"""Larger integers are written in base 16, which Python reads and writes in linear time and at any length."""


Refer = Callable[[Any], Json]
"""What stands for a node that an attribute refers to."""


def _no_reference(node: Any) -> Json:
    raise TypeError(f"{node!r} cannot be stored apart from the graph that refers to it")


def encode(value: AttrValue, refer: Refer = _no_reference) -> Json:
    """Return a frozen attribute value as JSON data; two values have equal data only if they are the same.

    `refer` gives what stands for a node.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is int:
        return value if abs(value) < _SAFE_INTEGER else {"int": hex(value)}
    if kind is float:
        return {"float": f"{float_bits(value):016x}"}
    if kind is str:
        return _encode_text(value)
    if kind is Word:
        return {"word": _encode_text(str(value))}
    if kind is DType:
        return {"dtype": str(value)}
    if kind is tuple:
        if value and all([type(item) is float for item in value]):
            return {"floats": _swapped(array("d", value)).tobytes().hex()}
        return [encode(item, refer) for item in value]
    if kind is slice:
        return {"slice": [encode(value.start), encode(value.stop), encode(value.step)]}
    if kind is Table:
        return {"table": [str(value.dtype), list(value.shape), value.data.hex()]}
    if kind is Attrs:
        return {"map": encode_attrs(value, refer)}
    if isinstance(value, OwnKind):
        return {kind.__name__: _encode_text(value.spell())}
    assert isinstance(value, Referable)
    return {"node": refer(value)}


def encode_attrs(attrs: Attrs, refer: Refer = _no_reference) -> Json:
    """Return attributes as a list of keys and values in turn, sorted by key."""
    return [part for key in sorted(attrs) for part in (_encode_text(key), encode(attrs[key], refer))]


def decode(data: Json, referred: Refer = _no_reference) -> AttrValue:
    """Return the value that `encode` wrote; `ValueError`, `TypeError` or `KeyError` for anything else.

    `referred` gives the node that something stands for.
    """
    if isinstance(data, list):
        return tuple([decode(item, referred) for item in data])
    if not isinstance(data, dict):
        if isinstance(data, float):
            raise ValueError(f"{data} is no encoded value")
        return data
    ((kind, content),) = data.items()
    if kind == "node":
        return referred(content)
    if kind == "map":
        return decode_attrs(content, referred)
    return _DECODERS[kind](content)


def decode_attrs(data: Json, referred: Refer = _no_reference) -> Attrs:
    """Return the attributes that `encode_attrs` wrote."""
    keys = [decode(key) for key in data[::2]]
    if any([type(key) is not str for key in keys]):
        raise ValueError("an attribute has a name that is no string")
    return Attrs({key: decode(value, referred) for key, value in zip(keys, data[1::2], strict=True)})


def _decode_table(content: Json) -> Table:
    dtype, shape, data = content
    return Table(DType(dtype), shape, bytes.fromhex(data))


def _encode_text(text: str) -> Json:
    # JSON joins two surrogates in a row to one character.
    return {"text": text.encode("utf-8", "surrogatepass").hex()} if _has_surrogates(text) else text


def _has_surrogates(text: str) -> bool:
    return not text.isascii() and any(["\ud800" <= character <= "\udfff" for character in text])


def _swapped(numbers: array[float]) -> array[float]:
    if byteorder != "little":
        numbers.byteswap()
    return numbers


_DECODERS: Final[dict[str, Callable[[Json], AttrValue]]] = {
    "int": lambda content: int(content, 16),
    "float": lambda content: float_from_bits(int(content, 16)),
    "text": lambda content: bytes.fromhex(content).decode("utf-8", "surrogatepass"),
    "word": lambda content: Word(decode(content)),
    "dtype": DType,
    "floats": lambda content: tuple(_swapped(array("d", bytes.fromhex(content)))),
    "slice": lambda content: slice(*decode(content)),
    "table": _decode_table,
}

_TYPE_READERS: Final[dict[str, Callable[[str], Any]]] = {"memref": MemRefType.read, "tensor": TensorType.read}


def register_type(word: str, read: Callable[[str], Any]) -> None:
    """Let types whose text is ``<word>``, or begins ``<word><``, be read back by `read`, which gets the whole text."""
    _TYPE_READERS[word] = read


def register_kind(kind: type[OwnKind], read: Callable[[str], OwnKind]) -> None:
    """Let the attribute values of a dialect's own kind be read back by `read`, which gets the text of one."""
    _DECODERS[kind.__name__] = lambda content: read(decode(content))


def encode_type(type_: Any) -> str | None:
    """Return the text of a type, None for none."""
    return None if type_ is None else str(type_)


def decode_type(text: str | None) -> Any:
    """Return the type with the given text; `ValueError` when nobody reads such types."""
    if text is None:
        return None
    word, bracket, _ = text.partition("<")
    if word in _TYPE_READERS:
        return _TYPE_READERS[word](text)
    if bracket:
        raise ValueError(f"unknown type '{text}'")
    return DType(text)
