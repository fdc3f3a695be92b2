"""Update operators: an optimizer's step as a call (``nd.sgd_update(weight, grad, lr=0.1, out=weight)``).

They write their states (momentum, moving averages, master copies) in place. The new weight is an array of its own, or,
with ``out=weight``, takes the place of the old one in its memory. They are not differentiable.

What they compute is in `rules`, which the optimizers call too.
"""

from . import multi, rules, single

__all__ = ["multi", "rules", "single"]
