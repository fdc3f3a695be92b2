"""An optimizer of a user's own, which a server finds by its module and its registered name."""

from __future__ import annotations

import rebind as mx

__all__ = ["OfThatModule"]


@mx.optimizer.register
class OfThatModule(mx.optimizer.SGD):
    """Takes three times the gradient."""

    def update(self, index, weight, grad, state):
        self._update_count(index)
        weight[:] = weight - 3 * grad
