"""Updaters: which states an update uses."""

from __future__ import annotations

import rebind as mx


def test_states_that_are_replaced_are_used_from_then_on() -> None:
    """Those of a file, or of other workers, in the middle of a run whose updates are cached."""
    weights, gradients = [mx.nd.ones((3,))], [mx.nd.ones((3,))]
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=1.0, momentum=0.5))
    saved = None
    for step in range(4):
        updater([0], gradients, weights)
        if step == 0:
            saved = updater.get_states()  # a momentum of -1
    updater.set_states(saved)
    before = weights[0].asnumpy()
    updater([0], gradients, weights)
    assert (weights[0].asnumpy() - before).tolist() == [-1.5] * 3
