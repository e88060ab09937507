"""The options of passes and targets, which are the fields of dataclasses, in words."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from itertools import pairwise
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from scaly_ir.text.diagnostics import one_of

_KINDS: Final[dict[Any, str]] = {bool: "true or false", str: "text", int: "an integer", float: "a number"}


def option_lines(cls: type[Any]) -> list[str]:
    """Return the lines about the options of a pass or target: each with default and type, then what it is for."""
    hints, docs = get_type_hints(cls), field_docs(cls)
    lines = []
    for field in fields(cls):
        lines.append(f"  {field.name}{_default(field)} ({_kind(hints[field.name])})")
        lines += [f"      {line}" for line in docs.get(field.name, ())]
    return lines


def _default(field: Field[Any]) -> str:
    value = field.default if field.default_factory is MISSING else field.default_factory()
    if value is MISSING:
        return ""
    if isinstance(value, bool):
        return f"={str(value).lower()}"
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"={text or chr(34) * 2}"


def _kind(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return one_of([str(choice) for choice in get_args(hint)])
    if get_origin(hint) is tuple:
        return f"a list, each {_kind(get_args(hint)[0])}"
    return _KINDS.get(hint, str(hint))


def field_docs(cls: type[Any]) -> Mapping[str, list[str]]:
    """Return what each field is for: the string behind it in the source of the class, or of one that it extends."""
    docs: dict[str, list[str]] = {}
    for each in reversed(cls.__mro__[:-1]):
        docs.update(_own_docs(each))
    return docs


def _own_docs(cls: type[Any]) -> Mapping[str, list[str]]:
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}  # made at run time, as the pass of a function is
    docs: dict[str, list[str]] = {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for field, after in pairwise(body):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                docs[name] = inspect.cleandoc(doc).splitlines()
    return docs
