"""How hard property tests try: a quick deterministic run, or with ``SCALY_IR_FULL_TESTS=1`` a long random one."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from scaly_ir.op import registry_scope
from scaly_ir.tools.interrupts import SIGNALS

for number in SIGNALS:
    # What ignores signals, as nohup and a shell do in the background, hands that down to the tools under test.
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

settings.register_profile("quick", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("full", parent=settings.get_profile("quick"), derandomize=False, max_examples=5000)
settings.load_profile("full" if os.environ.get("SCALY_IR_FULL_TESTS") else "quick")


@pytest.fixture
def registry() -> Iterator[None]:
    """Take back at the end of a test what it registers."""
    with registry_scope():
        yield
