"""From a checkpoint to a file for another engine, checked by running both: what ``rebind export`` does; and back."""

from ..completion import listing as _listing
from .comparison import Difference
from .export import DifferentOutputsError, export
from .imports import import_file
from .model_files import Model, read_model
from .network import Network, prepared
from .report import Check, Report
from .safetensors_files import load_safetensors, save_safetensors
from .targets import TARGETS, Target

__all__ = [
    "TARGETS", "Check", "Difference", "DifferentOutputsError", "Model", "Network", "Report", "Target", "export",
    "import_file", "load_safetensors", "prepared", "read_model", "save_safetensors",
]  # fmt: skip
__dir__ = _listing(globals())
