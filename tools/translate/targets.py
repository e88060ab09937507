"""The table of targets: what each is called, which options it has, and where its code is.

A target is loaded when it is asked for. What plug-ins translate to (`plugins.TRANSLATIONS`) counts as a target too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, NamedTuple

from scaly_ir.dialect import dialect_of
from scaly_ir.errors import PipelineError, TranslateError
from scaly_ir.graph import Node
from scaly_ir.pass_manager import read_options
from scaly_ir.pipeline import Item, parse_pipeline
from scaly_ir.plugins import TRANSLATIONS
from scaly_ir.running import loaded
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.locations import Locations


class Input(NamedTuple):
    """What is translated: a verified root, where its statements stand, and the name of its file."""

    root: Node
    locations: Locations
    name: str


class Target(NamedTuple):
    """One target: `translate` is ``module:function``, called with an `Input` and the options.

    `dialects` are those whose modules it takes, None for any; `options` is ``module:class`` of a dataclass, if any.
    """

    summary: str
    extension: str
    translate: str
    dialects: frozenset[str] | None = None
    options: str = ""


_PROG: Final = frozenset({"prog"})
_HERE: Final = "scaly_ir.tools.translate"

TARGETS: Final[dict[str, Target]] = {
    "c": Target("C source of a program", ".c", f"{_HERE}.c_text:source", _PROG, "scaly_ir.tools.c.options:COptions"),
    "header": Target("the C header for it", ".h", f"{_HERE}.c_text:header", _PROG, "scaly_ir.tools.c.options:COptions"),
    "dot": Target("the graph of operations, for Graphviz", ".dot", f"{_HERE}.dot:dot_text"),
    "json": Target("every node with attributes, types and places", ".json", f"{_HERE}.json_text:json_text"),
    "python": Target("Python source with NumPy that computes the same", ".py", f"{_HERE}.python:python_text", _PROG),
    "sir": Target("the canonical text", ".sir", f"{_HERE}.sir:sir_text"),
}
"""By name."""


@dataclass(frozen=True)
class _NoOptions:
    """The options of a target that has none."""


def _load(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def target_names() -> list[str]:
    """Return the names of all targets, sorted."""
    return sorted({*TARGETS, *TRANSLATIONS})


def target_of_file(path: str) -> str | None:
    """Return the target that the extension of a file stands for, or None."""
    return next((name for name, target in TARGETS.items() if path.endswith(target.extension)), None)


@dataclass(frozen=True, slots=True)
class Request:
    """A target with its options, ready to be applied to inputs."""

    target: str
    function: Callable[[Input], str]

    def apply(self, given: Input) -> str:
        """Return the text for an input; `TranslateError` when the target does not take such a module."""
        target = TARGETS.get(self.target)
        dialect = given.root.op.dialect
        if target is not None and target.dialects is not None and dialect not in target.dialects:
            raise _foreign(given.root, self.target, target.dialects)
        text = self.function(given)
        return text if not text or text.endswith("\n") else f"{text}\n"


def _foreign(root: Node, name: str, takes: frozenset[str]) -> TranslateError:
    """Return the error for a module of a dialect that a target does not take, at the first operation of the entry."""
    shown = ", ".join([f"'{taken}'" for taken in sorted(takes)])
    dialect = dialect_of(root)
    entry = root.args[-1] if root.op.get_attr("TModule", False) and root.args else None
    if entry is None or not dialect.lowered_by:
        return TranslateError(f"target '{name}' takes a module of dialect {shown}, not of '{dialect.name}'")
    runner = loaded(dialect)
    outside = {entry} if runner is None else {entry, *[port.place[0] for port in runner.signature(entry).inputs]}
    inside = [node for node in dialect.operations(entry) if node not in outside and not node.op.get_attr("TConst")]
    node = (inside or [entry])[0]
    place = dialect.place_of(root, node, entry.attrs["name"])
    message = f"'{node.op.name}' has no form in target '{name}', which takes dialect {shown}"
    return TranslateError(message, place, dialect.lowered_by)


def read_request(text: str) -> Request:
    """Read ``TARGET`` or ``TARGET{option=value ...}``; `PipelineError` says what is wrong and where."""
    name = text.partition("{")[0]
    if not name.strip() or any([mark in name for mark in ",=()\"'"]):
        raise PipelineError(f"expected a target, found '{text}'", text=text, start=0, end=len(text))
    (item, *more) = parse_pipeline(text)
    if more:
        start = more[0].start
        raise PipelineError("expected one target; repeat '--to' for another", text=text, start=start, end=more[0].end)
    if item.name in TARGETS:
        return _own_request(item, text)
    if item.name in TRANSLATIONS:
        options = {option.key: option.value for option in item.options}
        translate = TRANSLATIONS[item.name]
        return Request(item.name, lambda given: translate(given.root, options))
    hint = did_you_mean(item.name, target_names()) or "; --list-targets shows all"
    raise PipelineError(f"unknown target '{item.name}'{hint}", text=text, start=item.start, end=item.end)


def _own_request(item: Item, text: str) -> Request:
    cls = _options_class(item.name)
    options = cls(**read_options(item, cls, f"target '{item.name}'", text))

    def translate(given: Input) -> str:
        result: str = _load(TARGETS[item.name].translate)(given, options)
        return result

    return Request(item.name, translate)


def _options_class(name: str) -> type[Any]:
    place = TARGETS[name].options
    found: type[Any] = _load(place) if place else _NoOptions
    return found


# --- what there is ----------------------------------------------------------------------------------------------------


def list_targets() -> str:
    """Return a line for each target."""
    names = target_names()
    width = max([len(name) for name in names])
    return "".join([f"{name:{width}}  {_summary(name)}\n" for name in names])


def _summary(name: str) -> str:
    if name in TARGETS:
        return TARGETS[name].summary
    doc = (TRANSLATIONS[name].__doc__ or "").strip().partition("\n")[0].rstrip(".")
    return doc or "(from a plug-in)"


def describe_target(name: str) -> str | None:
    """Return what a target is and which options it has; None when there is no such target."""
    if name not in target_names():
        return None
    from scaly_ir.tools.discovery.options import option_lines

    lines = [f"{name}: {_summary(name)}"]
    target = TARGETS.get(name)
    if target is not None:
        takes = "any dialect" if target.dialects is None else f"dialect {', '.join(sorted(target.dialects))}"
        lines.append(f"  target, takes modules of {takes}; the extension of its files is {target.extension}")
        lines += option_lines(_options_class(name))
    return "\n".join(lines) + "\n"
