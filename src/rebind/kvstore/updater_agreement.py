"""What must be the same on all workers for an updater to do the same, what it must see at once, and when."""

from __future__ import annotations

import hashlib
import inspect

from ..checks import is_of_rebind
from ..distributed import JSON
from ..optimizer import Optimizer, Updater, UpdateScope
from .base import UpdateFunction

__all__ = ["describe_updater", "gives_equal_weights", "may_update_beside", "optimizer_of", "scope_of"]


def scope_of(updater: UpdateFunction | None) -> UpdateScope:
    """Return what an updater must see at once.

    >>> scope_of(lambda key, gradient, weight: None)
    'weight'
    """
    if updater is None:
        return "element"
    if not isinstance(updater, Updater):  # a function of a whole weight, as far as is known
        return "weight"
    # Of the class itself: a subclass may have another rule.
    return vars(type(optimizer_of(updater))).get("update_scope", "weight")


def optimizer_of(updater: Updater) -> Optimizer:
    """Return the optimizer that updates weights: one that stands for another, as that of SVRG does, has it do so.

    >>> from rebind.optimizer import create
    >>> type(optimizer_of(Updater(create("sgd")))).__name__
    'SGD'
    """
    return getattr(updater.optimizer, "default_opt", updater.optimizer)


def may_update_beside(updater: UpdateFunction | None) -> bool:
    """Return whether an updater may run in a thread, beside backward.

    None, which sums, may. Code of the user's own may not, as it may look at more than its arguments, nor what draws
    random numbers: backward may draw as well, and each must get the same in every run.

    >>> from rebind.optimizer import create
    >>> may_update_beside(Updater(create("sgd"))), may_update_beside(Updater(create("sgld")))
    (True, False)
    """
    if updater is None:
        return True
    if not isinstance(updater, Updater):
        return False
    optimizer = updater.optimizer
    used = [type(each) for each in (optimizer, optimizer.lr_scheduler) if each is not None]
    return all(map(is_of_rebind, used)) and optimizer.is_ours and not optimizer.draws


def gives_equal_weights(updater: UpdateFunction | None) -> bool:
    """Return whether workers that update a weight by the same gradients, each by itself, come to the same weight.

    They do not where each draws its own random numbers, or where an update depends on those of all other weights, of
    which each worker makes some.

    >>> from rebind.optimizer import create
    >>> [gives_equal_weights(Updater(create(name))) for name in ("sgd", "sgld", "nadam")]
    [True, False, False]
    """
    is_drawn = isinstance(updater, Updater) and optimizer_of(updater).draws
    return not is_drawn and scope_of(updater) != "optimizer"


def describe_updater(updater: UpdateFunction) -> JSON:
    """Return what must be the same on all workers for an updater to do the same: class, code and settings.

    >>> from rebind.optimizer import create
    >>> describe_updater(Updater(create("sgd", learning_rate=0.5)))["settings"]["lr"]
    0.5
    """
    if not isinstance(updater, Updater):
        return {"updater": getattr(updater, "__qualname__", type(updater).__name__), "code": _digest(updater)}
    optimizer = updater.optimizer
    settings: dict[str, JSON] = {
        name: value
        for name, value in vars(optimizer).items()
        if isinstance(value, (bool, int, float, str, type(None))) and not name.startswith("_")
    }
    kind = type(optimizer)
    return {"optimizer": kind.__qualname__, "code": _digest(kind), "settings": settings}


def _digest(what: object) -> str:
    """Return a digest of the source of a class or function, where it can be read."""
    try:
        source = inspect.getsource(what)  # type: ignore[arg-type]  # a TypeError for what has none
    except (OSError, TypeError):
        return ""
    return hashlib.sha256(source.encode()).hexdigest()[:16]
