"""Trees of arrays, numbers and strings in one file, which holds data and nothing that runs.

A file is a zip archive: ``tree.json`` holds the tree, and refers to the arrays, ``0.npy`` and so on. Every member has a
checksum, so that a truncated or damaged file is detected.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any, TypeAlias, TypedDict, cast

import numpy as np
import torch

from .. import dtypes
from ..errors import ArgumentError, FormatError
from ..ndarray import NDArray
from ..ndarray.serialization import array_from_bytes, array_to_bytes
from ..ops.storage_types import DENSE

__all__ = ["read_tree", "write_tree"]

_FORMAT = "rebind-run 1"
#: What JSON can hold.
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
AnyArray: TypeAlias = NDArray | torch.Tensor | np.ndarray

_PLAIN = (str, int, float, bool, type(None))
#: Marks what JSON has no form for. A dict with such a key of its own is written as pairs.
_MARK = "$"


class Marked(TypedDict, total=False):
    """A dict of the file that represents something else; its kind is under the mark."""

    items: list[Json]  # of a tuple, or of a dict whose keys are not all strings
    array: int  # the number of the member
    dtype: str  # of torch's, where NumPy lacks it


def write_tree(file: IO[bytes], tree: object) -> None:
    """Write a tree of dicts, lists, tuples, arrays (NDArray, torch, NumPy), bytes, numbers, strings and None.

    Raises
    ------
    ArgumentError
        For anything else; it names the position in the tree.

    Examples
    --------
    >>> import io
    >>> write_tree(io.BytesIO(), {"callbacks": [{"best": 0.5}, print]})
    Traceback (most recent call last):
    rebind.errors.ArgumentError: checkpoint: state['callbacks'][1] must be arrays, numbers, strings, ...
    """
    arrays: list[np.ndarray] = []
    content = json.dumps({"format": _FORMAT, "tree": _encode(tree, arrays, "state")})
    # Stored as they are: weights hardly compress, and saving must not hold up training.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("tree.json", content)
        for i, array in enumerate(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)  # a pickle could run code
            archive.writestr(f"{i}.npy", buffer.getbuffer())


def read_tree(path: str | IO[bytes]) -> Any:
    """Return the tree in a file, arrays as NumPy arrays or, where they were, as NDArrays on the CPU.

    Parameters
    ----------
    path
        The file: its name, or opened.

    Raises
    ------
    FormatError
        When the file is not one of these, cut short or damaged; it names the path.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/it.run", "wb") as file:
    ...         write_tree(file, {"epoch": 3, "weights": (NDArray(torch.ones(2)),)})
    ...     tree = read_tree(f"{folder}/it.run")
    >>> tree["epoch"], tree["weights"][0].asnumpy().tolist()
    (3, [1.0, 1.0])
    """
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()  # reads all, before any of it is used
            if damaged is not None:
                raise FormatError(f"{path}: {damaged} is damaged")
            content = json.loads(archive.read("tree.json"))
            if not isinstance(content, dict) or content.get("format") != _FORMAT:
                raise FormatError(f"{path}: must be of the form {_FORMAT!r}; got {str(content)[:60]}")

            def array(number: int) -> np.ndarray:
                with archive.open(f"{int(number)}.npy") as member:
                    return np.lib.format.read_array(io.BytesIO(member.read()), allow_pickle=False)

            return _decode(content["tree"], array)
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError, EOFError, RecursionError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: must be the whole file of a training run; {error}") from None


def _encode(value: object, arrays: list[np.ndarray], where: str) -> Json:
    if isinstance(value, np.generic):  # NumPy's numbers are no JSON
        value = value.item()
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, (NDArray, torch.Tensor, np.ndarray)):
        return _encode_array(value, arrays, where)
    # JSON has no bytes: they are an array of the file.
    if isinstance(value, (bytes, bytearray)):
        arrays.append(np.frombuffer(bytes(value), np.uint8))
        return {_MARK: "bytes", "array": len(arrays) - 1}
    if isinstance(value, Mapping):
        pairs = [
            (key, _encode(each, arrays, f"{where}[{key!r}]"))
            for key, each in value.items()
            if isinstance(key, (str, int))
        ]
        if len(pairs) < len(value):
            raise ArgumentError(f"checkpoint: keys of {where} must be strings or ints; got {list(value)[:5]}")
        named = {key: each for key, each in pairs if isinstance(key, str)}
        # JSON's keys are strings: an int would come back as one, and so keys with ints go into pairs.
        if len(named) == len(pairs) and _MARK not in value:
            return named
        return {_MARK: "pairs", "items": [list(pair) for pair in pairs]}
    if isinstance(value, (list, tuple)):
        items = [_encode(each, arrays, f"{where}[{i}]") for i, each in enumerate(value)]
        return {_MARK: "tuple", "items": items} if isinstance(value, tuple) else items
    raise ArgumentError(
        f"checkpoint: {where} must be arrays, numbers, strings, or lists and dicts of those; got {value!r}"
    )


def _encode_array(value: AnyArray, arrays: list[np.ndarray], where: str) -> dict[str, Json]:
    kind = "numpy"
    if isinstance(value, NDArray) and value.stype != DENSE:
        arrays.append(np.frombuffer(array_to_bytes(value), np.uint8))
        return {_MARK: "record", "array": len(arrays) - 1}
    if isinstance(value, NDArray):
        kind, value = "nd", value.tensor
    dtype = None
    if isinstance(value, torch.Tensor):
        kind = "torch" if kind == "numpy" else kind
        value = value.detach().cpu()
        if value.dtype is torch.bfloat16:  # NumPy lacks it: the same bits as whole numbers
            dtype, value = "bfloat16", value.view(torch.int16)
        value = value.numpy()
    if value.dtype.hasobject:
        raise ArgumentError(f"checkpoint: {where} must be an array of numbers; got one of Python objects")
    arrays.append(np.array(value, order="C"))  # a copy: what follows may write into the original
    return {_MARK: kind, "array": len(arrays) - 1, **({"dtype": dtype} if dtype else {})}


def _decode(value: Json, array: Callable[[int], np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_decode(each, array) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(_MARK)
    # A dict of its own, not one that stands for something else.
    if kind is None:
        return {key: _decode(each, array) for key, each in value.items()}
    marked = cast(Marked, value)
    if kind == "tuple":
        return tuple(_decode(each, array) for each in marked["items"])
    if kind == "pairs":
        return {key: _decode(each, array) for key, each in cast(list[tuple[str, Json]], marked["items"])}
    found = array(marked["array"])
    if kind == "bytes":
        return found.tobytes()
    if kind == "record":  # of another storage type, as in files of arrays
        return array_from_bytes(found.tobytes())
    if kind == "numpy":
        return found
    tensor = torch.from_numpy(found)
    if "dtype" in value:
        # The same bits, in the type that NumPy lacks.
        tensor = tensor.view(dtypes.torch_dtype(marked["dtype"]))
    return NDArray(tensor) if kind == "nd" else tensor
