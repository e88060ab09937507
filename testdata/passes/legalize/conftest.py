"""Make the example plug-ins importable for the golden tests of this folder, as an entry in PYTHONPATH would."""

from __future__ import annotations

import sys
from pathlib import Path

_TESTDATA = Path(__file__).parents[2]
for _folder in (_TESTDATA / "plugins" / "my_ext", _TESTDATA / "passes" / "lower_intrinsics"):
    if str(_folder) not in sys.path:
        sys.path.append(str(_folder))
