"""How operators are described: a signature, kernels, rules of inference and a record, and what joins them.

Each is a small frozen object of its own file, made and tested without the others.
"""

from .declare import operator
from .inference import Inference, Shapes, SizeRule, Types, TypeSlot, TypeSlots, one_shape
from .kernels import (
    Derivative,
    DerivativeRule,
    Function,
    GradientRule,
    InPlace,
    InPlaceAll,
    Kernels,
    with_gradient,
)
from .labels import Asked, LabelRule, Labels
from .operators import OPERATORS, Operator, all_operators, find
from .record import Record
from .signature import Input, Signature, read_signature, without_defaults

__all__ = [
    "OPERATORS", "Asked", "Derivative", "DerivativeRule", "Function", "GradientRule", "InPlace", "InPlaceAll",
    "Inference", "Input", "Kernels", "LabelRule", "Labels", "Operator", "Record", "Shapes", "Signature", "SizeRule",
    "TypeSlot", "TypeSlots", "Types", "all_operators", "find", "one_shape", "operator", "read_signature",
    "with_gradient", "without_defaults",
]  # fmt: skip
