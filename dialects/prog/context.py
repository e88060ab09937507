"""What is known at one place of a `prog` program: the names in scope, the storage behind buffers, the enclosing loops.

The verifier's walk keeps a `Context` up to date; the rules that depend on a place read it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final, NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import Affine, extremes, loop_values
from scaly_ir.graph import Node
from scaly_ir.spec import Fault
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.locations import Part, Place
from scaly_ir.text.spelling import spell_name
from scaly_ir.types import INT64, DType, int_range

Notes = tuple[tuple[str, Place], ...]

_SUGGEST_AMONG: Final = 2000
"""With more names in scope than that, no similar one is looked for."""
_SUGGESTIONS: Final = 100
"""So often a similar name is looked for: nobody reads more, and it would take long."""


class Declaration(NamedTuple):
    """What a name stands for: a ``buffer``, a ``loop variable`` or a ``scalar``; with an empty kind, nobody knows.

    The latter is a name with a faulty declaration: what uses it is not checked, so that one mistake gives one message.
    """

    kind: str
    dtype: DType
    node: Node
    place: Place
    size: int | None = None
    """The number of elements of a buffer, or None when its shape is wrong."""


class Storage(NamedTuple):
    """The storage behind a buffer: its owner's name, the offset into it, and whether it may be written."""

    root: str
    offset: int
    writable: bool


class _Scope(NamedTuple):
    """One open body: its number, what the names it declares stood for before, and the variable with known values."""

    number: int
    before: list[tuple[str, Declaration | None]]
    variable: str | None
    unknown: int
    """1 for the body of a loop of which nobody knows whether it runs."""


class Damage(NamedTuple):
    """What verification leaves out of a text with mistakes."""

    statements: frozenset[int] = frozenset()
    """The numbers of statements that are not checked, and whose names stand for nothing known."""
    names: frozenset[str] = frozenset()
    """Names that may have been defined where the text could not be read."""


class Context:
    """What is known at one place of a program: names, enclosing loops, procedures."""

    def __init__(self, root: Node) -> None:
        self.fragment = root.op not in (ops.PROGRAM, ops.PROC)
        self.complete = root.op is ops.PROGRAM and not root.attrs.get("bare")
        procs = root.args if root.op is ops.PROGRAM else (root,) if root.op is ops.PROC else ()
        self.all_procs = dict.fromkeys([name for proc in procs if type(name := proc.attrs.get("name")) is str])
        self.procs: dict[str, tuple[Node, Place]] = {}
        """The procedures that are complete."""
        self.statement = -1
        """The number of the current statement in program order."""
        self.in_proc = -1
        """The same, counted from the first one of the procedure."""
        self.proc: Node | None = None
        self.proc_place: Place
        self.in_header = False
        """Whether the parameters of `proc` are being declared."""
        self.names: dict[str, Declaration] = {}
        self.storage: dict[str, Storage] = {}
        self.windows: list[tuple[int, int, str]] = []
        self.loops: list[Place] = []
        """The enclosing loops: where the variable of each is declared, outermost first."""
        self.values: dict[str, range] = {}
        self.unknown_loops = 0
        self.scope = 0
        """The number of the innermost scope; every scope of a program has its own."""
        self.open_scopes = {0}
        self._scopes = [_Scope(0, [], None, 0)]
        self._scope_count = 0
        self._ended: dict[str, Declaration] = {}
        self._suggestions = _SUGGESTIONS

    def enter_proc(self, proc: Node) -> None:
        """Begin a procedure: nothing is declared."""
        self.proc = proc
        self.proc_place = Place(self.statement, proc, proc, "name")
        self.in_proc = -1
        self.names = {}
        self.storage = {}
        self.windows = []
        self._ended = {}
        self._open_scope(None, 0)

    def enter_loop(self, loop: Node, *, sound: bool = True) -> None:
        """Begin the body of a loop; of one that is not `sound` nothing is known."""
        domain = loop.args[0] if loop.args else loop
        name = domain.attrs.get("name") if domain.op is ops.RANGE else None
        place = Place(self.statement, loop, domain, "name")
        self.loops.append(place)
        values = loop_values(domain) if domain.op is ops.RANGE and sound else None
        known = type(name) is str and name not in self.names
        self._open_scope(name if known and values else None, 0 if values else 1)
        if type(name) is not str:
            return
        if known and values:
            self.values[name] = values
        self.declare(name, Declaration("loop variable" if sound else "", INT64, domain, place))

    def leave(self) -> None:
        """End a loop or procedure: what it declared goes out of scope."""
        scope = self._scopes.pop()
        for name, previous in reversed(scope.before):
            if previous is None:
                self._ended[name] = self.names.pop(name)
            else:
                self.names[name] = previous
        self.open_scopes.discard(scope.number)
        self.scope = self._scopes[-1].number
        if self.loops:
            self.loops.pop()
            self.unknown_loops -= scope.unknown
            if scope.variable is not None:
                del self.values[scope.variable]
        else:
            self.proc = None

    def _open_scope(self, variable: str | None, unknown: int) -> None:
        self._scope_count += 1
        self.scope = self._scope_count
        self._scopes.append(_Scope(self.scope, [], variable, unknown))
        self.open_scopes.add(self.scope)
        self.unknown_loops += unknown

    def declare(self, name: str, declaration: Declaration) -> None:
        """Bring a name into scope; one that is declared already stands for nothing known from here on."""
        before = self.names.get(name)
        self._scopes[-1].before.append((name, before))
        self.names[name] = declaration if before is None else before._replace(kind="")

    def place(self, statement: Node, node: Node, part: Part = "") -> Place:
        """Return the place of a node in the current statement."""
        return Place(self.statement, statement, node, part)

    def declared_before(self, name: str) -> Notes:
        """Return the note on where a name was declared."""
        declaration = self.names.get(name)
        return () if declaration is None else ((f"{value_name(name)} is declared here", declaration.place),)

    def similar(self, name: str) -> str:
        """Return the end of a message that suggests names in scope like `name`, or an empty string."""
        return self._similar(value_name(name), self.names, value_name)

    def similar_proc(self, name: str) -> str:
        """Return the end of a message that suggests procedures called like `name`, or an empty string."""
        return self._similar(symbol_name(name), self.all_procs, symbol_name)

    def _similar(self, shown: str, known: Collection[Any], show: Callable[[Any], str]) -> str:
        if not self._suggestions or len(known) > _SUGGEST_AMONG:
            return ""
        self._suggestions -= 1
        return did_you_mean(shown, map(show, known), quote="")

    def undeclared(self, name: str, node: Node, part: Part) -> Fault:
        """Return the fault for a name that is not in scope, with a note when it was in one that has ended."""
        reason = f"name {value_name(name)} is not declared here{self.similar(name)}"
        ended = self._ended.get(name)
        if ended is None:
            return Fault(reason, node, part)
        return Fault(
            reason, node, part, ((f"{value_name(name)} is declared here, in a loop that has ended", ended.place),)
        )

    def size(self, name: Any) -> int | None:
        """Return the number of elements of a buffer, or None when it is no well-formed buffer."""
        declaration = self.names.get(name) if type(name) is str else None
        return None if declaration is None or declaration.kind != "buffer" else declaration.size

    def reach(self, form: Affine | None) -> tuple[int, int] | None:
        """Return the least and greatest value of an index where every enclosing loop certainly runs, else None."""
        if form is None or self.unknown_loops:
            return None
        return extremes(form, self.values)

    def reasons(self, form: Affine | None) -> Notes:
        """Return notes on the loops that make an index what it is."""
        notes = []
        if form is None:
            return ()
        for name, values in self.values.items():
            if name not in form.coefficients:
                continue
            first, last = values[0], values[-1]  # there may be more values than `len` can tell
            steps = f" in steps of {values.step}" if values.step != 1 and last - first > values.step else ""
            reach = f"runs from {first} to {last}{steps}" if last > first else f"is {first}"
            notes.append((f"{value_name(name)} {reach} here", self.names[name].place))
        return tuple(notes)


def value_name(name: Any) -> str:
    """Return a name of a buffer or scalar as it is written."""
    return f"%{spell_name(name)}" if type(name) is str else "%?"


def symbol_name(name: Any) -> str:
    """Return a procedure's name as it is written."""
    return f"@{spell_name(name)}" if type(name) is str else "@?"


def whole(value: Any) -> int | None:
    """Return the value of an attribute if it is an integer that fits int64, else None."""
    return value if type(value) is int and value in int_range(INT64) else None


_MOST_DIGITS: Final = 10**18
"""What the text can hold as an extent is less than that."""


def buffer_size(node: Node) -> int | None:
    """Return the number of elements a declaration stands for, or None when its shape is wrong."""
    size, most = 1, int_range(INT64)[-1]
    shape = node.attrs.get("shape")
    if type(shape) is not tuple:
        return None
    for extent in shape:
        if type(extent) is not int or not 0 <= extent < _MOST_DIGITS:
            return None
        size = min(size * extent, most + 1)  # larger products would take long
    return size if size <= most else None
