"""Run once, before a loop over calls, what the callee computes from arguments that are the same in every trip.

The callee becomes two procedures: a prologue, called before the loop, and a body that receives its results. Procedures
are visited callees first, so that what is invariant in several loops around each other leaves them all. Source:
lowering specification 3.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from scaly_ir.counters import count
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import trip_count
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.observe import report_derived
from scaly_ir.op import CallEffectKind
from scaly_ir.pass_manager import Pass
from scaly_ir.passes.prog.invariant_split import Split, is_pure, split
from scaly_ir.passes.prog.names import UniqueNames, taken_names
from scaly_ir.passes.prog.procedures import callees_of, with_procedures
from scaly_ir.passes.prog.references import Dependences, Effects, effect
from scaly_ir.passes.prog.shapes import is_mapped_call

_PACKED: Final = frozenset({"sz_w", "w_self", "callee_needs_w"})
"""Attributes of procedures and calls that speak of workspaces."""
_FIXED: Final = _PACKED | {"in_place", "scalarized"}
"""Attributes of procedures that are not split: they would not be true of the parts."""


@dataclass(frozen=True)
class HoistInvariant(Pass):
    """Splits mapped procedures in what runs once and what runs in every trip."""

    name: ClassVar[str] = "hoist_invariant"
    summary: ClassVar[str] = "run before a loop of calls what they all compute from the same arguments"
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})
    counters: ClassVar[Mapping[str, str]] = {
        "split": "procedures split in two, for each set of arguments",
        "hoisted": "loops that a prologue was put before",
    }

    def run(self, root: Node) -> Node:
        """Split the callees of loops, each pair of procedures before its first caller."""
        if not any([is_mapped_call(statement) for procedure in root.args for statement in body_of(procedure)]):
            return root
        return _Module(root).hoisted()


class _Module:
    """The hoisting in a module; what is known of its procedures so far."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.procedures: list[Node] = []
        self.divisible: dict[str, Dependences] = {}
        """The procedures that may be split."""
        self.effects: dict[str, Effects] = {}
        self.pure: set[str] = set()
        """The procedures that change their arguments and nothing else."""
        self.splits: dict[tuple[str, tuple[int, ...], int], Split | None] = {}
        """By callee, invariant positions and number of inputs."""
        self._names: UniqueNames | None = None

    def hoisted(self) -> Node:
        """Return the module with all that is invariant before its loops, or the module itself."""
        for procedure in self.root.args:
            dependences = Dependences(procedure, self.effects)
            hoisted = _Caller(self, dependences).hoisted()
            self._add(dependences if hoisted is procedure else Dependences(hoisted, self.effects))
        return with_procedures(self.root, self._without_replaced())

    def _add(self, dependences: Dependences) -> None:
        procedure = dependences.procedure
        name = procedure.attrs["name"]
        self.procedures.append(procedure)
        self.effects[name] = dependences.effects()
        if _may_be_split(procedure):
            self.divisible[name] = dependences
        if is_pure(procedure, self.pure):
            self.pure.add(name)

    def split_of(self, callee: str, invariant: tuple[int, ...], inputs: int) -> Split | None:
        """Return the parts of a procedure for some invariant arguments, made when they are first asked for."""
        key = (callee, invariant, inputs)
        if key not in self.splits:
            positions = "_".join(map(str, invariant))
            names = (f"{callee}_hoist_{positions}", f"{callee}_hoisted_{positions}")
            found = split(self.divisible[callee], set(invariant), inputs, self.pure, names)
            if found is not None:
                count("split")
                unique = [self._unique(name) for name in names]
                parts = [part.with_attrs(name=name) for part, name in zip(found[:2], unique, strict=True)]
                found = found._replace(prologue=parts[0], body=parts[1])
                for part in parts:
                    self._add(Dependences(part, self.effects))
            self.splits[key] = found
        return self.splits[key]

    def _unique(self, name: str) -> str:
        if self._names is None:
            self._names = UniqueNames(set[str]().union(*[taken_names(procedure) for procedure in self.root.args]))
        return self._names(name)

    def _without_replaced(self) -> Iterator[Node]:
        """Return the procedures without those that were split and that nothing calls any more."""
        replaced = {callee for (callee, _, _), found in self.splits.items() if found is not None}
        called: set[str] = set()
        kept = []
        for procedure in reversed(self.procedures):
            if procedure.attrs["name"] not in replaced or procedure.attrs["name"] in called:
                kept.append(procedure)
                called.update(callees_of(procedure))
        return reversed(kept)


class _Caller:
    """The hoisting out of the loops of one procedure."""

    def __init__(self, module: _Module, dependences: Dependences) -> None:
        self.module = module
        self.dependences = dependences
        self._names: UniqueNames | None = None

    def hoisted(self) -> Node:
        """Return the procedure with prologues before its loops, or the procedure itself."""
        procedure = self.dependences.procedure
        if _PACKED & procedure.attrs.keys():
            return procedure
        body: list[Node] = []
        for statement in self.dependences.body:
            body += self._hoisted(statement)
        return with_body(procedure, body)

    def _hoisted(self, statement: Node) -> list[Node]:
        """Return the statements that take the place of one."""
        if not is_mapped_call(statement):
            return [statement]
        domain, call = statement.args
        invariant = self._invariant(call) if trip_count(domain) else ()
        if not invariant:
            return [statement]
        inputs = call.attrs["n_in"]
        parts = self.module.split_of(call.attrs["callee"], invariant, inputs)
        if parts is None:
            return [statement]
        count("hoisted")
        buffers = [
            build.buffer(self._unique(f"{domain.attrs['name']}_{node.attrs['name']}"), node.attrs["shape"], node.type)
            for node in parts.exports
        ]
        arguments = [*[call.args[position] for position in parts.inputs], *buffers]
        prologue = build.call(parts.prologue.attrs["name"], arguments, n_in=len(parts.inputs), n_out=len(parts.exports))
        body = call.replace(args=(*call.args[:inputs], *buffers, *call.args[inputs:])).with_attrs(
            callee=parts.body.attrs["name"], n_in=inputs + len(buffers)
        )
        report_derived(statement, *buffers, prologue)
        return [*buffers, prologue, with_body(statement, [body])]

    def _invariant(self, call: Node) -> tuple[int, ...]:
        """Return the positions of the inputs of a call that are the same in every trip; none when it must stay."""
        name = call.attrs["callee"]
        if name not in self.module.divisible or "n_in" not in call.attrs or _PACKED & call.attrs.keys():
            return ()
        writes = self.module.effects[name].writes
        inputs = [at for at in range(call.attrs["n_in"]) if at not in writes]
        changed = {self._root(argument) for at, argument in enumerate(call.args) if at not in inputs}
        same = tuple([at for at in inputs if _is_constant(call.args[at])])
        return () if any([self._root(call.args[at]) in changed for at in same]) else same

    def _root(self, argument: Node) -> str:
        return self.dependences.root(build.buffer_of(argument))

    def _unique(self, name: str) -> str:
        if self._names is None:
            self._names = UniqueNames(taken_names(self.dependences.procedure))
        return self._names(name)


def _may_be_split(procedure: Node) -> bool:
    """Tell whether what a procedure says of itself is true of its parts as well."""
    windows = [node for node in body_of(procedure) if "workspace_offset" in node.attrs]
    return not windows and not _FIXED & procedure.attrs.keys()


def _is_constant(argument: Node) -> bool:
    """Tell whether an argument is a whole buffer, or a view whose index reads nothing."""
    indices = postorder(*argument.args)
    return all([node.op is not ops.VAR and effect(node.op) <= CallEffectKind.Pure for node in indices])
