"""Modules as compiled code: the call, the stack, names and what is refused."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.op import Op
from scaly_ir.tools.jit.program import Program, Unit, compile_unit
from scaly_ir.tools.jit.sanitized import SanitizedProgram
from scaly_ir.tools.jit.toolchain import find_toolchain
from scaly_ir.types import FLOAT64

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")

Array = np.ndarray[Any, Any]


def compiled(text: str) -> Program:
    module = sc.parse(text)
    sc.verify(module)
    return compile_unit(Unit.of(module), find_toolchain())


DOUBLED = """\
prog.proc @{name}(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {{input_count=1}} {{
  prog.for %i = 0 to 4 step 1 {{kind=global}} {{
    prog.store prog.add(prog.load %x[%i], prog.load %x[%i]), %y[%i] : float64
  }}
}}
"""


def test_arrays_are_passed_as_they_are() -> None:
    program = compiled(DOUBLED.format(name="f"))
    x, y = np.arange(4.0), np.empty(4)
    program.run([x], [y])
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    "name", ["double", "exp", "y0", "main", "f.g-h", "a__b", "M_f", "scaly_f", "__", "SCALY_q", "fork", "atomic_f"]
)
def test_names_that_mean_something_in_c(name: str) -> None:
    y = np.empty(4)
    compiled(DOUBLED.format(name=name)).run([np.ones(4)], [y])
    assert y.tolist() == [2.0] * 4


def test_an_entry_is_not_renamed_to_what_there_is_already() -> None:
    other = "prog.proc @exp_entry(%x: memref<4xfloat64>) {\n}\n"
    assert Unit.of(sc.parse(other + DOUBLED.format(name="exp"))).interface.name == "exp_entry2"


@pytest.mark.usefixtures("registry")
def test_an_entry_is_not_called_like_a_function_that_it_calls() -> None:
    fast = Op.register("my_ext.fast")
    fast.set_signature(["x"])
    fast.set_attr("TGlobalSymbol", "my_fast")
    x, y = build.param("x", (1,)), build.param("y", (1,))
    value = sc.Node(fast, [build.load(build.view(x, 0))], type=FLOAT64)
    module = build.program([build.proc("my-fast", [x, y], [build.store(build.view(y, 0), value)], {"input_count": 1})])
    assert Unit.of(module).interface.name == "my_fast_entry"


def test_parameters_that_are_read_and_written() -> None:
    program = compiled(
        "prog.proc @f(%x: memref<2xfloat64>) {\n"
        "  prog.store prog.add(prog.load %x[0], prog.load %x[1]), %x[1] : float64\n"
        "}\n"
    )
    x = np.array([1.0, 2.0])
    program.run([], [x])
    assert x.tolist() == [1.0, 3.0]


WORKSPACE = """\
prog.proc @f(%x: memref<1xfloat64>, %y: memref<1xfloat64>) {input_count=1, sz_w=1500, w_self=1500} {
  %t = prog.buffer : memref<1000xfloat64, private> = prog.workspace offset 500
  prog.store prog.load %x[0], %t[999] : float64
  prog.store prog.load %t[999], %y[0] : float64
}
"""


def test_the_workspace() -> None:
    program = compiled(WORKSPACE)
    assert program.interface.workspace == 1500
    y = np.empty(1)
    program.run([np.array([3.0])], [y])
    assert y[0] == 3.0


def _summed(size: int) -> str:
    return (
        f"prog.proc @f(%x: memref<1xfloat64>, %y: memref<1xfloat64>) {{input_count=1}} {{\n"
        f"  %t = prog.buffer : memref<{size}xfloat64, private>\n"
        f"  prog.for %i = 0 to {size} step 1 {{kind=global}} {{\n"
        f"    prog.store prog.load %x[0], %t[%i] : float64\n"
        f"  }}\n"
        f"  prog.store 0, %y[0] : float64\n"
        f"  prog.for %j = 0 to {size} step 1 {{kind=serial}} {{\n"
        f"    prog.store prog.add(prog.load %y[0], prog.load %t[%j]), %y[0] : float64\n"
        f"  }}\n"
        f"}}\n"
    )


def test_large_temporaries_do_not_overflow_the_stack() -> None:
    size = 3_000_000  # three times what the stack of a process holds
    before = threading.stack_size()
    y = np.empty(1)
    compiled(_summed(size)).run([np.array([1.0])], [y])
    assert y[0] == size
    assert threading.stack_size() == before


def test_large_temporaries_do_not_overflow_the_stack_of_checked_code() -> None:
    size = 3_000_000
    y = np.empty(1)
    SanitizedProgram(Unit.of(sc.parse(_summed(size))), find_toolchain()).run([np.array([1.0])], [y])
    assert y[0] == size


def test_temporaries_take_the_bytes_of_their_type() -> None:
    text = _summed(1000).replace("memref<1000xfloat64", "memref<1000xint32")
    text = text.replace("prog.load %x[0], %t[%i] : float64", "1, %t[%i] : int32")
    text = text.replace("prog.load %t[%j])", "prog.cast(prog.load %t[%j], float64))")
    assert (Unit.of(sc.parse(_summed(1000))).stack, Unit.of(sc.parse(text)).stack) == (8000, 4000)


def test_temporaries_that_no_stack_holds_are_refused() -> None:
    with pytest.raises(sc.LoweringError, match=r"@f: 1,600,000,000 bytes of temporary values are too many to compile"):
        Unit.of(sc.parse(_summed(200_000_000)))


def test_empty_arrays() -> None:
    program = compiled("prog.proc @f(%x: memref<0xfloat64>, %y: memref<0xfloat64>) {input_count=1} {\n}\n")
    program.run([np.empty(0)], [np.empty(0)])


MIXED = """\
prog.proc @f(%a: memref<3xint32>, %b: memref<1xfloat32>, %y: memref<3xfloat32>, %s: memref<1xint64>, %q: memref<1xbool>)
  {input_count=2} {
  prog.store 0, %s[0] : int64
  prog.store prog.lt(prog.load %b[0], 2), %q[0] : bool
  prog.for %i = 0 to 3 step 1 {kind=serial} {
    prog.store prog.mul(prog.cast(prog.load %a[%i], float32), prog.load %b[0]), %y[%i] : float32
    prog.store prog.add(prog.load %s[0], prog.cast(prog.load %a[%i], int64)), %s[0] : int64
  }
}
"""


@pytest.mark.parametrize("sanitized", [False, True])
def test_parameters_of_any_type(sanitized: bool) -> None:
    unit = Unit.of(sc.parse(MIXED))
    run = SanitizedProgram(unit, find_toolchain()).run if sanitized else compile_unit(unit, find_toolchain()).run
    y, s, q = np.empty(3, np.float32), np.empty(1, np.int64), np.empty(1, bool)
    run([np.array([1, -2, 2**31 - 1], np.int32), np.array([1.5], np.float32)], [y, s, q])
    assert y.tolist() == [1.5, -3.0, float(np.float32(2**31 - 1) * np.float32(1.5))]
    assert (s.tolist(), q.tolist()) == ([2**31 - 2], [True])


def test_a_status_becomes_an_error() -> None:
    program = compiled(DOUBLED.format(name="f"))
    program._nowhere = 0
    with pytest.raises(sc.CompileError, match=r"^@f failed with SCALY_ERR_NULL_INPUT \(4\)$"):
        program.run([np.empty(0)], [np.empty(4)])


def test_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SCALY_IR_CACHE_DIR", str(tmp_path / "file"))
    y = np.empty(4)
    program = compiled(DOUBLED.format(name="f"))
    program.run([np.ones(4)], [y])
    assert y.tolist() == [2.0] * 4
    assert not program.library.exists()


def test_calls_from_many_threads() -> None:
    program = compiled(WORKSPACE)
    results = [np.empty(1) for _ in range(16)]

    def call(number: int) -> None:
        for _ in range(100):
            program.run([np.array([float(number)])], [results[number]])

    threads = [threading.Thread(target=call, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [float(result[0]) for result in results] == [float(number) for number in range(16)]
