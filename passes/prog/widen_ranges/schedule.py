"""Bring each store up to the scalars it needs, so that few of these are live at a time.

Source: lowering specification 3.12.
"""

from __future__ import annotations

from collections.abc import Sequence

from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node, postorder


def scheduled(body: Sequence[Node]) -> list[Node]:
    """Return a body of declarations, then stores, with each store behind the last scalar it needs; any other as it is.

    Stores to one buffer keep their order. Nothing moves where something that is read is also written; what is written
    must not be read under another name.
    """
    split = next((at for at, node in enumerate(body) if node.op is not ops.ASSIGN), len(body))
    declarations, stores = body[:split], body[split:]
    if any([not node.attrs.get("declare", False) for node in declarations]):
        return list(body)
    if any([node.op is not ops.STORE for node in stores]):
        return list(body)
    nodes = postorder(*body)
    read = {node.args[0].attrs["buffer"] for node in nodes if node.op is ops.LOAD}
    if not read.isdisjoint([store.args[0].attrs["buffer"] for store in stores]):
        return list(body)
    positions = {node.attrs["target"]: at for at, node in enumerate(declarations)}
    behind: list[list[Node]] = [[] for _ in range(split + 1)]
    reached: dict[str, int] = {}
    for store in stores:
        buffer = store.args[0].attrs["buffer"]
        used = [node.attrs["name"] for node in postorder(*store.args) if node.op is ops.VAR]
        place = max([positions[name] + 1 for name in used if name in positions], default=0)
        reached[buffer] = max(place, reached.get(buffer, 0))
        behind[reached[buffer]].append(store)
    found = list(behind[0])
    for declaration, following in zip(declarations, behind[1:], strict=True):
        found += [declaration, *following]
    return found
