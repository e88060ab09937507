"""An interpreter that runs the lanes of a vector loop side by side, as vector instructions do.

Each statement is executed for all lanes, values first and then writes, before the next one: lanes that depend on each
other give another result than trips one after another. Lanes that are not valid load and compute too, and do not
store. Ordered sums are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import loop_values
from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.graph import Node
from scaly_ir.passes.prog.lane_loops import sum_operand
from tests.passes.prog import evaluator
from tests.passes.prog.evaluator import Frame, Place, Storage


class Lockstep(evaluator._Machine):
    """Runs vector loops of independent lanes statement by statement."""

    def loop(self, node: Node, frame: Frame) -> None:
        domain, body = node.args[0], body_of(node)
        if domain.attrs["kind"] != "vector" or (len(body) == 1 and sum_operand(body[0]) is not None):
            super().loop(node, frame)
            return
        valid = int(self.scalar(domain.args[1], frame))
        shared = frame.scalars
        lanes = [{**shared, domain.attrs["name"]: np.int64(lane)} for lane in range(self.width)]
        self.together(body, frame, lanes, valid)
        frame.scalars = shared

    def together(self, body: Sequence[Node], frame: Frame, lanes: list[dict[str, Any]], valid: int) -> None:
        before = [set(lane) for lane in lanes]
        for statement in body:
            if statement.op is ops.FOR:
                values = loop_values(statement.args[0])
                assert values is not None
                name = statement.args[0].attrs["name"]
                for value in values:
                    for lane in lanes:
                        lane[name] = np.int64(value)
                    self.together(body_of(statement), frame, lanes, valid)
                for lane in lanes:
                    lane.pop(name, None)
                continue
            writes = []
            for lane in lanes:
                frame.scalars = lane
                if statement.op is ops.ASSIGN:
                    lane[statement.attrs["target"]] = self.scalar(statement.args[0], frame)
                else:
                    assert statement.op is ops.STORE
                    view, computed = statement.args
                    writes.append((self.place(view, frame), self.index(view, frame), self.scalar(computed, frame)))
            for place, at, stored in reversed(writes[:valid]):
                self.write(place, at, stored)
        for lane, names in zip(lanes, before, strict=True):
            for name in set(lane) - names:
                del lane[name]


def run(module: Node, inputs: Mapping[str, Sequence[float]], width: int) -> dict[str, np.ndarray[Any, Any]]:
    """Run the entry and return the parameters that it may write, by name."""
    entry = module.args[-1]
    machine = Lockstep({proc.attrs["name"]: proc for proc in module.args}, width, backwards=False)
    arguments = []
    for position, param in enumerate(params_of(entry)):
        name, size = param.attrs["name"], int(np.prod(param.attrs["shape"]))
        writable = evaluator._may_write(entry, position)
        given = "input_count" not in entry.attrs or not writable
        storage = Storage.of(evaluator._cells(inputs[name], param.type)) if given else Storage.poisoned(size)
        arguments.append(Place(name, storage, 0, size, param.type, writable))
    with np.errstate(all="ignore"):
        machine.procedure(entry, arguments, Storage.poisoned(entry.attrs.get("sz_w", 0)), 0)
    return {place.name: np.array(place.storage.values) for place in arguments if place.writable}
