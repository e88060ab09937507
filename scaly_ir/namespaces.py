"""The namespaces in which operators stand as Python functions that make calls: `prim`, `tirx`, `ops` and `T`.

``scaly_ir.ops.my_ext.square(x)`` and ``scaly_ir.T.my_ext.square(x)`` make the same call. `expose` publishes such
helpers; those of the shared scalar operators are there from the start. Builders may add names of their own to `T`.
Source: operator specification A6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.call import Call
from scaly_ir.graph import Node
from scaly_ir.op import Op, op_list
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.undo import OPEN, note_undo


class Namespace:
    """A named bag of helpers and further namespaces, reached as attributes."""

    __slots__ = ("__dict__", "_path")

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"namespace '{self._path}' has no '{name}'{did_you_mean(name, self.__dict__)}")

    if TYPE_CHECKING:  # anything may be put into one

        def __setattr__(self, name: str, value: Any) -> None: ...

    def __dir__(self) -> list[str]:
        return sorted(self.__dict__)

    def __repr__(self) -> str:
        return f"<namespace {self._path}>"


prim: Final = Namespace("prim")
tirx: Final = Namespace("tirx")
ops: Final = Namespace("ops")
T: Final = Namespace("T")

_ROOTS: Final = {"prim": prim, "tirx": tirx, "ops": ops, "T": T}


def destinations(op_name: str) -> list[str]:
    """Return where the helper of an operator belongs, as paths below ``scaly_ir``; keywords get a trailing ``_``."""
    segments = [f"{segment}_" if iskeyword(segment) else segment for segment in op_name.split(".")]
    path = ".".join(segments)
    if segments[:2] == ["tirx", "cuda"] and len(segments) > 2:
        return [f"T.{path.removeprefix('tirx.')}"]
    if segments[0] in ("prim", "tirx"):
        return [path, f"T.{path.partition('.')[2]}"]
    return [f"ops.{path}", f"T.{path}"]


def expose(op: Op) -> list[str]:
    """Publish the helper of an operator and return the paths where it was published, as ``T.my_ext.square``.

    A path where something callable stands already is left alone, so a second call publishes nothing. `ValueError` when
    the operator has no signature, when something else stands at one of the paths, or when a name in one means something
    to Python, as ``__class__``; nothing is published then.
    """
    if not op.has_signature:
        raise ValueError(f"{op.name}: set_signature comes before expose")
    free = [path for path in destinations(op.name) if _is_free(op, path)]
    helper = make_helper(op)
    for path in free:
        _publish(path, helper)
    return free


def _is_free(op: Op, path: str) -> bool:
    *holders, last = path.split(".")
    for name in (*holders, last):
        if name.startswith("__") or name in Namespace.__slots__:
            raise ValueError(f"{op.name}: '{name}' is no name in a namespace")
    space: Any = _ROOTS[holders[0]]
    for place, name in enumerate(holders[1:], start=2):
        space = vars(space).get(name)
        if space is None:
            return True
        if not isinstance(space, Namespace):
            raise ValueError(f"{op.name}: '{'.'.join(holders[:place])}' is no namespace")
    taken = vars(space).get(last)
    if taken is not None and not callable(taken):
        raise ValueError(f"{op.name}: '{path}' is taken by {taken!r}")
    return taken is None


def _publish(path: str, helper: Callable[..., Node]) -> None:
    *holders, last = path.split(".")
    space = _ROOTS[holders[0]]
    for place, name in enumerate(holders[1:], start=2):
        inner = vars(space).get(name)
        if inner is None:
            inner = Namespace(".".join(holders[:place]))
            _put(space, name, inner)
        space = inner
    _put(space, last, helper)


def _put(space: Namespace, name: str, value: Any) -> None:
    setattr(space, name, value)
    if OPEN:
        note_undo(lambda: vars(space).pop(name))


def make_helper(op: Op) -> Callable[..., Node]:
    """Return the function that makes calls of an operator.

    Keywords name operands first; the others are attributes of the call. `TypeError` for an operand that is missing or
    given twice, for a keyword that is neither, and for attributes given in both ways.
    """

    def helper(
        *args: Any,
        attrs: Mapping[str, Any] | None = None,
        ty_args: Sequence[Any] | None = None,
        ty: Any = None,
        loc: Any = None,
        **keywords: Any,
    ) -> Node:
        operands = _bind(op, args, keywords)
        if keywords:
            if attrs is not None:
                raise TypeError(f"{op.name}: cannot mix attrs with attribute keywords")
            for name in keywords:
                if op.attr_specs is not None and name not in op.attr_specs:
                    raise TypeError(f"{op.name}: unexpected keyword '{name}'{did_you_mean(name, _keywords(op))}")
        return Call(op, operands, keywords or attrs, ty_args, ty=ty, loc=loc)

    helper.__name__ = helper.__qualname__ = op.mnemonic
    helper.__doc__ = op.doc
    return helper


def _bind(op: Op, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """Return the operands in order, and take those given by keyword out of `keywords`."""
    operands = list(args)
    for position, operand in enumerate(op.args_info):
        given = operand.name in keywords
        if position < len(args):
            if given:
                raise TypeError(f"{op.name}: multiple values for '{operand.name}'")
        elif not given:
            raise TypeError(f"{op.name}: missing operand '{operand.name}'")
        else:
            operands.append(keywords.pop(operand.name))
    wrong_count = op.count_fault(len(operands))
    if wrong_count is not None:
        raise TypeError(f"{op.name} {wrong_count}")
    return operands


def _keywords(op: Op) -> list[str]:
    return [*[operand.name for operand in op.args_info], *(op.attr_specs or {})]


for _op in op_list("prim."):
    if not _op.get_attr("TStructural"):
        expose(_op)
