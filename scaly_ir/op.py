"""The operator registry: one `Op` object per operator name, with a signature and open-ended attributes.

Nodes point at the `Op` itself, so all uses of an operator share one object. Passes, verifiers and emitters ask an
operator for attributes; they never list operator names. Any library may introduce attribute keys of its own; only the
standard keys below are type-checked. Source of the rules: operator specification A1 and A3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple, NoReturn

from scaly_ir.types import DType

_is_op_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+").fullmatch


class CallEffectKind(IntEnum):
    """What evaluating an operator may do, weakest first; a pass compares kinds by order."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6
    Opaque = 3


class ArgInfo(NamedTuple):
    """One operand in an operator's signature."""

    name: str
    doc: str


class AttrSpec(NamedTuple):
    """What one attribute of a call may hold.

    `kinds` are the Python types of frozen values; `choices`, when given, the values allowed; `required` tells whether
    it may be left out; `printed` is false for attributes that the syntax carries elsewhere, as a symbol's name.
    """

    kinds: tuple[type, ...]
    words: str
    """The wanted value in the user's words, as "an integer"."""
    required: bool = False
    choices: tuple[Hashable, ...] = ()
    printed: bool = True


class Op:
    """An operator: its name, documentation, signature and attributes.

    Made by `Op.register` only, and compared by identity. `mnemonic` is the last segment of the name, `dialect` the
    first.
    """

    __slots__ = ("_attributes", "args_info", "attr_specs", "dialect", "doc", "mnemonic", "name", "var_args_info")

    name: str
    doc: str
    dialect: str
    mnemonic: str
    args_info: tuple[ArgInfo, ...] | None
    """The required leading operands, or None when no signature was set (any operands are then accepted)."""
    var_args_info: ArgInfo | None
    attr_specs: Mapping[str, AttrSpec] | None
    """The declared attributes of a call, or None when a call may carry any."""
    _attributes: dict[str, Any]

    def __init__(self) -> None:
        raise RuntimeError("an Op is made by Op.register(name)")

    @staticmethod
    def register(name: str, doc: str = "") -> Op:
        """Add the operator `name` and return it; `AttributeError` when it exists, `ValueError` for a bad name."""
        if name in _REGISTRY:
            raise AttributeError(f"operator '{name}' is already registered")
        if not _is_op_name(name):
            raise ValueError(f"'{name}' is no operator name; expected two or more identifiers joined by '.'")
        op = object.__new__(Op)
        op.name = name
        op.doc = doc
        op.dialect, _, rest = name.partition(".")
        op.mnemonic = rest.rpartition(".")[2]
        op.args_info = None
        op.var_args_info = None
        op.attr_specs = None
        op._attributes = {}
        _REGISTRY[name] = op
        return op

    @staticmethod
    def get(name: str) -> Op:
        """Return the operator `name`; `AttributeError` when nobody registered it."""
        op = _REGISTRY.get(name)
        if op is None:
            raise AttributeError(f"operator '{name}' is not registered")
        return op

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of all operators, sorted."""
        return sorted(_REGISTRY)

    @staticmethod
    def list_attr_names() -> list[str]:
        """Return the attribute keys that some operator has, sorted."""
        return sorted({key for op in _REGISTRY.values() for key in op._attributes})

    @staticmethod
    def get_attr_map(key: str) -> OpAttrMap:
        """Return the live mapping from operators to their value of `key`."""
        return OpAttrMap(key)

    def set_signature(
        self,
        args: Sequence[str | tuple[str, str]] = (),
        *,
        var_args: str | tuple[str, str] | None = None,
        attrs: Mapping[str, AttrSpec] | None = None,
    ) -> None:
        """Replace the signature: operand names (with documentation), the variadic tail and the call attributes."""
        if isinstance(args, str):
            raise TypeError(f"{self.name}: args is a sequence of operand names, not one string")
        self.args_info = tuple([self._arg_info(entry) for entry in args])
        self.var_args_info = None if var_args is None else self._arg_info(var_args)
        self.attr_specs = attrs

    def _arg_info(self, entry: str | tuple[str, str]) -> ArgInfo:
        if isinstance(entry, str):
            return ArgInfo(entry, "")
        if isinstance(entry, tuple) and len(entry) == 2 and all(isinstance(part, str) for part in entry):
            return ArgInfo(*entry)
        raise TypeError(f"{self.name}: a signature entry is a name or a (name, doc) pair")

    def set_attr(self, key: str, value: Any, override: bool = False) -> None:
        """Set the attribute `key`; `ValueError` when it is set already and `override` is false, or `value` is None."""
        if value is None:
            raise ValueError(f"{self.name}: attribute '{key}' cannot be None")
        if key in self._attributes and not override:
            raise ValueError(f"{self.name}: attribute '{key}' is already set; pass override=True to replace it")
        self._attributes[key] = _checked(self, key, value)

    def get_attr(self, key: str, default: Any = None) -> Any:
        """Return the attribute `key`, or `default` when it is not set."""
        return self._attributes.get(key, default)

    def has_attr(self, key: str) -> bool:
        """Tell whether the attribute `key` is set."""
        return key in self._attributes

    def reset_attr(self, key: str) -> None:
        """Remove the attribute `key`; nothing happens when it is not set."""
        self._attributes.pop(key, None)

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        return Op.get, (self.name,)


class OpAttrMap(Mapping[Op, Any]):
    """The values of one attribute key, by operator: live, read-only, in order of registration."""

    __slots__ = ("attr_name",)

    def __init__(self, attr_name: str) -> None:
        self.attr_name = attr_name

    def __getitem__(self, op: Op) -> Any:
        if not isinstance(op, Op):
            raise KeyError(op)
        return op._attributes[self.attr_name]

    def __iter__(self) -> Iterator[Op]:
        return iter([op for op in _REGISTRY.values() if self.attr_name in op._attributes])

    def __len__(self) -> int:
        return sum(self.attr_name in op._attributes for op in _REGISTRY.values())

    def __setitem__(self, op: Op, value: Any) -> NoReturn:
        raise TypeError("an operator attribute map is read-only; use op.set_attr")


_REGISTRY: Final[dict[str, Op]] = {}

_CALLABLE: Final = "a callable"
_STANDARD_KEYS: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "FInferType": (callable, _CALLABLE),
    "FVerify": (callable, _CALLABLE),
    "FFold": (callable, _CALLABLE),
    "FNumpy": (callable, _CALLABLE),
    "FPartials": (callable, _CALLABLE),
    "TFixedReturnType": (lambda value: isinstance(value, str) or hasattr(value, "dtype"), "a type or the name of one"),
    "TCallEffectKind": (lambda value: isinstance(value, int) and 0 <= value <= 6, "a CallEffectKind"),
    "TCostClass": (lambda value: value in ("free", "cheap", "expensive"), "'free', 'cheap' or 'expensive'"),
    "TDialects": (lambda value: isinstance(value, frozenset), "a frozenset of dialect names"),
    "TGlobalSymbol": (lambda value: isinstance(value, str), "a string"),
    "TScalarOp": (lambda value: isinstance(value, str), "the name of an operator"),
    **{
        key: (lambda value: isinstance(value, bool), "a bool")
        for key in (
            "TVectorizable",
            "TElementwise",
            "TCommutative",
            "TNoDiff",
            "TStructural",
            "TCollective",
            "TConst",
            "TVariable",
        )
    },
}


def _checked(op: Op, key: str, value: Any) -> Any:
    standard = _STANDARD_KEYS.get(key)
    if standard is not None and not standard[0](value):
        raise TypeError(f"{op.name}: attribute '{key}' expects {standard[1]}, got {type(value).__name__}")
    if key == "TCallEffectKind":
        return int(value)
    if key == "TFixedReturnType" and type(value) is str:
        return DType(value)
    return value


def op_names(prefix: str) -> list[str]:
    """Return the names of the operators whose name starts with `prefix`, in order of registration."""
    return [name for name in _REGISTRY if name.startswith(prefix)]
