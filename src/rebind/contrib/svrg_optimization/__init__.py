"""Stochastic variance-reduced gradients (SVRG): `SVRGModule` and the optimizer that its store uses.

R. Johnson and T. Zhang, "Accelerating Stochastic Gradient Descent using Predictive Variance Reduction", NIPS 2013.
"""

from . import svrg_module, svrg_optimizer
from .svrg_module import SVRGModule

__all__ = ["SVRGModule", "svrg_module", "svrg_optimizer"]
