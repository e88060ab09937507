"""Where the installed commands begin: signals are caught before a tool is loaded, which takes its time.

A function for each tool, which ends the process.
"""

from __future__ import annotations

from typing import NoReturn


def scaly_check() -> NoReturn:
    """Run scaly-check."""
    _start("scaly_check")


def scaly_opt() -> NoReturn:
    """Run scaly-opt."""
    _start("scaly_opt")


def scaly_reduce() -> NoReturn:
    """Run scaly-reduce."""
    _start("scaly_reduce")


def scaly_run() -> NoReturn:
    """Run scaly-run."""
    _start("scaly_run")


def scaly_translate() -> NoReturn:
    """Run scaly-translate."""
    _start("scaly_translate")


def _start(tool: str) -> NoReturn:
    from scaly_ir.tools.interrupts import end_process

    def run() -> int:
        from importlib import import_module

        from scaly_ir.tools.entry import run_on_process

        return run_on_process(import_module(f"scaly_ir.tools.{tool}").main)

    end_process(run)
