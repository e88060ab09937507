"""Other people's packages for comparison, each in a private environment that is made when it is first asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def private_python(package: str, cache: Path) -> tuple[Path, str]:
    """Return the Python of an environment in `cache` that holds `package`, and the version of that."""
    python = cache / package / "bin" / "python"
    script = f"from importlib.metadata import version; print(version('{package}'))"
    command = [python, "-c", script]
    if not python.exists() or subprocess.run(command, capture_output=True, check=False).returncode:
        print(f"installing {package} into {cache / package}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", cache / package], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True, stdout=sys.stderr)
    return python, subprocess.check_output(command, text=True).strip()
