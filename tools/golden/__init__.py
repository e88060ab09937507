"""Golden tests: `.sir` files with `RUN` lines, checked by FileCheck directives, run by pytest in one process.

Reading order: `run_line` with `run_parser` (the little shell), `check_options` and `directives` (what is checked),
`conditions`, `lint`, `golden_file` (one file, read and linted), `matcher` with `recorder` (FileCheck), `commands`,
`isolation` and `execute` (running a line), `report` (why it failed), `plugin` (pytest), `llvm` (a second matcher).
Checks are made by `functions` (an output in parts), `check_order` and `check_lines` (which directives), `expected`
(comments on diagnostics), `edited_lines` and `update` (the file), `update_item` (pytest). Nothing here knows a dialect.
"""
