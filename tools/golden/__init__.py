"""Golden tests: `.sir` files with `RUN` lines, checked by FileCheck directives, run by pytest in one process.

Reading order: `run_line` with `run_parser` (the little shell), `check_options` and `directives` (what is checked),
`conditions`, `lint`, `golden_file` (one file, read and linted), `matcher` with `recorder` (FileCheck), `commands`,
`isolation` and `execute` (running a line), `report` (why it failed), `plugin` (pytest). Nothing here knows a dialect.
"""
