"""Make the example plug-in importable for the golden tests of this folder, as an entry in PYTHONPATH would."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).with_name("my_ext")))
