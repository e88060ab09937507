"""A procedure in the making: what rules for a function's operations work with when they emit a program.

Names of the function stand for buffers and scalars of the program. Source: matrix specification 9.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from math import prod
from typing import Final

from scaly_ir.attributes import Word
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.names import definitions, is_number
from scaly_ir.dialects.buffer.substitution import with_values
from scaly_ir.dialects.buffer.types import folded, scalar_type
from scaly_ir.dialects.prog import build as prog
from scaly_ir.dialects.prog.ops import BUFFER, RESERVED_PREFIX
from scaly_ir.graph import Node
from scaly_ir.graph.observe import report_derived
from scaly_ir.numeric.machine import wrap
from scaly_ir.passes.matrix.driver import Loops
from scaly_ir.passes.prog.names import c_spelling
from scaly_ir.types import MemRefType

STORAGE: Final = "t"
SCALAR: Final = "v"
_INDEPENDENT: Final = Word("global")
_ORDERED: Final = Word("serial")


class ProcedureNames:
    """Names of a procedure, which differ as C spells them; what a function calls its values comes first."""

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = {c_spelling(name) for name in wanted}
        self._taken: set[str] = set()
        self._kept: set[str] = set()
        """The names of parameters, as they are written."""
        self._next: dict[str, int] = {}

    def kept(self, name: str, prefix: str) -> str:
        """Return the name of a parameter, by which callers know it, whatever C makes of it."""
        if is_number(name):
            return self.numbered(prefix)
        chosen = _unreserved(name)
        if chosen != name or name in self._kept:
            chosen = self.fresh(chosen)
        self._kept.add(chosen)
        return self._take(chosen)

    def own(self, name: str, prefix: str) -> str:
        """Return the name for a value: its own, or with a number behind it; without one, a prefix and a number."""
        if not name or is_number(name):
            return self.numbered(prefix)
        stem = _unreserved(name)
        return self.fresh(stem) if c_spelling(stem) in self._taken else self._take(stem)

    def fresh(self, name: str) -> str:
        """Return a name that no value has or wants: this one, or with a number behind it."""
        chosen, number = name, self._next.get(name, 0)
        while self._is_used(chosen):
            number += 1
            chosen = f"{name}_{number}"
        self._next[name] = number
        return self._take(chosen)

    def numbered(self, prefix: str) -> str:
        """Return the prefix with the first number that makes a name which no value has or wants."""
        number = self._next.get(prefix, 0)
        while self._is_used(f"{prefix}{number}"):
            number += 1
        self._next[prefix] = number + 1
        return self._take(f"{prefix}{number}")

    def _is_used(self, name: str) -> bool:
        spelled = c_spelling(name)
        return spelled in self._taken or spelled in self._wanted

    def _take(self, name: str) -> str:
        self._taken.add(c_spelling(name))
        return name


def _unreserved(name: str) -> str:
    return f"_{name}" if name.startswith(RESERVED_PREFIX) else name


class ProcedureContext:
    """What a rule works with: it emits statements of a program and says what the values of its statement become."""

    def __init__(self, function: Node, single_uses: frozenset[int]) -> None:
        region = build.region_of(function)
        assert region is not None
        self.function = function
        self.current = function
        """The statement that is being lowered; the function itself, before the first."""
        self.number = -1
        """The number of the current statement in the order of the text."""
        self._single_uses = single_uses
        params, results = build.params_of(region), build.operands_of(function)
        declared = [*params, *results]
        self._names = ProcedureNames([*[node.attrs["name"] for node in declared], *definitions(function)])
        self.params = [_parameter(self._names.kept(node.attrs["name"], "arg"), node) for node in params]
        self.outputs = [_parameter(self._names.kept(node.attrs["name"], "out"), node) for node in results]
        self._buffers: dict[str, Node] = {}
        self._scalars: dict[str, Node] = {}
        for node, param in zip(params, self.params, strict=True):
            if isinstance(node.type, MemRefType):
                self._buffers[node.attrs["name"]] = param
            else:
                self._scalars[node.attrs["name"]] = prog.load(prog.view(param, 0))
        self._targets = _targets(region, self.outputs)
        self._bodies: list[list[Node]] = [[]]
        self._declares = [False]
        """For each open body, whether storage was declared in it that stands before the outermost loop."""

    # --- what section 10 gives to rules -------------------------------------------------------------------------------

    def emit(self, statement: Node) -> None:
        """Append a statement of the program to the innermost open body, and storage before the outermost loop."""
        report_derived(self.current, statement)
        if statement.op is BUFFER:
            self._bodies[0].append(statement)
            self._declares[-1] = True
        else:
            self._bodies[-1].append(statement)

    def fresh(self, name: str = "") -> str:
        """Return a name that the procedure does not have; without a wish, that of a scalar."""
        return self._names.fresh(name) if name else self._names.numbered(SCALAR)

    def result(self, statement: Node) -> str:
        """Return the name of the variable or buffer for what a statement binds, which the rule is to declare."""
        for name, type_ in build.results_of(statement):
            if isinstance(type_, MemRefType):
                made = self._buffers[name] = _storage(self._names.own(name, STORAGE), type_)
            else:
                made = self._scalars[name] = prog.var(self._names.own(name, SCALAR), scalar_type(type_) or type_)
            found: str = made.attrs["name"]
            return found
        return self.fresh()

    @contextmanager
    def loop_nest(self, extents: Sequence[int] | Mapping[int, int], kind: str) -> Iterator[Loops]:
        """Open a nest of loops from 0 to each extent, as `driver.Context.loop_nest` does."""
        numbered = extents if isinstance(extents, Mapping) else dict(enumerate(extents))
        variables = {number: self.fresh(f"i{number}") for number, extent in numbered.items() if extent != 1}
        for _ in variables:
            self.open()
        yield Loops([prog.var(variables[n]) if n in variables else prog.index(0) for n in numbered], ())
        for number, variable in reversed(variables.items()):
            self.close(prog.range_(variable, 0, numbered[number], kind=kind))

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, scalar: Node) -> Node:
        """Return what a scalar of the function is in the program."""
        if scalar.op is ops.UNDEF:
            return prog.const(0, scalar.type)
        return with_values(scalar, self._scalars)

    def bind(self, statement: Node, value: Node) -> None:
        """Let what a statement binds be a value: at its only use, or else in a variable."""
        if self.number in self._single_uses:
            (binding,) = build.results_of(statement)
            self._scalars[binding.name] = value
        else:
            self.emit(prog.assign(self.result(statement), value, declare=True))

    def define(self, name: str, value: Node) -> None:
        """Let a name stand for a scalar."""
        self._scalars[name] = value

    def name_of(self, *wanted: str) -> str:
        """Return the name for a variable: the first that is no number, else a numbered one."""
        return self._names.own(next((name for name in wanted if not is_number(name)), ""), SCALAR)

    # --- storage ------------------------------------------------------------------------------------------------------

    def buffer(self, value: Node) -> Node:
        """Return the declaration of a buffer of the function in the program."""
        return self._buffers[value.attrs["name"]]

    def declare(self, statement: Node) -> Node:
        """Return the storage that a statement makes: an output, or what is declared before the outermost loop."""
        names = build.names_of(statement)
        target = self._targets.get(names[0]) if names and len(self._bodies) == 1 else None
        if target is None:
            target = _storage(self._names.own(names[0] if names else "", STORAGE), statement.type)
            self.emit(target)
        self._buffers.update(dict.fromkeys(names, target))
        return target

    def element(self, buffer: Node, indices: Iterable[Node]) -> Node:
        """Return the place of an element of a buffer of the function, for indices of the program."""
        return prog.view(self.buffer(buffer), _flat(folded(buffer.type.shape), tuple(indices)))

    def for_each(self, name: str, target: Node, value: Callable[[Node], Node]) -> None:
        """Emit a flat loop that stores in each element of a buffer what `value` gives for its place."""
        domain = prog.range_(self.fresh(name), 0, prod(target.attrs["shape"]))
        at = prog.var(domain.attrs["name"])
        self.open()
        self.emit(prog.store(prog.view(target, at), value(at)))
        self.close(domain)

    # --- for the driver -----------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Begin the body of a loop."""
        self._bodies.append([])
        self._declares.append(False)

    def close(self, domain: Node) -> None:
        """End a body and emit its loop; trips that share storage which was declared in it depend on each other."""
        body = self._bodies.pop()
        if self._declares.pop():
            self._declares[-1] = True
            if domain.attrs["kind"] == _INDEPENDENT:
                domain = domain.with_attrs(kind=_ORDERED)
        self.emit(prog.for_(domain, body))

    def body(self) -> list[Node]:
        """Return the statements of the procedure."""
        (body,) = self._bodies
        return body


def _storage(name: str, type_: MemRefType) -> Node:
    return prog.buffer(name, type_.shape or (1,), type_.dtype)


def _parameter(name: str, declaration: Node) -> Node:
    type_ = declaration.type
    shape = type_.shape or (1,) if isinstance(type_, MemRefType) else (1,)
    dtype = scalar_type(type_)
    assert dtype is not None
    return prog.param(name, shape, dtype)


def _targets(region: Node, outputs: Sequence[Node]) -> dict[str, Node]:
    """Return the outputs that buffers may be, by the names of the buffers: those that are returned once."""
    returned = build.body_of(region)[-1].args
    names = [value.attrs["name"] if isinstance(value.type, MemRefType) else "" for value in returned]
    times = Counter(names)
    return {name: output for name, output in zip(names, outputs, strict=True) if name and times[name] == 1}


def _flat(shape: Sequence[int], indices: Sequence[Node]) -> Node:
    """Return the row-major place of an element: products with strides, then the sum of what is known."""
    terms: list[Node] = []
    known, stride = 0, 1
    for extent, index in zip(reversed(shape), reversed(indices), strict=True):
        if build.is_literal(index):
            known += index.attrs["value"] * stride
        else:
            terms.append(index if stride == 1 else prog.apply("mul", index, prog.index(stride)))
        stride *= extent
    terms.reverse()
    if known or not terms:
        terms.append(prog.index(wrap(known, 64)))  # as additions would, where nothing is ever reached
    return reduce(lambda total, term: prog.apply("add", total, term), terms)
