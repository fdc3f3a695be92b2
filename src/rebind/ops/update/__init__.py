"""How weights are updated: each rule once, and the operators that are made of it.

A rule (`sgd_momentum`, `adam`, ...) takes weights, gradients and states as lists of one length, writes weights and
states in place, and leaves gradients as they are. The weights are of one type and on one device, and nothing is
recorded: callers switch recording off. The optimizers call the rules, and the update operators
(``nd.sgd_update(weight, grad, lr=0.1, out=weight)`` and its relatives) are derived from them. Those write their states
in place; the new weight is an array of its own or, with ``out=weight``, in the memory of the old one.

Settings that all rules have:

``lr``, ``wd``
    Learning rate and weight decay: a number, or a list with one for each weight; a member may be a tensor without axes,
    so that rates which are computed on a device need not leave it, and change without a compiler's notice.
``rescale_grad``
    Gradients are multiplied by it.
``clip_gradient``
    Each element of a rescaled gradient is cut to this size. None, or a negative number, cuts nothing.

MXNet holds the settings in single precision, and so do the rules where it is seen: in ``1 - beta`` and ``1 - beta **
t``.

Examples
--------
>>> import torch
>>> weight, momentum = torch.ones(2), torch.zeros(2)
>>> sgd_momentum([weight], [torch.ones(2)], [momentum], lr=0.1, momentum=0.9)
>>> weight, momentum
(tensor([0.9000, 0.9000]), tensor([-0.1000, -0.1000]))
"""

from .adam import adam, adamax, adamw, nadam
from .adaptive import adadelta, adagrad, group_adagrad, rmsprop, rmsprop_centered
from .descent import dcasgd, nag, sgd, sgd_momentum, sgld, signsgd, signum
from .layerwise import lamb, lamb_direction, lamb_move, lars_rates
from .leader import ftml, ftrl

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "adamw", "dcasgd", "ftml", "ftrl", "group_adagrad", "lamb",
    "lamb_direction", "lamb_move", "lars_rates", "nadam", "nag", "rmsprop", "rmsprop_centered", "sgd", "sgd_momentum",
    "sgld", "signsgd", "signum",
]  # fmt: skip
