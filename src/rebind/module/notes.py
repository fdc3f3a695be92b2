"""What an error in the middle of a run adds to its message: which batch it was, and that batch's shapes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar, cast

import torch

from .. import checks
from ..errors import ArgumentError, MXNetError
from ..protocols import Batch
from .batches import AnyBatch, is_sliced, labels_of

__all__ = ["add_note", "note_batch", "note_interrupt", "noted"]

T = TypeVar("T")

#: Where the code of this package and of PyTorch is; what `torch.fx` generates has no file.
_LIBRARIES = (
    *(str(Path(each).parent) + os.sep for each in (checks.__file__, torch.__file__)),
    "<eval_with_key>",
)


def add_note(error: BaseException, text: str) -> None:
    """Add a note to an error (PEP 678), which a traceback shows under the message.

    >>> error = ValueError("no")
    >>> add_note(error, "In epoch 3.")
    >>> error.__notes__
    ['In epoch 3.']
    """
    if hasattr(error, "add_note"):
        error.add_note(text)
        return
    # Python 3.10 has no notes, and its tracebacks show none: the text goes into the message where there is one.
    notes = [*getattr(error, "__notes__", ()), text]
    vars(error)["__notes__"] = notes
    if len(error.args) == 1 and isinstance(error.args[0], str):
        error.args = (f"{error.args[0]}\n{text}",)
    elif isinstance(error, KeyboardInterrupt):  # which comes without one
        error.args = (text,)


def noted(batches: Iterable[T], what: str, start: int = 0) -> Iterator[T]:
    """Yield batches; an error of their source, such as None for a batch, gets a note of how far it was.

    >>> def broken():
    ...     yield "a"
    ...     raise OSError("disk is gone")
    >>> try:
    ...     list(noted(broken(), "fit, epoch 3"))
    ... except OSError as error:
    ...     print(error.__notes__[0])
    In fit, epoch 3, while batch 1 (counted from 0) was read.
    """
    number = start
    try:
        for batch in batches:
            if batch is None:
                raise ArgumentError(
                    f"{what}: a batch must have data, a list of arrays; got None. Does next() of the iterator lack a "
                    "return?"
                )
            yield batch
            number += 1
    except Exception as error:
        add_note(error, f"In {what}, while batch {number} (counted from 0) was read.")
        raise


def note_interrupt(error: KeyboardInterrupt, text: str) -> None:
    """Add a note to Ctrl-C, and cut its traceback after the last line of the program's own: it ends anywhere below.

    >>> error = KeyboardInterrupt()
    >>> note_interrupt(error, "In fit, epoch 3.")
    >>> error.__notes__
    ['In fit, epoch 3.']
    """
    add_note(error, text)
    error.__suppress_context__ = True  # what PyTorch was catching meanwhile
    last = each = error.__traceback__
    while each is not None:
        if not each.tb_frame.f_code.co_filename.startswith(_LIBRARIES):
            last = each
        each = each.tb_next
    if last is not None:
        last.tb_next = None


def note_batch(error: BaseException, module: object, what: str, number: int, batch: AnyBatch) -> None:
    """Add to an error in which batch it happened, and what that batch held.

    Parameters
    ----------
    error
        The error.
    module
        What computes; it may know the names of inputs and labels.
    what
        What it is a batch of: ``'fit, epoch 3'``.
    number
        The batch's number, from 0.
    batch
        The batch.

    Examples
    --------
    >>> import rebind as mx
    >>> module, error = mx.mod.Module(2 * mx.sym.var("data"), label_names=None), ValueError("no")
    >>> note_batch(error, module, "fit, epoch 3", 17, mx.io.DataBatch([mx.nd.ones((2, 5))]))
    >>> error.__notes__
    ['In fit, epoch 3, batch 17 (counted from 0): data (2, 5) float32']
    """
    slices = list(batch) if is_sliced(batch) else [cast(Batch, batch)]
    texts = ["; ".join(_arrays(module, each)) or "no arrays" for each in slices]
    held = texts[0] if len(texts) == 1 else " | ".join(texts)
    add_note(error, f"In {what}, batch {number} (counted from 0): {held}")


def _arrays(module: object, batch: Batch) -> list[str]:
    """Return the arrays of a batch, one text each: ``data (2, 5) float32``."""
    groups = ("data", batch.data), ("label", labels_of(batch))
    return [text for kind, arrays in groups for text in _described(_names(module, kind), kind, arrays or ())]


def _names(module: object, kind: str) -> Sequence[str]:
    try:
        return getattr(module, f"{kind}_names", None) or ()
    except MXNetError:  # a module that does not know them before it is bound
        return ()


def _described(names: Sequence[str], kind: str, arrays: Iterable[object]) -> list[str]:
    texts = []
    for i, value in enumerate(arrays):
        name = names[i] if i < len(names) else f"{kind} {i}"
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        if shape is None:
            texts.append(f"{name} {type(value).__name__}")
        else:
            texts.append(f"{name} {tuple(shape)} {getattr(dtype, '__name__', dtype)}")
    return texts
