"""From a checkpoint to a file for another engine, checked by running both: what ``rebind export`` does."""

from .model_files import Model, read_model
from .network import Network, prepared
from .safetensors_files import load_safetensors, save_safetensors

__all__ = ["Model", "Network", "load_safetensors", "prepared", "read_model", "save_safetensors"]
