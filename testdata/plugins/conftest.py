"""Make the plug-ins importable for the golden tests of this folder, as entries in PYTHONPATH would."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path += [str(Path(__file__).with_name("my_ext")), str(Path(__file__).parent)]
