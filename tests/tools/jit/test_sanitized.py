"""What ends a program under the compiler's checks, beside what these find."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Final

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.errors import CompileError
from scaly_ir.tools.jit.program import Unit
from scaly_ir.tools.jit.sanitized import SanitizedProgram
from scaly_ir.tools.jit.signals import signal_text
from scaly_ir.tools.jit.toolchain import find_toolchain
from tests.tools.c.compiling import needs_cc

COPY: Final = """\
prog.proc @f(%x: memref<1xfloat64>, %y: memref<1xfloat64>) {input_count=1} {
  prog.store prog.load %x[0], %y[0] : float64
}
"""
KILLED: Final = """
#include <signal.h>
__attribute__((constructor)) static void scaly_end(void) {
  raise(SIGKILL);
}
"""


@needs_cc
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals that end a process")
def test_a_signal_is_no_check_that_failed() -> None:
    unit = Unit.of(sc.parse(COPY))
    x, y = np.array([3.0]), np.empty(1)
    try:
        SanitizedProgram(unit, find_toolchain()).run([x], [y])
    except CompileError as failure:
        pytest.skip(f"the compiler has no libraries for its checks: {failure}")
    assert y[0] == 3.0
    killed = replace(unit, source=unit.source + KILLED)
    with pytest.raises(CompileError) as caught:
        SanitizedProgram(killed, find_toolchain()).run([x], [y])
    message = "the compiled code was killed by signal SIGKILL (too little memory, or somebody who ended it)"
    assert str(caught.value) == message


def test_signals_without_a_name_have_a_number() -> None:
    assert signal_text(1000) == "the compiled code was killed by signal number 1000"


@needs_cc
def test_there_may_be_no_memory_for_a_workspace() -> None:
    text = COPY.replace("{input_count=1}", f"{{input_count=1, sz_w={10**15}, w_self={10**15}}}")
    with pytest.raises(CompileError, match="there is no memory for the arrays and the workspace of the compiled code"):
        SanitizedProgram(Unit.of(sc.parse(text)), find_toolchain()).run([np.array([3.0])], [np.empty(1)])
