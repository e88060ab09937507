"""The header of an entry: sizes, status codes, struct types for its buffers, and the prototype.

Source: lowering specification 5.9 and 5.10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from scaly_ir.dialects.prog.build import params_of
from scaly_ir.graph import Node
from scaly_ir.tools.c.names import Names, exported, spelled
from scaly_ir.tools.c.procedures import ENTRY_PARAMS, STATUS
from scaly_ir.tools.c.reserved import is_reserved
from scaly_ir.tools.c.usage import element_count, input_count
from scaly_ir.types import FLOAT64, DType

_ALIGNAS: Final = """\
#ifndef SCALY_ALIGNAS
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SCALY_ALIGNAS(n) alignas(n)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define SCALY_ALIGNAS(n) _Alignas(n)
#else
#define SCALY_ALIGNAS(n)
#endif
#endif
"""

OPEN_C: Final = """\
#ifdef __cplusplus
extern "C" {
#endif
"""

CLOSE_C: Final = """\
#ifdef __cplusplus
}
#endif
"""


@dataclass(frozen=True, slots=True)
class Interface:
    """What callers of an entry see: its exported name, its parameters in order, and the doubles of workspace."""

    name: str
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    workspace: int

    @staticmethod
    def of(entry: Node, workspace: int) -> Interface:
        """Return the interface of a procedure."""
        params, inputs = params_of(entry), input_count(entry)
        return Interface(exported(entry.attrs["name"]), params[:inputs], params[inputs:], workspace)

    @property
    def params(self) -> tuple[Node, ...]:
        """The inputs, then the outputs."""
        return (*self.inputs, *self.outputs)

    def types(self) -> list[str]:
        """Return the struct type of each parameter, then that of the workspace.

        Of an input and an output that would share one, each gets its role; what still meets another gets ``_``.
        """
        words = [[spelled(param.attrs["name"]) for param in params] for params in (self.inputs, self.outputs)]
        both = set(words[0]) & set(words[1])
        taken = {f"{self.name}_workspace_t"}
        types = []
        for role, of_role in zip(("in", "out"), words, strict=True):
            for word in of_role:
                name = f"{self.name}_{word}_{role}_t" if word in both else f"{self.name}_{word}_t"
                while name in taken:
                    name += "_"
                taken.add(name)
                types.append(name)
        return [*types, f"{self.name}_workspace_t"]

    def symbols(self) -> list[str]:
        """Return every identifier that the header defines."""
        sizes = [f"{self.name}_SZ_{what}" for what in ("ARG", "RES", "IW", "W")]
        return [self.name, *sizes, *self.types(), f"{self.name}_call"]


def header_text(interface: Interface, *, typed_buffers: bool) -> str:
    """Return the header."""
    name = interface.name
    guard = f"SCALY_{name}_H"
    sizes = {"ARG": len(interface.inputs), "RES": len(interface.outputs), "IW": 0, "W": interface.workspace}
    types = interface.types()
    counts = [*[(param.type, element_count(param)) for param in interface.params], (FLOAT64, interface.workspace)]
    parts = [
        f"#ifndef {guard}\n#define {guard}\n",
        "#include <stddef.h>\n" if typed_buffers else "",
        "#include <stdint.h>\n" if any([not param.type.is_float for param in interface.params]) else "",
        _description(interface),
        "".join([f"#define {name}_SZ_{what} {size}\n" for what, size in sizes.items()]),
        "".join([f"#ifndef {status}\n#define {status} {code}\n#endif\n" for status, code in STATUS.items()]),
        _ALIGNAS,
        "".join([_struct(kind, *count) for kind, count in zip(types, counts, strict=True)]),
        OPEN_C,
        f"int {name}({ENTRY_PARAMS});\n",
        _wrapper(interface, types) if typed_buffers else "",
        CLOSE_C,
        "#endif\n",
    ]
    return "\n".join([part for part in parts if part])


def _description(interface: Interface) -> str:
    lines = [f"/* {interface.name} returns SCALY_SUCCESS, or an error code for a pointer that is NULL.\n *\n"]
    for array, params in (("arg", interface.inputs), ("res", interface.outputs)):
        for position, param in enumerate(params):
            count = element_count(param)
            label = _shown(param.attrs["name"])
            lines.append(f" *   {array}[{position}]: {label}, {count} {_elements(param.type, count)}\n")
    needed = interface.workspace
    lines.append(f" *   w: {needed} doubles of workspace\n" if needed else " *   w: not used\n")
    lines.append(" *\n * Inputs and outputs must not overlap. iw is not used and mem is ignored.\n */\n")
    return "".join(lines)


def _shown(name: str) -> str:
    """Return the name of a parameter as it may stand in a comment."""
    return name if name.isprintable() and "/" not in name else spelled(name)


def _elements(dtype: DType, count: int) -> str:
    if dtype is not FLOAT64:
        return f"of {dtype.c_type}"
    return "double" if count == 1 else "doubles"


def _struct(name: str, dtype: DType, count: int) -> str:
    return f"typedef struct {{\n  SCALY_ALIGNAS(16) {dtype.c_type} data[{max(count, 1)}];\n}} {name};\n"


def _wrapper(interface: Interface, types: list[str]) -> str:
    """Return the function that takes buffers of the struct types."""
    names = Names(taken=interface.symbols())
    params: list[str] = []
    fills = []
    for array, of_role in (("arg", interface.inputs), ("res", interface.outputs)):
        for position, param in enumerate(of_role):
            wanted = spelled(param.attrs["name"])
            name = names.fresh(wanted)
            constant = "const " if array == "arg" else ""
            params.append(f"{constant}{types[len(params)]}* {name}")
            fills.append(f"  {array}[{position}] = {name} ? {name}->data : NULL;\n")
    workspace = names.fresh("workspace")
    params.append(f"{types[-1]}* {workspace}")
    lines = [
        f"static inline int {interface.name}_call({', '.join(params)}) {{\n",
        f"  const double* arg[{max(len(interface.inputs), 1)}];\n",
        f"  double* res[{max(len(interface.outputs), 1)}];\n",
        *fills,
        f"  return {interface.name}(arg, res, NULL, {workspace} ? {workspace}->data : NULL, 0);\n}}\n",
    ]
    return "".join(lines)


def is_free(interface: Interface) -> bool:
    """Tell whether the exported name has no other meaning in C."""
    return not is_reserved(interface.name) and interface.name != "double2"
