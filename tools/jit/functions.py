"""What compilation means for functions of `expr`: the public functions, and what a call on numbers runs.

A function goes through `default` and `lower_intrinsics{target=c}` before it is translated. Source: lowering
specification 5.8, expression specification 3.3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from weakref import WeakKeyDictionary

from scaly_ir.api import verify
from scaly_ir.dialects.expr.function import Function
from scaly_ir.dialects.expr.functions import make_module, outputs_of
from scaly_ir.dialects.expr.trees import rebuild
from scaly_ir.errors import LoweringError, NoCompilerError, NotCompiledWarning, TranslateError
from scaly_ir.graph import Node
from scaly_ir.pass_manager import build_pipeline, run_pipeline
from scaly_ir.passes import PASSES
from scaly_ir.pipeline import spell_item
from scaly_ir.tools.c import COptions, render_header, render_source
from scaly_ir.tools.jit.program import Program, Unit, compile_unit
from scaly_ir.tools.jit.toolchain import find_toolchain

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

CDialect = Literal["gnu", "c"]


class CompiledFunction:
    """A function that always runs compiled code; it is called on numbers as the function itself is.

    Pickled, it is its text in C, which is compiled again, or found among what was compiled, where it is read.
    """

    def __init__(self, function: Function, program: Program) -> None:
        self.function = function
        self._program = program

    @property
    def source(self) -> str:
        """The C text it was compiled from."""
        return self._program.source

    @property
    def library(self) -> Path:
        """The file it was loaded from, which may be gone where libraries are not kept."""
        return self._program.library

    def __call__(self, *args: Any) -> Any:
        """Compute; arguments, results and errors are those of a numerical call of the function."""
        values = self.function.numbers(args)
        return rebuild(self.function.output_tree, run(self._program, self.function.node, values))

    def __reduce__(self) -> tuple[Any, ...]:
        return _compiled_again, (self.function, self._program.unit)

    def __repr__(self) -> str:
        return f"<Compiled{repr(self.function)[1:]}"


def _compiled_again(function: Function, unit: Unit) -> CompiledFunction:
    return CompiledFunction(function, compile_unit(unit, find_toolchain()))


def compile(
    fn: Function,
    *,
    lanes: int | str = 1,
    reciprocal: bool = False,
    delinearize: bool | None = None,
    interchange: bool | None = None,
) -> CompiledFunction:
    """Return a function of float64 arrays as compiled code.

    `lanes`, `reciprocal`, `delinearize` and `interchange` are the options of the pipeline ``default``, the last two by
    default where there are no lanes; `PipelineError` for what it cannot do.
    `LoweringError` and `TranslateError` for what has no compiled form, `CompileError` without a compiler and when it
    fails, `TypeError` for what is no function.
    """
    node = _checked(fn).node
    module = lowered(node, lanes=lanes, reciprocal=reciprocal, delinearize=delinearize, interchange=interchange)
    unit = Unit.of(module)
    return CompiledFunction(fn, compile_unit(unit, find_toolchain()))


def render_c_source(
    fn: Function,
    *,
    lanes: int | str = 1,
    dialect: CDialect = "gnu",
    reciprocal: bool = False,
    delinearize: bool | None = None,
    interchange: bool | None = None,
    vector_math: bool = False,
) -> str:
    """Return a function as C source that compiles alone; `dialect` is ``gnu``, or ``c`` for plain C99.

    `lanes`, `reciprocal`, `delinearize` and `interchange` are the options of the pipeline ``default``, the last two by
    default where there are no lanes.
    With `vector_math`, lanes call glibc's vector math library, whose errors are up to 4 ulp (dialect ``gnu``).
    `ValueError` for another dialect; otherwise raises as `compile` does, without a compiler.
    """
    if dialect not in get_args(CDialect):
        raise ValueError(f"dialect is 'gnu' or 'c', got {dialect!r}")
    node = _checked(fn).node
    module = lowered(node, lanes=lanes, reciprocal=reciprocal, delinearize=delinearize, interchange=interchange)
    return render_source(module, COptions(dialect=dialect, vector_math=vector_math))


def render_c_header(fn: Function) -> str:
    """Return the header that goes with the C source of a function; raises as `render_c_source` does."""
    return render_header(lowered(_checked(fn).node))


def _checked(fn: Any) -> Function:
    if not isinstance(fn, Function):
        hint = "; give it shapes with fn.instantiate" if hasattr(fn, "instantiate") else ""
        raise TypeError(f"expected a function, got {fn!r}{hint}")
    return fn


def lowered(
    function: Node,
    *,
    lanes: int | str = 1,
    reciprocal: bool = False,
    delinearize: bool | None = None,
    interchange: bool | None = None,
) -> Node:
    """Return the program of a function's node, ready for translation: nobody reads it, so nests do as well as loops."""
    options = {
        "lanes": lanes,
        "reciprocal": reciprocal,
        "delinearize": lanes == 1 if delinearize is None else delinearize,
        "interchange": lanes == 1 if interchange is None else interchange,
    }
    pipeline = f"{spell_item('default', options)},lower_intrinsics{{target=c}}"
    module = run_pipeline(make_module([function]), build_pipeline(pipeline, PASSES))
    verify(module)  # once: the function was verified when it was made, and the user waits
    return module


def run(program: Program, function: Node, values: Sequence[Array]) -> list[Array]:
    """Return the outputs of a function for arrays of the types of its inputs; contiguous ones are not copied."""
    import numpy

    outputs = [numpy.empty(result.type.shape) for result in outputs_of(function)]
    program.run([_contiguous(value) for value in values], outputs)
    return outputs


def _contiguous(array: Array) -> Array:
    import numpy

    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else numpy.require(array, requirements=("C", "A"))


# --- calls on numbers -------------------------------------------------------------------------------------------------

Compute = Callable[[Sequence["Array"]], "list[Array]"]

_KNOWN: Final[WeakKeyDictionary[Node, Program | None]] = WeakKeyDictionary()
"""What functions were compiled to; None for what cannot be compiled."""
_SHOWN: Final[set[type[Exception]]] = set()
"""The reasons that were given for not compiling."""


def compiled(function: Node) -> Compute | None:
    """Return what computes a function's outputs, compiled at the first call; None when the evaluator is to do that.

    It is when there is no compiler, and for a function that has no form in C, which is said once in a warning.
    `CompileError` when the compiler fails.
    """
    if function in _KNOWN:
        program = _KNOWN[function]
    else:
        try:
            toolchain = find_toolchain()
            program = compile_unit(Unit.of(lowered(function)), toolchain)
        except NoCompilerError as failure:
            _notify(str(failure), NoCompilerError)
            return None  # and look again next time
        except (LoweringError, TranslateError) as failure:
            _notify(f"{function.attrs['name']} is not compiled: {failure}", LoweringError)
            program = None
        _KNOWN[function] = program
    found = program
    return None if found is None else lambda values: run(found, function, values)


def _notify(reason: str, kind: type[Exception]) -> None:
    """Say why the evaluator computes, once for each kind of reason."""
    if kind not in _SHOWN:
        _SHOWN.add(kind)
        message = f"{reason}; the evaluator computes it, more slowly (this is said once)"
        warnings.warn(message, NotCompiledWarning, stacklevel=5)
