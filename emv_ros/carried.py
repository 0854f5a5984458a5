"""Files of weights that installed packages carry: found without an import, and checked."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from emv_ros.errors import CarriedFileError


def carried(package: str, file: str, sha256: str) -> bytes:
    """Return a file of an installed package, which is not imported.

    Raises CarriedFileError where it is missing or is not the expected one.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CarriedFileError(f'the package {package!r} is not installed')
    path = Path(spec.submodule_search_locations[0]) / file
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CarriedFileError(str(error)) from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise CarriedFileError(f'{path} is not the expected file of weights')
    return content
