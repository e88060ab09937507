"""The operator registry: one `Op` object per operator name, with a signature and open-ended attributes.

Nodes point at the `Op` itself, so all uses of an operator share one object. Passes, verifiers and emitters ask an
operator for attributes; they never list operator names. What the standard attributes hold is in `op_attributes.py`.
Source of the rules: operator specification A1 and A3.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

from scaly_ir.effects import CallEffectKind as CallEffectKind
from scaly_ir.op_attributes import checked, standard_default
from scaly_ir.signature import ArgInfo, AttrSpec, count_fault, read_attributes, read_operand, read_operands
from scaly_ir.types import read_type
from scaly_ir.undo import OPEN, RegistryScope, note_undo
from scaly_ir.undo import registry_scope as registry_scope

if TYPE_CHECKING:
    from scaly_ir.graph import Node

_T = TypeVar("_T")

_is_op_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)+").fullmatch


class _ByKey:
    """Stands for the default that a standard attribute has by itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<that of the key>"


_BY_KEY: Final = _ByKey()


class Op:
    """An operator: its name, documentation, signature and attributes.

    Made by `Op.register` only, compared by identity, changed by its methods alone. `mnemonic` is the last segment of
    the name, `dialect` the first. An operator is what stands in the callee position of a node (`node.op`); it is no
    node, so it is never an operand.
    """

    __slots__ = (
        "_attributes",
        "args_info",
        "attr_specs",
        "dialect",
        "doc",
        "has_signature",
        "mnemonic",
        "name",
        "ty_args_info",
        "var_args_info",
    )

    name: str
    doc: str
    dialect: str
    mnemonic: str
    has_signature: bool
    """Whether `set_signature` was called; until then a call may have any operands and attributes."""
    args_info: tuple[ArgInfo, ...]
    """The required leading operands."""
    var_args_info: ArgInfo | None
    """The variadic tail."""
    ty_args_info: tuple[ArgInfo, ...]
    """The type arguments."""
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
        segments = name.split(".")
        for field, value in (
            ("name", name),
            ("doc", doc),
            ("dialect", segments[0]),
            ("mnemonic", segments[-1]),
            ("_attributes", {}),
        ):
            _set(op, field, value)
        op._sign(_NO_SIGNATURE)
        _REGISTRY[name] = op
        if OPEN:
            note_undo(lambda: _REGISTRY.pop(name))
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
        """Return the live mapping from operators to their value of `key`; empty while no operator has it."""
        return OpAttrMap(key)

    # --- signature ----------------------------------------------------------------------------------------------------

    def set_signature(
        self,
        args: Sequence[str | tuple[str, str]] = (),
        *,
        var_args: str | tuple[str, str] | None = None,
        ty_args: Sequence[str | tuple[str, str]] = (),
        attrs: Mapping[str, type | AttrSpec] | None = None,
    ) -> None:
        """Replace the signature: operands, the variadic tail, type arguments and attributes.

        An operand is given by its name, or by its name and documentation, an attribute by the Python type of its values
        or an `AttrSpec`; without `attrs` a call may carry any attributes. `TypeError` for an entry of another form, or
        for `args` as one string.
        """
        new = (
            True,
            read_operands(self.name, args),
            None if var_args is None else read_operand(self.name, var_args),
            read_operands(self.name, ty_args),
            None if attrs is None else read_attributes(self.name, attrs),
        )
        if OPEN:
            old = tuple([getattr(self, field) for field in _SIGNATURE])
            note_undo(lambda: self._sign(old))
        self._sign(new)

    def _sign(self, values: Iterable[Any]) -> None:
        for field, value in zip(_SIGNATURE, values, strict=True):
            _set(self, field, value)

    def count_fault(self, given: int) -> str | None:
        """Return what is wrong with a number of operands, as ``expects 1 argument, got 0``; None when it is right."""
        if not self.has_signature:
            return None
        return count_fault(len(self.args_info), self.var_args_info is not None, given)

    # --- attributes ---------------------------------------------------------------------------------------------------

    def set_attr(self, key: str, value: Any, override: bool = False) -> None:
        """Set the attribute `key`.

        `ValueError` when it is set already and `override` is false, or `value` is None; `TypeError` when a standard
        attribute would hold a value of the wrong kind.
        """
        attributes = self._attributes
        if value is None:
            raise ValueError(f"{self.name}: attribute '{key}' cannot be None")
        if key in attributes and not override:
            raise ValueError(f"{self.name}: attribute '{key}' is already set; pass override=True to replace it")
        stored = checked(self.name, key, value)
        if OPEN:
            self._note_attribute(key)
        attributes[key] = stored

    def get_attr(self, key: str, default: Any = _BY_KEY) -> Any:
        """Return the attribute `key`.

        When it is not set: `default` if given, else what a standard attribute then counts as, else None.
        """
        value = self._attributes.get(key, default)
        return standard_default(key) if value is _BY_KEY else value

    def has_attr(self, key: str) -> bool:
        """Tell whether the attribute `key` is set."""
        return key in self._attributes

    def reset_attr(self, key: str) -> None:
        """Remove the attribute `key`; nothing happens when it is not set."""
        if key in self._attributes:
            if OPEN:
                self._note_attribute(key)
            del self._attributes[key]

    def _note_attribute(self, key: str) -> None:
        attributes, before = self._attributes, self._attributes.get(key)
        note_undo(lambda: attributes.pop(key, None) if before is None else attributes.update({key: before}))

    def list_attrs(self) -> list[str]:
        """Return the keys of the attributes that are set, sorted."""
        return sorted(self._attributes)

    # --- what attributes say of a call --------------------------------------------------------------------------------

    @property
    def is_expression(self) -> bool:
        """Whether its nodes are values: so are those of all but structural and region operators.

        A structural operator whose nodes are values, as a constant, says so with `TExpression`.
        """
        attributes = self._attributes
        if "FRegionGetBodyParams" in attributes:
            return False
        return not attributes.get("TStructural", False) or bool(attributes.get("TExpression", False))

    def allowed_in(self, dialect: str) -> bool:
        """Tell whether the bodies of a dialect may contain calls of it (`TDialects`)."""
        dialects = self._attributes.get("TDialects")
        return dialects is None or dialect in dialects

    def result_type(self, call: Node) -> Any:
        """Return the type that the operator gives a call by `TFixedReturnType`, else `FInferType`; None without a rule.

        What the rule raises is raised; `TypeError` when it returns no type.
        """
        attributes = self._attributes
        fixed = attributes.get("TFixedReturnType")
        if fixed is not None:
            return fixed
        infer = attributes.get("FInferType")
        return None if infer is None else read_type(infer(call))

    def expose(self) -> list[str]:
        """Publish a Python helper that makes calls, and return where, as ``ops.my_ext.square`` below ``scaly_ir``.

        See `namespaces.expose`.
        """
        from scaly_ir.namespaces import expose  # makes calls, and so nodes, which point at operators

        return expose(self)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{self.name}: cannot set '{name}'; an operator is changed by its methods")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self.name}: cannot delete '{name}'")

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Op:
        return self

    def __reduce__(self) -> tuple[Callable[[str], Op], tuple[str]]:
        return Op.get, (self.name,)


class OpAttrMap(Mapping[Op, Any]):
    """The values of one attribute key, by operator: live, read-only, in order of registration.

    It holds what is set, not what an attribute counts as while it is not. `get` gives its default for any expression
    that is no operator.
    """

    __slots__ = ("attr_name",)

    def __init__(self, attr_name: str) -> None:
        self.attr_name = attr_name

    def get(self, op: object, default: Any = None) -> Any:
        """Return the value for an operator; `default` where there is none, and for whatever is no operator."""
        return super().get(op, default) if isinstance(op, Op) else default

    def __getitem__(self, op: Op) -> Any:
        if not isinstance(op, Op):
            raise KeyError(op)
        return op._attributes[self.attr_name]

    def __iter__(self) -> Iterator[Op]:
        return iter([op for op in _REGISTRY.values() if self.attr_name in op._attributes])

    def __len__(self) -> int:
        return sum([self.attr_name in op._attributes for op in _REGISTRY.values()])

    def __setitem__(self, op: Op, value: Any) -> NoReturn:
        raise TypeError("an operator attribute map is read-only; use op.set_attr")

    def __delitem__(self, op: Op) -> NoReturn:
        raise TypeError("an operator attribute map is read-only; use op.reset_attr")

    def __repr__(self) -> str:
        return f"OpAttrMap({self.attr_name!r}, {len(self)} operators)"


_REGISTRY: Final[dict[str, Op]] = {}

_set = object.__setattr__
_SIGNATURE: Final = ("has_signature", "args_info", "var_args_info", "ty_args_info", "attr_specs")
_NO_SIGNATURE: Final = (False, (), None, (), None)


def op_list(prefix: str) -> list[Op]:
    """Return the operators whose name starts with `prefix`, in order of registration."""
    return [op for name, op in _REGISTRY.items() if name.startswith(prefix)]


def register_op_attr(name: str, key: str, value: Any = _BY_KEY, override: bool = False) -> Any:
    """Set an attribute of the operator `name`, registering it if need be, and return the value.

    Without `value`, return a decorator that sets what it decorates. Raises as `Op.set_attr` and `Op.register` do.
    """

    def decorate(decorated: _T) -> _T:
        with RegistryScope(keep_on_success=True):
            op = _REGISTRY.get(name)
            (Op.register(name) if op is None else op).set_attr(key, decorated, override)
        return decorated

    return decorate if value is _BY_KEY else decorate(value)


import scaly_ir.prim  # noqa: E402, F401 - the shared operators belong to the registry; registering them takes all of it
