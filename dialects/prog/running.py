"""How procedures of `prog` are run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.context import value_name
from scaly_ir.dialects.prog.evaluate import run
from scaly_ir.graph import Node
from scaly_ir.running import Observer, Port, Runner, Shown, Signature
from scaly_ir.types import INT64

if TYPE_CHECKING:
    import numpy as np

    from scaly_ir.dialects.prog.evaluate.watching import StatementWatch

    Array = np.ndarray[Any, Any]


def signature(procedure: Node) -> Signature:
    """Return what a procedure takes and gives; all its parameters are both where it does not say which are inputs."""
    ports = [
        Port(node.attrs["name"], node.type, tuple(node.attrs["shape"]), "memref", (None, at))
        for at, node in enumerate(build.params_of(procedure))
    ]
    count = procedure.attrs.get("input_count")
    return Signature(ports, ports) if count is None else Signature(ports[:count], ports[count:])


def evaluate(module: Node, procedure: Node, values: Sequence[Array], observer: Observer | None = None) -> list[Array]:
    """Return what the outputs of a procedure hold."""
    from scaly_ir.dialects.prog.evaluate.faults import statement_text
    from scaly_ir.dialects.prog.evaluate.watching import Watch

    inputs, outputs = signature(procedure)
    watch = None
    if observer is not None:
        watch = Watch(told(observer, statement_text, written), observer.finite)
    given = {port.name: value for port, value in zip(inputs, values, strict=True)}
    results = run(module, given, procedure.attrs["name"], watch=watch)
    return [results[port.name] for port in outputs]


def told(
    observer: Observer, text_of: Callable[[Node], str], written: Callable[[Node, Sequence[Any]], Iterator[Shown]]
) -> StatementWatch | None:
    """Return who is told of statements so that the observer is; `written` says what their values mean."""
    step = observer.step
    if step is None:
        return None
    texts: dict[Node, str] = {}

    def tell(procedure: str, statement: Node, values: Sequence[Any]) -> None:
        if statement not in texts:
            texts[statement] = text_of(statement)
        step(procedure, texts[statement], written(statement, values))

    return tell


def written(statement: Node, values: Sequence[Any]) -> Iterator[Shown]:
    """Yield what a statement sets: as the text names it, the value and its type."""
    if statement.op is ops.FOR:
        yield Shown(value_name(statement.args[0].attrs["name"]), values[0], INT64)
    elif statement.op is ops.ASSIGN:
        yield Shown(value_name(statement.attrs["target"]), values[0], statement.type)
    elif statement.op is not ops.CALL:
        view = statement.args[0]
        for step, value in enumerate(values[1:]):
            yield Shown(f"{value_name(view.attrs['buffer'])}[{values[0] + step}]", value, view.type)


def _part(module: Node, procedure: Node) -> Node:
    """Return a module of a procedure and all that it calls."""
    wanted = {procedure.attrs["name"]}
    part = []
    for proc in reversed(module.args):  # callers come after their callees
        if proc.attrs["name"] in wanted:
            wanted |= {node.attrs["callee"] for node in build.statements_in(proc) if node.op is ops.CALL}
            part.append(proc)
    part.reverse()
    return build.program(part, lanes=module.attrs.get("lanes"), bare=bool(module.attrs.get("bare")))


RUNNER: Final = Runner(signature, evaluate, "", _part, run)
