"""What binding repeated expressions must leave behind, worked out by brute force: it shares no code with the pass.

Everything recurses over the program or its text, so programs must be small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scaly_ir.dialects.prog import build, ops
from scaly_ir.effects import side_effect
from scaly_ir.graph import Node, postorder
from scaly_ir.op import CallEffectKind

Place = tuple[int, ...]
"""Where a statement is: its number in the procedure, then in the loop there, and so on."""


def _statements(body: tuple[Node, ...], path: Place = ()) -> Iterator[tuple[Place, Node]]:
    """Yield all statements of a body in program order."""
    for number, statement in enumerate(body):
        yield (*path, number), statement
        if statement.op is ops.FOR:
            yield from _statements(build.body_of(statement), (*path, number))


def _text(statement: Node) -> Iterator[Node]:
    """Yield the nodes of a statement as often as its text shows them; the bounds of a loop are left out."""
    pending = [] if statement.op is ops.FOR else list(statement.args)
    while pending:
        node = pending.pop()
        yield node
        pending += node.args


def check_bindings(before: Node, after: Node) -> None:
    """Check that each binding is used twice, stands where it must, and has the name that it must have."""
    statements = dict(_statements(build.body_of(after)))
    old = {statement.attrs["target"] for _, statement in _statements(build.body_of(before)) if _is_assign(statement)}
    declared = {s.attrs["target"]: path for path, s in statements.items() if _is_assign(s)}
    bindings = {name: path for name, path in declared.items() if name not in old}
    sizes: dict[str, int] = {}
    for name, place in bindings.items():
        assert name not in {node.attrs.get("name") for node in postorder(before)}
        (value,) = statements[place].args
        assert value.op not in ops.SCALAR_LEAVES
        assert side_effect(value) is CallEffectKind.Pure
        sizes[name] = sum([sizes.get(str(node.attrs.get("name")), 1) for node in _text(statements[place])])
        uses = [path for path, s in statements.items() for node in _text(s) if node.attrs.get("name") == name]
        assert len(uses) > 1
        depth = len(place) - 1
        assert {path[:depth] for path in uses} == {place[:-1]}
        assert any([len(path) == depth + 1 for path in uses]) or len({path[depth] for path in uses}) > 1
        for between in range(place[-1] + 1, min([path[depth] for path in uses])):
            assert statements[(*place[:-1], between)].attrs.get("target") in bindings
    by_number = sorted(bindings, key=lambda name: int(name.removeprefix("cse_v")))
    assert [sizes[name] for name in by_number] == sorted(sizes.values(), reverse=True)


def _is_assign(statement: Node) -> bool:
    return statement.op is ops.ASSIGN


def assert_nothing_repeated(procedure: Node) -> None:
    """Check that no pure expression is computed twice with the same values where that can be helped."""
    statements = list(_statements(build.body_of(procedure)))
    assigned = [(path, s.attrs["target"]) for path, s in statements if _is_assign(s) and "declare" not in s.attrs]
    straight = all([len(path) == 1 for path, _ in statements])
    changes: Counter[str] = Counter()
    found: Counter[object] = Counter()

    def version(name: str, place: Place) -> tuple[str, int, Place]:
        """Tell apart the values of a variable: by what changed it before, and by the innermost loop that does."""
        around = [n for n in range(1, len(place)) if any([p[:n] == place[:n] and t == name for p, t in assigned])]
        return name, changes[name], place[: max(around, default=0)]

    def key(node: Node, place: Place) -> object:
        if node.op is ops.VAR:
            return version(node.attrs["name"], place)
        if not node.args:
            return node
        operands = [key(operand, place) for operand in node.args]
        if node.op.get_attr("TCommutative"):
            operands.sort(key=repr)
        return (node.op.name, str(node.attrs), str(node.type), *operands)

    for place, statement in statements:
        for node in _text(statement):
            if ops.is_scalar(node.op) and node.args and side_effect(node) is CallEffectKind.Pure:
                found[key(node, place)] += 1 if straight or not _is_hazard(node) else 0
        if statement.op is ops.FOR:
            changes[statement.args[0].attrs["name"]] += 1
        elif _is_assign(statement):
            changes[statement.attrs["target"]] += 1
    assert max(found.values(), default=1) <= 1, found.most_common(1)


def _is_hazard(root: Node) -> bool:
    """Tell whether an expression holds an operation that may be meaningless, and so may have to stay in a loop."""
    names = {"prog.div", "prog.mod", "prog.cast"}
    return any([node.op.name in names and node.type.is_int for node in postorder(root)])
