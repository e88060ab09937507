"""Whole procedures as C functions: the raw ones, and the entry with its checks (lowering specification 5.2 and 5.3).

The functions of their lanes stand before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from scaly_ir.dialects.prog.build import body_of, params_of
from scaly_ir.graph import Node
from scaly_ir.tools.c.body import INDENT, Unit
from scaly_ir.tools.c.lanes import ProcedureBody
from scaly_ir.tools.c.names import Names
from scaly_ir.tools.c.usage import input_count, usage_of

STATUS: Final = {
    "SCALY_SUCCESS": 0,
    "SCALY_ERR_NULL_ABI": 1,
    "SCALY_ERR_NULL_WORK": 2,
    "SCALY_ERR_NULL_RESULT": 3,
    "SCALY_ERR_NULL_INPUT": 4,
}
"""What the entry returns."""

ENTRY_PARAMS: Final = "const double** arg, double** res, int* iw, double* w, int mem"


def raw_procedure(unit: Unit, proc: Node) -> str:
    """Return the function of a procedure that others call."""
    usage = usage_of(proc, unit.procs)
    names = Names(unit.names)
    names.give(usage.names.items())
    inputs = input_count(proc)
    places, params = {}, []
    for position, param in enumerate(params_of(proc)):
        name = param.attrs["name"]
        places[name] = names.of[name]
        params.append(f"{'const ' if position < inputs else ''}{param.type.c_type}* {places[name]}")
    declared = {name: names.of[name] for name in usage.declarations}
    unit.number += 1
    body = ProcedureBody(unit, proc, usage, names, {**declared, **places})
    body.write(body_of(proc))
    unused = [place for name, place in places.items() if name not in usage.read and name not in usage.stored]
    if not body.uses_w:
        unused.append("w")
    head = f"static inline void {unit.names.of[proc.attrs['name']]}({', '.join([*params, 'double* w'])}) {{\n"
    casts = [f"{INDENT}(void){name};\n" for name in unused]
    return "".join([*body.functions, head, *casts, *body.declarations, *body.statements, "}\n"])


def entry_procedure(unit: Unit, proc: Node, name: str) -> str:
    """Return the function that a file exports under a name; its parameters are elements of ``arg`` and ``res``."""
    usage = usage_of(proc, unit.procs)
    names = Names(unit.names)
    params = [param.attrs["name"] for param in params_of(proc)]
    names.give([(local, is_table) for local, is_table in usage.names.items() if local not in params])
    inputs = input_count(proc)
    places = {
        param: f"arg[{position}]" if position < inputs else f"res[{position - inputs}]"
        for position, param in enumerate(params)
    }
    declared = {name: names.of[name] for name in usage.declarations}
    unit.number += 1
    body = ProcedureBody(unit, proc, usage, names, {**declared, **places})
    body.write(body_of(proc))
    return "".join([*body.functions, *_entry(unit, proc, name, [*body.declarations, *body.statements])])


def typed_entry(unit: Unit, proc: Node, name: str) -> str:
    """Return the raw function of a procedure, and an entry that passes it pointers to whatever the parameters hold.

    Who calls the entry has to know the types: to C, all are pointers to doubles.
    """
    inputs = input_count(proc)
    arguments = [
        f"(const {param.type.c_type}*)arg[{at}]" if at < inputs else f"({param.type.c_type}*)res[{at - inputs}]"
        for at, param in enumerate(params_of(proc))
    ]
    call = f"{INDENT}{unit.names.of[proc.attrs['name']]}({', '.join([*arguments, 'w'])});\n"
    return "".join([raw_procedure(unit, proc), "\n", *_entry(unit, proc, name, [call])])


def _entry(unit: Unit, proc: Node, name: str, body: Iterable[str]) -> Iterator[str]:
    """Yield the text of a function that a file exports: what it checks, then its body."""
    inputs, count = input_count(proc), len(params_of(proc))
    yield f"int {name}({ENTRY_PARAMS}) {{\n  (void)iw;\n  (void)mem;\n"
    yield _check("!arg || !res", "SCALY_ERR_NULL_ABI")
    yield _check("!w", "SCALY_ERR_NULL_WORK") if unit.sizes[proc.attrs["name"]].whole else "  (void)w;\n"
    for position in range(inputs):
        yield _check(f"!arg[{position}]", "SCALY_ERR_NULL_INPUT")
    for position in range(count - inputs):
        yield _check(f"!res[{position}]", "SCALY_ERR_NULL_RESULT")
    yield from body
    yield "  return SCALY_SUCCESS;\n}\n"


def _check(condition: str, status: str) -> str:
    return f"  if ({condition}) {{\n    return {status};\n  }}\n"
