"""What `fit` checks of its callbacks before the first batch: those in MXNet's slots, and the members of `callbacks`."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from ..callback import LogValidationMetricsCallback
from ..callback.hooks import EVALUATION_HOOKS, HOOKS, has_hooks, hooks_of
from ..checks import check_instance, check_writable, is_of_rebind, warn_user
from ..errors import ArgumentError, MissingFileError, ParameterError, near_names, shown
from .settings import Callbacks

__all__ = ["check_callbacks"]

#: How many arguments a callback in each of MXNet's slots takes.
_ARGUMENTS = {"epoch_end": 4, "batch_end": 1, "eval_end": 1, "eval_batch_end": 1}
#: What each hook of a member is given.
_GIVEN = {
    "on_train_begin": "the module",
    "on_epoch_begin": "the epoch's number",
    "on_batch_end": "a BatchEndParam",
    "on_eval_batch_end": "a BatchEndParam",
    "on_eval_end": "a BatchEndParam",
    "on_epoch_end": "an EpochRecord",
    "on_train_end": "the module",
}


def check_callbacks(callbacks: Callbacks, *, has_validation: bool) -> None:
    """Check that each callback is an instance, takes what it is called with, is called, and can write its files.

    >>> from rebind.callback import Speedometer
    >>> check_callbacks(Callbacks(epoch_end=[Speedometer(32)]), has_validation=False)
    Traceback (most recent call last):
    rebind.errors.ArgumentError: fit: epoch_end_callback must not be Speedometer. Give it as batch_end_callback or ...
    """
    # Nobody else can make a folder meanwhile.
    alone = all(is_of_rebind(inspect.unwrap(cast(Callable[..., object], each))) for each in callbacks.all())
    for kind, count in _ARGUMENTS.items():
        slot = f"{kind}_callback"
        for callback in getattr(callbacks, kind):
            if kind.startswith("eval") and not has_validation:  # whatever it is, it is not called
                _needs_validation(callback, slot)
                continue
            _check_slot(callback, slot, count)
            _check_files(callback, slot, alone)
    for member in callbacks.members:
        check_instance(member, "fit: a member of callbacks")
        _check_hooks(member)
        _check_files(member, "callbacks", alone)
        called = {event for event in HOOKS if hooks_of([member], event)}
        if called <= EVALUATION_HOOKS and called and not has_validation:
            _needs_validation(member, f"{_name(member)} of callbacks")


# The slots of MXNet, which hold functions.


def _check_slot(callback: object, slot: str, count: int) -> None:
    if not callable(callback):
        hint = ". Give it in callbacks=[...]." if has_hooks(callback) else ""
        raise ArgumentError(
            f"fit: {slot} must be a function, or a list of functions; got {shown(callback)}{hint}"
        )
    takes = _takes(callback, count)
    if not takes:
        check_instance(inspect.unwrap(callback), f"fit: {slot}")
    slots: Sequence[str] | None = getattr(callback, "slots", None)
    if slots is not None and slot not in slots:
        raise ArgumentError(f"fit: {slot} must not be {_name(callback)}. Give it as {' or '.join(slots)}.")
    if takes:
        _warn_of_class(callback, slot)
        return
    fitting = [
        f"{kind}_callback" for kind, other in _ARGUMENTS.items() if other != count and _takes(callback, other)
    ]
    wanted = "(epoch, symbol, arg_params, aux_params)" if count == 4 else "one argument, a BatchEndParam"
    hint = f" Is it for {' or '.join(fitting)}?" if fitting else ""
    raise ArgumentError(f"fit: {slot} must take {wanted}; got {_name(callback)}, which does not.{hint}")


def _warn_of_class(callback: object, slot: str) -> None:
    """Warn of a class, which can be called: what it makes each time is dropped."""
    made = inspect.unwrap(cast(Callable[..., object], callback))
    if isinstance(made, type):
        name = made.__name__
        warn_user(
            f"fit: {slot} must be an instance; got the class {name}: each call makes a new object, which is dropped. "
            f"Did you mean {name}(...)?"
        )


def _takes(callback: Callable[..., object], count: int) -> bool:
    try:
        inspect.signature(callback).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a function of C without a signature
        return True
    return True


# The members of `callbacks`, which have hooks.


def _check_hooks(member: object) -> None:
    names = [name for name in dir(member) if name.startswith("on_") and name not in HOOKS]
    if not has_hooks(member):
        slots: Sequence[str] | None = getattr(member, "slots", None)
        if slots is not None:
            raise ArgumentError(
                f"fit: callbacks must not hold {_name(member)}. Give it as {' or '.join(slots)}."
            )
        hint = near_names(names[0], HOOKS) if names else " Functions are for batch_end_callback and the like."
        raise ArgumentError(
            f"fit: callbacks must hold objects with hooks ({', '.join(HOOKS)}); got {shown(member)}"
            f"{' with ' + names[0] if names else '.'}{hint}"
        )
    for event in HOOKS:
        for hook in hooks_of([member], event):
            if not (callable(hook) and _takes(hook, 1)):
                raise ArgumentError(
                    f"fit: {event} of {_name(member)} in callbacks must take one argument, {_GIVEN[event]}; got "
                    f"{_name(hook)}, which does not."
                )
    for name in names:  # methods of its own are no mistake, unless they are nearly a hook
        if difflib.get_close_matches(name, HOOKS, n=1, cutoff=0.85):
            warn_user(f"fit: {name} of {_name(member)} in callbacks is never called{near_names(name, HOOKS)}")


# Both.


def _check_files(callback: object, where: str, alone: bool) -> None:
    """Raise an error for a folder that does not exist; where a program's own callbacks may make it, a warning."""
    path = getattr(callback, "writes_to", None)
    if not isinstance(path, str):
        return
    try:
        check_writable(path, f"fit: {where}")
    except MissingFileError as error:
        # Nobody makes a folder where there is a file.
        if alone or any(each.is_file() for each in Path(path).parents):
            raise
        warn_user(f"{error} Or does another callback create it?")


def _needs_validation(callback: object, what: str) -> None:
    """Raise an error for a callback that is of no use without a validation; warn of one that is not called.

    MXNet leaves out what it has nothing to call with, so that a program's own functions may stay.
    """
    if getattr(callback, "slots", None) == ("eval_end_callback",):
        raise ParameterError(f"fit: {_name(callback)} needs a validation set; give eval_data")
    if not isinstance(callback, LogValidationMetricsCallback):
        warn_user(f"fit: {what} is never called without a validation set; give eval_data")


def _name(callback: object) -> str:
    return str(getattr(callback, "__qualname__", type(callback).__name__)).split(".<locals>")[0]
