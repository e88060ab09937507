"""Passes that go wrong, or have options, for the tests of the tools; `REGISTRY` says where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from scaly_ir.api import parse
from scaly_ir.dialects.prog import build
from scaly_ir.errors import LoweringError, PassError, ScalyError
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.pass_manager import Pass


@dataclass(frozen=True)
class _ProgPass(Pass):
    dialects: ClassVar[frozenset[str]] = frozenset({"prog"})


@dataclass(frozen=True)
class Same(_ProgPass):
    """Change nothing."""

    name: ClassVar[str] = "same"
    summary: ClassVar[str] = "change nothing"

    def run(self, root: Node) -> Node:
        """Return the module."""
        return root


@dataclass(frozen=True)
class Raises(_ProgPass):
    """Have a bug."""

    name: ClassVar[str] = "raises"

    def run(self, root: Node) -> Node:
        """Raise what no pass should."""
        raise KeyError(3)


@dataclass(frozen=True)
class Blames(_ProgPass):
    """Stop at a statement."""

    name: ClassVar[str] = "blames"

    def run(self, root: Node) -> Node:
        """Blame the last statement of the first procedure."""
        (procedure, *_) = root.args
        raise LoweringError("no form for this", build.body_of(procedure)[-1], procedure)


@dataclass(frozen=True)
class Once(_ProgPass):
    """Work the first time."""

    name: ClassVar[str] = "once"
    runs: ClassVar[list[Node]] = []

    def run(self, root: Node) -> Node:
        """Return the module, but only once."""
        if self.runs:
            raise KeyError(3)
        self.runs.append(root)
        return root


@dataclass(frozen=True)
class Recurses(_ProgPass):
    """Nest too deeply."""

    name: ClassVar[str] = "recurses"

    def run(self, root: Node) -> Node:
        """Raise as deep recursion does."""
        raise RecursionError("maximum recursion depth exceeded")


@dataclass(frozen=True)
class Swells(_ProgPass):
    """Want more memory than there is."""

    name: ClassVar[str] = "swells"

    def run(self, root: Node) -> Node:
        """Raise what an allocation does."""
        raise MemoryError


@dataclass(frozen=True)
class Refuses(_ProgPass):
    """Fail in the way a pass may."""

    name: ClassVar[str] = "refuses"

    def run(self, root: Node) -> Node:
        """Raise `PassError`."""
        raise PassError("pass 'refuses' does not take this", pass_name=self.name)


@dataclass(frozen=True)
class Stumbles(_ProgPass):
    """Fail with an error of the library."""

    name: ClassVar[str] = "stumbles"

    def run(self, root: Node) -> Node:
        """Raise `ScalyError`."""
        raise ScalyError("no such thing")


@dataclass(frozen=True)
class Nothing(_ProgPass):
    """Forget to return."""

    name: ClassVar[str] = "nothing"

    def run(self, root: Node) -> Any:
        """Return no node."""
        return None


@dataclass(frozen=True)
class Breaks(_ProgPass):
    """Leave a module with a wrong index in a loop of `length` statements."""

    name: ClassVar[str] = "breaks"
    length: int = 1

    def run(self, root: Node) -> Node:
        """Return an invalid module."""
        stores = "prog.store 0, %x[%i] : float64\n" * self.length
        loop = f"prog.for %i = 0 to 8 step 1 {{kind=unheard}} {{ {stores} }}"
        return parse(f"prog.module {{ prog.proc @broken(%x: memref<8xfloat64>) {{ {loop} }} }}")


@dataclass(frozen=True)
class Mangles(_ProgPass):
    """Leave a module that not even the printer takes."""

    name: ClassVar[str] = "mangles"

    def run(self, root: Node) -> Node:
        """Return a module with a store of nothing."""
        procedure = root.args[-1]
        return root.replace(args=[procedure.replace(args=[*procedure.args, Node(Op.get("prog.store"))])])


@dataclass(frozen=True)
class Mends(_ProgPass):
    """Leave a valid module."""

    name: ClassVar[str] = "mends"

    def run(self, root: Node) -> Node:
        """Return the same module always."""
        return parse("prog.module { prog.proc @mended(%x: memref<8xfloat64>) { } }")


@dataclass(frozen=True)
class Options(_ProgPass):
    """Show the options in the name of a procedure."""

    name: ClassVar[str] = "options"
    fast: bool = False
    lanes: int = 1
    scale: float = 1.0
    label_text: str = "none"
    mode: Literal["slow", "quick"] = "slow"
    sizes: tuple[int, ...] = ()

    def run(self, root: Node) -> Node:
        """Return a module that tells the options."""
        values = [self.fast, self.lanes, self.scale, self.label_text, self.mode, *self.sizes]
        name = " ".join([str(value) for value in values])
        return parse(f'prog.module {{ prog.proc @"{name}"(%x: memref<8xfloat64>) {{ }} }}')


REGISTRY: Final = {
    cls.name: f"{__name__}:{cls.__name__}"
    for cls in (
        *(Same, Raises, Blames, Once, Recurses, Swells, Refuses, Stumbles, Nothing, Breaks, Mangles, Mends, Options),
    )
}
