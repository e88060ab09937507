"""A `prog` module as compiled code: its library, and the call through the double-pointer interface.

Arrays are contiguous and of the types of the parameters, and are passed as they are. Source: lowering specification 5.2
and 5.8.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import statements_in
from scaly_ir.errors import CompileError, LoweringError
from scaly_ir.graph import Node, preorder
from scaly_ir.tools.c import COptions, render_source
from scaly_ir.tools.c.interface import Interface, is_free
from scaly_ir.tools.c.names import exported, spelled
from scaly_ir.tools.c.procedures import STATUS
from scaly_ir.tools.c.reserved import is_reserved
from scaly_ir.tools.c.scalars import external_functions
from scaly_ir.tools.c.usage import element_count, workspace_sizes
from scaly_ir.tools.jit.cache import cache_root, key_of, load_cached, temporary_root
from scaly_ir.tools.jit.toolchain import Toolchain

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

OWN_STACK: Final = 1 << 18
"""A call that keeps more bytes than that on the stack gets a stack of its own: that of a thread may be small."""
_MOST_STACK: Final = 1 << 30

_NO_FLAGS: Final = 0


@dataclass(frozen=True, slots=True)
class Unit:
    """What is compiled of a module: its text in C, what callers see of it, and the bytes it keeps on the stack."""

    source: str
    interface: Interface
    stack: int

    @staticmethod
    def of(module: Node, options: COptions | None = None) -> Unit:
        """Translate a verified module, whose last procedure is called.

        An entry whose name means something in C is called otherwise: nobody sees it. `TranslateError` for what has no
        C form, `LoweringError` for a module that keeps too much on the stack.
        """
        module = _with_free_name(module)
        source = render_source(module, options, any_dtype=True)
        procs = {proc.attrs["name"]: proc for proc in module.args}
        entry = module.args[-1]
        stack = _stack_bytes(procs)[entry.attrs["name"]]
        if stack > _MOST_STACK:
            raise LoweringError(f"@{entry.attrs['name']}: {stack:,} bytes of temporary values are too many to compile")
        return Unit(source, Interface.of(entry, workspace_sizes(procs)[entry.attrs["name"]].whole), stack)

    @property
    def signature(self) -> str:
        """The interface as text, a line for each part."""
        rows = [
            f"{role} {param.attrs['name']} {param.type} {element_count(param)}"
            for role, params in (("in", self.interface.inputs), ("out", self.interface.outputs))
            for param in params
        ]
        return "\n".join([*rows, f"workspace {self.interface.workspace}"])


def _with_free_name(module: Node) -> Node:
    """Return a module whose entry has a name that means nothing in C, to the library or to what the text calls."""
    if not module.args:
        return module
    entry = module.args[-1]
    externals = external_functions(preorder(module))
    if is_free(Interface.of(entry, 0)) and exported(entry.attrs["name"]) not in externals:
        return module
    taken = {*[proc.attrs["name"] for proc in module.args], *externals}
    stem = f"{spelled(entry.attrs['name'])}_entry"
    stem = f"x_{stem.lstrip('_')}" if is_reserved(stem) else stem
    names = (stem, *[f"{stem}{number}" for number in range(2, len(taken) + 3)])
    name = next(name for name in names if name not in taken)
    return module.replace(args=(*module.args[:-1], entry.with_attrs(name=name)))


def _stack_bytes(procs: Mapping[str, Node]) -> dict[str, int]:
    """Return how many bytes each procedure keeps on the stack, with those of its callees."""
    needs: dict[str, int] = {}
    for name, proc in procs.items():
        own = below = 0
        for statement in statements_in(proc):
            if statement.op is ops.CALL:
                below = max(below, needs.get(statement.attrs["callee"], 0))
            elif statement.op is ops.BUFFER and not {"alias_of", "values", "workspace_offset"} & set(statement.attrs):
                own += element_count(statement) * statement.type.size
        needs[name] = own + below
    return needs


class Program:
    """Compiled code of a module: `run` calls it."""

    def __init__(self, library: Path, unit: Unit) -> None:
        """Load a library; `OSError` when that fails."""
        import ctypes

        self.unit = unit
        self.interface = unit.interface
        self.source = unit.source
        self.library = library
        self._stack = unit.stack
        self._function = ctypes.CDLL(str(library))[unit.interface.name]
        self._inputs = ctypes.c_void_p * max(len(unit.interface.inputs), 1)
        self._outputs = ctypes.c_void_p * max(len(unit.interface.outputs), 1)
        self._anywhere = ctypes.c_double()
        """Where empty arrays are: what is passed must not be NULL."""
        self._nowhere = ctypes.addressof(self._anywhere)

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Fill the outputs; arrays come in the order of the parameters, and those that are also read are filled before.

        All are of the parameters' types, contiguous and of the right size, and no output overlaps another array.
        `CompileError` when the compiled code reports a failure, and when there is no memory for its workspace or stack.
        """
        arguments = self._inputs(*[self._address(array) for array in inputs])
        results = self._outputs(*[self._address(array) for array in outputs])
        if self._stack <= OWN_STACK:
            status = self._call(arguments, results)
        else:
            status = _on_own_stack(lambda: self._call(arguments, results), self._stack)
        if status != STATUS["SCALY_SUCCESS"]:
            names = {code: name for name, code in STATUS.items()}
            raise CompileError(
                f"@{self.interface.name} failed with {names.get(status, 'an unknown status')} ({status})"
            )

    def _call(self, arguments: Any, results: Any) -> int:
        workspace = None
        if self.interface.workspace:
            held = _room(self.interface.workspace)
            workspace = held.ctypes
        status: int = self._function(arguments, results, None, workspace, _NO_FLAGS)
        return status

    def _address(self, array: Array) -> int:
        return array.ctypes.data if array.size else self._nowhere


def _room(count: int) -> Array:
    """Return memory for a workspace."""
    import numpy

    try:
        return numpy.empty(count)
    except (MemoryError, ValueError) as failure:  # which of them depends on how far too large it is
        what = f"the workspace needs {count} elements of float64"
        raise CompileError(f"{what}, for which there is no memory") from failure


_STACK_SIZE: Final = threading.Lock()
"""Held while the size of the next thread's stack, which is the process's, is changed."""


def _on_own_stack(call: Callable[[], int], needed: int) -> int:
    """Make a call in a thread whose stack is large enough; what it raises is raised here."""
    found: list[int] = []
    failures: list[BaseException] = []

    def settle() -> None:
        try:
            found.append(call())
        except BaseException as failure:  # the thread has nobody else to tell
            failures.append(failure)

    thread = threading.Thread(target=settle, name="scaly-ir")
    with _STACK_SIZE:
        try:
            before = threading.stack_size((2 * needed + (1 << 20)) & ~0xFFFF)
        except ValueError as failure:
            raise CompileError(f"no stack of {needed:,} bytes can be had: {failure}") from failure
        try:
            thread.start()
        except RuntimeError as failure:
            raise CompileError(f"no stack of {needed:,} bytes can be had: {failure}") from failure
        finally:
            threading.stack_size(before)
    thread.join()
    if failures:
        raise failures[0]
    return found[0]


def compile_unit(
    unit: Unit, toolchain: Toolchain, *, cached: bool = True, loaded: Callable[[Path], None] | None = None
) -> Program:
    """Compile and load, or only load what was compiled before; `loaded` sees the library while its folder exists.

    `CompileError` when the compiler fails or the library cannot be loaded. Where libraries cannot be kept, as in a home
    that is read-only, and without `cached`, it is compiled in a temporary folder.
    """
    key = key_of(unit.signature, unit.interface.name, unit.source, toolchain)

    def load(library: Path) -> Program:
        program = Program(library, unit)
        if loaded is not None:
            loaded(library)
        return program

    root = cache_root() if cached else None
    if root is not None:
        try:
            return load_cached(root, key, unit.source, toolchain, load)
        except OSError:
            pass
    try:
        with temporary_root() as folder:
            return load_cached(folder, key, unit.source, toolchain, load)
    except OSError as failure:
        from scaly_ir.tools.files import reason

        raise CompileError(f"cannot compile: {reason(failure)}") from failure
