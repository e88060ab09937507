"""The translation unit: what a C file consists of, in order (lowering specification 5.1), and what it refuses.

It decides nothing beyond spelling: loops, storage and the order of everything are those of the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from scaly_ir.dialect import dialect_of
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import params_of
from scaly_ir.graph import Node, preorder
from scaly_ir.numeric.table import scalar_name
from scaly_ir.text.locations import Locations, Part, Place
from scaly_ir.text.spelling import spell_name
from scaly_ir.tools.c import vector_math
from scaly_ir.tools.c.body import Unit
from scaly_ir.tools.c.errors import CTranslateError
from scaly_ir.tools.c.helpers import HELPERS
from scaly_ir.tools.c.interface import CLOSE_C, OPEN_C, Interface, header_text, is_free
from scaly_ir.tools.c.names import Names, exported, spelled
from scaly_ir.tools.c.options import COptions
from scaly_ir.tools.c.procedures import entry_procedure, raw_procedure, typed_entry
from scaly_ir.tools.c.scalars import External, external_functions
from scaly_ir.tools.c.usage import workspace_sizes
from scaly_ir.tools.c.widths import PREFIX, width_macros
from scaly_ir.types import FLOAT32, FLOAT64

_DOUBLE2: Final = "typedef double double2 __attribute__((vector_size(16), aligned(8), may_alias));\n"

_KEEP_ROUNDING: Final = """\
/* GCC 12 loses roundings to float when it joins stores of them into vectors. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize ("no-tree-slp-vectorize")
#endif
"""


def render_source(
    module: Node, options: COptions | None = None, *, locations: Locations | None = None, any_dtype: bool = False
) -> str:
    """Return the C file of a verified `prog` module, whose last procedure is the entry.

    `locations` tells where statements stand, for the options that show it. With `any_dtype` the parameters of the entry
    may be of any type, which its callers then have to know. `CTranslateError` for what has no C form.
    """
    chosen = options or COptions()
    if any([mark in chosen.include for mark in '"\\\r\n']):
        raise CTranslateError(f"option 'include' names no file that C can include: {chosen.include!r}")
    if chosen.vector_math and chosen.dialect != "gnu":
        raise CTranslateError("option 'vector_math' needs 'dialect=gnu': C has no vectors")
    entry = _entry_of(module, any_dtype=any_dtype)
    nodes = list(preorder(module))
    unit = _unit(module, chosen, locations)
    unit.vectors.math = chosen.vector_math
    interface = Interface.of(entry, unit.sizes[entry.attrs["name"]].whole)
    externals = external_functions(nodes)
    _check_exported(module, entry, interface, externals)
    _name_everything(unit, interface, externals, nodes)
    raws = [raw_procedure(unit, proc) for proc in module.args[:-1]]
    is_typed = any([param.type is not FLOAT64 for param in params_of(entry)])
    if is_typed:
        unit.names.of[entry.attrs["name"]] = unit.names.fresh(spelled(f"{entry.attrs['name']}_raw"))
    last = (typed_entry if is_typed else entry_procedure)(unit, entry, interface.name)
    pairs = chosen.dialect == "gnu" and any([node.op is ops.STORE_PAIR for node in nodes])
    own = f'#include "{chosen.include}"\n' if chosen.include else _header(interface, chosen)
    parts = [
        _recipe(interface, module, chosen, unit),
        own,
        "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n",
        _KEEP_ROUNDING if any([_rounds_to_float(node) for node in nodes]) else "",
        _DOUBLE2 if pairs else "",
        width_macros(unit.widths.values(), module.attrs.get("lanes")),
        unit.vectors.definitions(),
        *[text for name, text in HELPERS.items() if name in unit.helpers],
        OPEN_C,
        "".join([_prototype(name, externals[name]) for name in sorted(externals)]),
        vector_math.declarations(unit.vectors.math_functions),
        "".join(unit.vectors.functions.values()),
        *raws,
        last,
        CLOSE_C,
    ]
    return "\n".join([part for part in parts if part])


def render_header(module: Node, options: COptions | None = None) -> str:
    """Return the header of a verified `prog` module: what callers of its entry need."""
    entry = _entry_of(module)
    procs = {proc.attrs["name"]: proc for proc in module.args}
    interface = Interface.of(entry, workspace_sizes(procs)[entry.attrs["name"]].whole)
    _check_exported(module, entry, interface, {})
    return _header(interface, options or COptions())


def _rounds_to_float(node: Node) -> bool:
    return node.type is FLOAT32 and node.op is not ops.LOAD and ops.is_scalar(node.op) and bool(node.args)


def _header(interface: Interface, options: COptions) -> str:
    return header_text(interface, typed_buffers=options.typed_buffers)


def _recipe(interface: Interface, module: Node, options: COptions, unit: Unit) -> str:
    """Return the comment on how the file is compiled."""
    lanes = module.attrs.get("lanes", "those of the target, or -DSCALY_LANES=1, 2, 4 or 8") if unit.widths else "none"
    libraries = "-lmvec -lm, where there is glibc; else -lm" if unit.vectors.math_functions else "-lm"
    hoisted = "some divisions are multiplications by a reciprocal" if _multiplies_by_reciprocals(module) else "none"
    standard = "-std=c99 " if options.dialect == "c" else ""
    return f"""\
/* {interface.name}, generated by scaly-ir.
 *
 * CPU baseline: the one the compiler is told, here that of the machine (-mcpu=native on AArch64)
 * Lanes: {lanes}
 * Dialect: {options.dialect}
 * Reciprocals: {hoisted}
 * Compile: cc {standard}-O3 -march=native -fno-math-errno -c {interface.name}.c
 * Link: {libraries}
 */
"""


def _multiplies_by_reciprocals(module: Node) -> bool:
    """Tell whether a program computes a reciprocal ahead, as the pass that trades divisions for multiplications does.

    Nothing in a module says which passes it went through; this is what can be seen of that one.
    """
    ahead = {node.args[0] for node in preorder(module) if node.op is ops.ASSIGN and node.attrs.get("declare")}
    divisions = [node for node in ahead if node.type.is_float and scalar_name(node.op) == "div"]
    return any([node.args[0].op is ops.CONST_FLOAT and node.args[0].attrs["value"] == 1 for node in divisions])


def _prototype(name: str, external: External) -> str:
    operands = ", ".join([operand.type.c_type for operand in external.call.args])
    return f"{external.call.type.c_type} {name}({operands or 'void'});\n"


# --- names and checks -------------------------------------------------------------------------------------------------


def _entry_of(module: Node, *, any_dtype: bool = False) -> Node:
    """Return the procedure that a module exports; its parameters are checked."""
    if module.op is not ops.PROGRAM:
        first = dialect_of(module).place_of(module, module.args[0]) if module.args else None
        raise CTranslateError("statements without a procedure have no C form", first)
    if not module.args:
        raise CTranslateError("there is no procedure; the last one is what C exports")
    entry = module.args[-1]
    for position, param in enumerate(params_of(entry)):
        if param.type is not FLOAT64 and not any_dtype:
            name = spell_name(param.attrs["name"])
            reason = f"entry parameter %{name} has dtype {param.type}, expected float64 [entry-leaves]"
            raise CTranslateError(f"'{entry.op.name}': {reason}", _head(module, entry, position))
    return entry


def _head(module: Node, proc: Node, part: Part) -> Place:
    """Return the place of a part of the head of a procedure."""
    head = dialect_of(module).place_of(module, proc)
    assert head is not None
    return head._replace(part=part)


def _check_exported(module: Node, entry: Node, interface: Interface, externals: Mapping[str, External]) -> None:
    """Refuse an entry whose name means something else in C: what is exported keeps its name."""
    name = interface.name
    meaning = "C or its library has a meaning for" if not is_free(interface) else ""
    if name in externals:
        meaning = f"operator '{externals[name].call.op.name}' calls a function of"
    if meaning:
        symbol = f"@{spell_name(entry.attrs['name'])}"
        raise CTranslateError(f"{symbol} is exported as '{name}', a name that {meaning}", _head(module, entry, "name"))


def _unit(module: Node, options: COptions, locations: Locations | None) -> Unit:
    """Return what the procedures share; statements are numbered as the verifier does it."""
    procs = {proc.attrs["name"]: proc for proc in module.args}
    number = -1 if module.attrs.get("bare") else 0
    return Unit(options, procs, workspace_sizes(procs), Names(), {}, locations, number=number)


def _name_everything(unit: Unit, interface: Interface, externals: Iterable[str], nodes: Iterable[Node]) -> None:
    """Choose the identifiers of the file: what is exported or external keeps its own, the rest goes round that."""
    for name in (*interface.symbols(), *externals):
        unit.names.take(name)
    for name in list(unit.procs)[:-1]:
        unit.names.of[name] = unit.names.fresh(spelled(f"{name}_raw"))
    symbols = {node.attrs["name"] for node in nodes if node.op is ops.VAR}
    macros: set[str] = set()
    for name in sorted([symbol for symbol in symbols if symbol.startswith(PREFIX)]):
        macro = exported(name)
        while macro in macros:
            macro += "_2"
        macros.add(macro)
        unit.widths[name] = macro
        unit.vectors.name(macro, unit.names)
