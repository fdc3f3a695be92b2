"""Shapes of inputs in the files that SageMaker puts beside a checkpoint."""

from __future__ import annotations

import json
import os
from typing import Any

from ..shapes import Shape

__all__ = ["shapes_in_files"]


def shapes_in_files(folder: str) -> dict[str, Shape]:
    """Return the shapes of inputs that ``model-shapes.json`` or ``hyperparams.json`` in a folder tell.

    The first size is that of the batch, and free: 0. What cannot be read tells nothing: other programs have files of
    these names, too.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/hyperparams.json", "w") as file:
    ...         json.dump({"image_shape": "300", "num_classes": "20"}, file)
    ...     shapes_in_files(folder)
    {'data': (0, 3, 300, 300)}
    """
    described = _content(folder, "model-shapes.json")
    if isinstance(described, list):
        shapes = {
            each["name"]: _sizes(each["shape"])
            for each in described
            if isinstance(each, dict) and isinstance(each.get("name"), str) and "shape" in each
        }
        return {name: (0, *shape[1:]) for name, shape in shapes.items() if shape}
    settings = _content(folder, "hyperparams.json")
    if not isinstance(settings, dict) or "image_shape" not in settings:
        return {}
    shape = _sizes(settings["image_shape"])
    if len(shape) == 1:  # of a detector: pictures are square
        return {"data": (0, 3, *shape, *shape)}
    return {"data": (0, *shape)} if len(shape) == 3 else {}


def _content(folder: str, name: str) -> Any:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def _sizes(value: Any) -> Shape:
    """Return sizes that are written as ``"3,224,224"``, 300 or a list; none for anything else."""
    parts = (
        value.strip("()[] ").split(",")
        if isinstance(value, str)
        else value
        if isinstance(value, list)
        else [value]
    )
    try:
        sizes = tuple(int(part) for part in parts)
    except (TypeError, ValueError):
        return ()
    return sizes if all(size > 0 for size in sizes) else ()
