"""Plug-ins: third-party packages that add operators, passes, dialects and translations without touching this project.

A plug-in is a callable that takes a `PluginRegistry`, announced by a package as an entry point of the group
``scaly_ir.plugins`` or named on a command line. What is installed is found by reading ``*.dist-info/entry_points.txt``
on `sys.path`, which takes a millisecond; `importlib.metadata` would take fifty. Source: operator specification A8.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from scaly_ir.errors import PluginError, described
from scaly_ir.undo import RegistryScope, note_undo

if TYPE_CHECKING:
    from scaly_ir.dialect import Dialect
    from scaly_ir.graph import Node
    from scaly_ir.pass_manager import Pass

GROUP: Final = "scaly_ir.plugins"
SWITCH: Final = "SCALY_IR_PLUGINS"
"""The environment variable that keeps installed plug-ins out when it is set to one of `_OFF`, in any case."""
_OFF: Final = frozenset({"0", "no", "false", "off"})

Translation = Callable[["Node", Mapping[str, str]], str]

TRANSLATIONS: Final[dict[str, Translation]] = {}
"""What plug-ins translate to, by name."""


class PluginRegistry:
    """What a plug-in registers with; operators and their attributes go through `Op` directly.

    `PluginError` for a name that is taken or that nobody could write, `TypeError` for what is of another kind than it
    should be.
    """

    def add_dialect(self, dialect: Dialect) -> None:
        """Add a dialect."""
        from scaly_ir.dialect import add_dialect

        add_dialect(dialect)

    def add_pass(
        self,
        name: str,
        factory: type[Pass] | Callable[..., Node],
        *,
        dialects: Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a pass, which the tools then know under `name`.

        `factory` is a `Pass` class, whose fields are its options, or a function ``f(root, **options) -> root``, whose
        options `options` lists by name with their defaults; a type in place of a default makes an option required.
        `dialects` are those whose modules a function takes, all when left out; a class says so itself. Options are of
        the types bool, int, float and str.
        """
        from scaly_ir.pass_manager import Pass, function_pass

        _check_name(name, "pass")
        passes: dict[str, Any] = import_module("scaly_ir.passes").PASSES
        if not isinstance(factory, type):
            if not callable(factory):
                raise TypeError(f"pass '{name}' is neither a Pass class nor a function")
            named = None if dialects is None else _dialect_names(name, dialects)
            _check_options(name, options or {})
            added = function_pass(name, factory, named, options or {})
        elif not issubclass(factory, Pass):
            raise TypeError(f"pass '{name}' is neither a Pass class nor a function")
        elif factory.name != name:
            raise PluginError(f"pass '{name}' calls itself '{factory.name}'")
        elif dialects is not None or options is not None:
            raise TypeError(
                f"pass '{name}' is a class, whose fields are its options and which names its dialects itself"
            )
        else:
            if factory.dialects is not None:
                _dialect_names(name, factory.dialects)
            added = factory
        _add(passes, name, added, "pass")

    def add_translation(self, name: str, fn: Translation) -> None:
        """Add a translation: ``fn(root, options) -> text``, where options are strings."""
        _check_name(name, "translation")
        if not callable(fn):
            raise TypeError(f"translation '{name}' is no function")
        if name in import_module("scaly_ir.tools.translate.targets").TARGETS:
            raise PluginError(f"translation '{name}' exists already")
        _add(TRANSLATIONS, name, fn, "translation")


_is_name: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
"""Tells whether a pipeline or a command line can name something so; there ``-`` stands for ``_``."""
_OPTION_TYPES: Final = (bool, int, float, str)


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"the name of a {what} is a string, not {name!r}")
    if not _is_name(name):
        raise PluginError(f"'{name}' is no name of a {what}; expected letters, digits and '_'")


def _dialect_names(name: str, dialects: Iterable[str]) -> list[str]:
    """Return the dialects of a pass; a text alone, whose letters they would be, is refused."""
    found = [] if isinstance(dialects, str) or not isinstance(dialects, Iterable) else list(dialects)
    if not found or not all([isinstance(each, str) and _is_name(each) for each in found]):
        raise TypeError(f"the dialects of pass '{name}' are a collection of names, not {dialects!r}")
    return found


def _check_options(name: str, options: Mapping[str, Any]) -> None:
    from scaly_ir.pass_manager import Pass

    for key, value in options.items():
        if not isinstance(key, str) or not _is_name(key) or iskeyword(key) or key in dir(Pass):
            raise PluginError(f"pass '{name}' cannot have an option called {key!r}")
        if (value if isinstance(value, type) else type(value)) not in _OPTION_TYPES:
            expected = "a bool, int, float or str, or one of these types"
            raise TypeError(f"option '{key}' of pass '{name}' expects {expected}, got {value!r}")


def _add(table: dict[str, Any], name: str, value: Any, what: str) -> None:
    if name in table:
        raise PluginError(f"{what} '{name}' exists already")
    table[name] = value
    note_undo(lambda: table.pop(name))


# --- loading ----------------------------------------------------------------------------------------------------------


class EntryPoint(NamedTuple):
    """One announced plug-in. Its distribution is named as in ``my-ext 0.1``, and empty for one from a command line."""

    distribution: str
    name: str
    target: str
    """``module:function``."""

    @property
    def title(self) -> str:
        """How messages call it."""
        return f"plugin '{self.name}' of '{self.distribution}'" if self.distribution else f"plugin '{self.name}'"


_LOADED: Final[dict[EntryPoint, str]] = {}
"""The names of the plug-ins that are loaded."""
_state = {"installed": False}


def load_plugins() -> list[str]:
    """Load every installed plug-in, once per process, in order of distribution and name; return the names of all.

    Nothing is loaded where the environment has ``SCALY_IR_PLUGINS`` at ``0``, ``no``, ``false`` or ``off``.
    `PluginError` when one raises: what it had registered is taken back, and a later call starts again with it.
    """
    if not _state["installed"] and os.environ.get(SWITCH, "").strip().lower() not in _OFF:
        for entry in sorted(_installed(sys.path)):
            _load(entry)
        _state["installed"] = True
        note_undo(lambda: _state.update(installed=False))
    return list(_LOADED.values())


def load_plugin(target: str) -> None:
    """Load the plug-in ``module:function``, installed or not, once per process; raises as `load_plugins` does."""
    _load(EntryPoint("", target, target))


def _load(entry: EntryPoint) -> None:
    if entry in _LOADED:
        return
    try:
        with RegistryScope(keep_on_success=True):
            register = _resolved(entry.target)
            register(PluginRegistry())
            _LOADED[entry] = entry.name
            note_undo(lambda: _LOADED.pop(entry))
    except (Exception, SystemExit) as failure:  # whatever third-party code raises is the user's to see
        raise PluginError(f"{entry.title} failed: {described(failure)}") from failure


def _resolved(target: str) -> Callable[[PluginRegistry], object]:
    module, _, path = target.partition(":")
    found: Any = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"'{target}' is no function but a '{type(found).__name__}'")
    return found  # type: ignore[no-any-return]


# --- what is installed ------------------------------------------------------------------------------------------------


_Found: TypeAlias = dict[tuple[str, ...], list[EntryPoint]]
_remembered: list[_Found] = []
"""What was found before, by the paths that were searched; the last one counts."""


@contextmanager
def remembering_installed(found: _Found) -> Iterator[None]:
    """Take `found` for what is installed, and add to it: for runs of many tools in one process, where that is known."""
    _remembered.append(found)
    try:
        yield
    finally:
        _remembered.pop()


def _installed(paths: Iterable[str]) -> list[EntryPoint]:
    key = tuple([os.path.abspath(path) for path in paths])
    found = _remembered[-1] if _remembered else {}
    if key not in found:
        found[key] = installed_plugins(key)
    return found[key]


def installed_plugins(paths: Iterable[str]) -> list[EntryPoint]:
    """Return the entry points of the group in distributions on `paths`; of two of one name, the first counts."""
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for path in paths:
        try:
            names = os.listdir(path or ".")
        except OSError:  # a path that does not exist, or an archive
            continue
        for name in names:
            if not name.endswith(".dist-info"):
                continue
            project = name.partition("-")[0].lower()
            if project not in seen:
                seen.add(project)
                found += _announced(os.path.join(path, name))
    return found


def _announced(folder: str) -> Iterator[EntryPoint]:
    """Yield the plug-ins that one distribution announces."""
    text = _read(os.path.join(folder, "entry_points.txt"))
    if GROUP not in text:
        return
    distribution = _distribution(folder)
    section = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line.strip("[] \t")
        elif section == GROUP and line and line[0] not in "#;":
            name, _, target = line.partition("=")
            yield EntryPoint(distribution, name.strip(), target.partition("[")[0].strip())


def _distribution(folder: str) -> str:
    """Return the name and version of a distribution; those of its folder where it has no metadata."""
    fields: dict[str, str] = {}
    for line in _read(os.path.join(folder, "METADATA")).splitlines():
        if not line.strip():  # the description follows
            break
        key, _, value = line.partition(":")
        fields.setdefault(key, value.strip())
    name, _, version = os.path.basename(folder).removesuffix(".dist-info").partition("-")
    return f"{fields.get('Name', name)} {fields.get('Version', version)}"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
