"""An optimizer of a user's own, which a server finds by its module and its registered name."""

from __future__ import annotations

import rebind as mx
from rebind.distributed import JobEnvironment

__all__ = ["OfThatModule"]


class OfThatModule(mx.optimizer.SGD):
    """Takes three times the gradient."""

    def update(self, index, weight, grad, state):
        self._update_count(index)
        weight[:] = weight - 3 * grad


# In the processes of a job only: pytest imports this file too, and other tests go through all that are registered.
if JobEnvironment.read() is not None:
    mx.optimizer.register(OfThatModule)
