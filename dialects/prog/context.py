"""What is known at one place of a `prog` program: the names in scope, the storage behind buffers, the enclosing loops.

The verifier's walk keeps a `Context` up to date; the rules that depend on a place read it.
"""

from __future__ import annotations

from typing import NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import Affine, extremes, loop_values
from scaly_ir.graph import Node
from scaly_ir.spec import Note
from scaly_ir.types import INT64, DType


class Declaration(NamedTuple):
    """What a name stands for: a ``buffer``, a ``loop variable`` or a ``scalar``."""

    kind: str
    dtype: DType
    node: Node
    statement: int
    statement_node: Node


class Storage(NamedTuple):
    """The storage behind a buffer: its owner's name, the offset into it, and whether it may be written."""

    root: str
    offset: int
    writable: bool


class Context:
    """What is known at one place of a program: names, enclosing loops, procedures."""

    def __init__(self, root: Node) -> None:
        self.fragment = root.op not in (ops.PROGRAM, ops.PROC)
        self.complete = root.op is ops.PROGRAM and not root.attrs.get("bare")
        procs = root.args if root.op is ops.PROGRAM else (root,) if root.op is ops.PROC else ()
        self.all_procs = frozenset([proc.attrs.get("name") for proc in procs if proc.op is ops.PROC])
        self.procs: dict[str, tuple[Node, int]] = {}
        self.statement = -1
        self.in_proc = -1
        self.proc_statement = -1
        self.proc: Node | None = None
        self.names: dict[str, Declaration] = {}
        self.storage: dict[str, Storage] = {}
        self._sizes: dict[str, int] = {}
        self.windows: list[tuple[int, int, str]] = []
        self.callee_needs: int | None = 0
        """The largest workspace that the callees so far say they need; None when one does not say."""
        self.loops: list[Node] = []
        self._known: list[str | None] = []
        """The variable of each loop around, where its values are known."""
        self.values: dict[str, range] = {}
        self.unknown_loops = 0
        self._undo: list[list[tuple[str, Declaration | None]]] = []
        self.scope = 0
        """The number of the innermost scope; every scope of a program has its own."""
        self.open_scopes = {0}
        self._scopes = [0]
        self._scope_count = 0

    def enter_proc(self, proc: Node) -> None:
        """Begin a procedure: nothing is declared."""
        self.proc = proc
        self.in_proc = -1
        self.proc_statement = self.statement
        self.names = {}
        self.storage = {}
        self._sizes = {}
        self.windows = []
        self.callee_needs = 0
        self._open_scope()

    def enter_loop(self, loop: Node) -> None:
        """Begin the body of a loop."""
        self.loops.append(loop)
        self._open_scope()
        domain = loop.args[0] if loop.args else loop
        name = domain.attrs.get("name")
        if domain.op is not ops.RANGE or type(name) is not str:
            name = None
        values = None if name is None else loop_values(domain)
        if name is not None and values:
            self.values[name] = values
            self._known.append(name)
        else:
            self.unknown_loops += 1
            self._known.append(None)
        if name is not None and name not in self.names:
            self.declare(name, Declaration("loop variable", INT64, domain, self.statement, loop))

    def leave(self) -> None:
        """End a loop or procedure: what it declared goes out of scope."""
        for name, previous in reversed(self._undo.pop()):
            if previous is None:
                del self.names[name]
            else:
                self.names[name] = previous
        self.open_scopes.discard(self._scopes.pop())
        self.scope = self._scopes[-1]
        if self.loops:
            self.loops.pop()
            known = self._known.pop()
            if known is None:
                self.unknown_loops -= 1
            else:
                self.values.pop(known, None)
        else:
            self.proc = None

    def _open_scope(self) -> None:
        self._undo.append([])
        self._scope_count += 1
        self.scope = self._scope_count
        self._scopes.append(self.scope)
        self.open_scopes.add(self.scope)

    def declare(self, name: str, declaration: Declaration) -> None:
        """Bring a name into scope."""
        self._undo[-1].append((name, self.names.get(name)))
        self.names[name] = declaration

    def declared_before(self, name: str) -> tuple[Note, ...]:
        """Return the note on where a name was declared."""
        known = self.names.get(name)
        if known is None:
            return ()
        return (Note(f"%{name} is declared here", known.statement, known.statement_node, known.node),)

    def size(self, name: str) -> int | None:
        """Return the number of elements of a buffer, or None when it is no well-formed buffer."""
        known = self._sizes.get(name)
        if known is None:
            declaration = self.names.get(name)
            if declaration is None or declaration.kind != "buffer":
                return None
            known = buffer_size(declaration.node)
            if known is not None:
                self._sizes[name] = known
        return known

    def reach(self, form: Affine | None) -> tuple[int, int] | None:
        """Return the least and greatest value of an index where every enclosing loop certainly runs, else None."""
        if form is None or self.unknown_loops:
            return None
        return extremes(form, self.values)


def buffer_size(node: Node) -> int | None:
    """Return the number of elements a declaration stands for, or None when its shape is wrong."""
    size = 1
    shape = node.attrs.get("shape")
    if type(shape) is not tuple:
        return None
    for extent in shape:
        if type(extent) is not int or extent < 0:
            return None
        size *= extent
    return size


def declaration_name(declaration: Declaration) -> str:
    """Return the name a declaration introduces."""
    attrs = declaration.node.attrs
    return str(attrs.get("name", attrs.get("target", "")))
