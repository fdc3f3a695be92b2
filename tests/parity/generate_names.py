"""Record which modules MXNet 1.9.1 has, and the names in them and in their classes; run through ``generate.py``."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import warnings
from pathlib import Path
from types import ModuleType

from .generate_inventory import INTERNAL

NAMES = Path(__file__).parent / "data" / "names.json"

#: Parts of a path: the front end that follows NumPy, other front ends' helpers, what is no module to import.
_OTHER = ("numpy", "_numpy", "np", "_cy", "_ffi", "cython", "libmxnet", "setup")


def generate_names() -> None:
    """Write the names of every module by their kinds, and the public members of every class."""
    import mxnet

    # Among the modules are some that warn, and some that need packages which are not there.
    warnings.simplefilter("ignore")
    found = [each.name for each in pkgutil.walk_packages(mxnet.__path__, "mxnet.", onerror=lambda name: None)]
    paths = sorted({*found, *(name for name in sys.modules if name.startswith("mxnet."))})
    modules, classes = {}, {}
    for path in ["mxnet", *paths]:
        if any(part.startswith(_OTHER) for part in path.split(".")):
            continue
        module = importlib.import_module(path)
        below = path.partition(".")[2]
        modules[below], more = _names(module)
        classes.update({f"{below}.{name}".lstrip("."): members for name, members in more.items()})
    lines = [
        ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(part.items()))
        for part in (modules, classes)
    ]
    text = '{"modules": {\n' + lines[0] + '\n},\n"classes": {\n' + lines[1] + "\n}}\n"
    NAMES.write_text(text, encoding="utf-8")
    print(len(modules), "modules,", len(classes), "classes")


def _names(module: ModuleType) -> tuple[dict[str, str], dict[str, str]]:
    """Return a module's names by kind, and the public members of the classes that it defines."""
    kinds: dict[str, list[str]] = {}
    classes = {}
    for name in dir(module):
        if name.startswith(("__", *INTERNAL)) or "backward_" in name:
            continue
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            kind = "modules" if value.__name__.startswith("mxnet") else "others"
        elif isinstance(value, type):
            kind = "classes"
            if value.__module__ == module.__name__:
                classes[name] = " ".join(each for each in dir(value) if not each.startswith("_"))
        else:
            kind = "functions" if callable(value) else "values"
        kinds.setdefault(kind, []).append(name)
    return {kind: " ".join(names) for kind, names in kinds.items()}, classes
