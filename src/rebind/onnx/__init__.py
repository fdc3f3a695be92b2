"""Networks to ONNX and back: `export_model` and `import_model` of MXNet's ``mx.onnx``."""

from .export import to_onnx

__all__ = ["to_onnx"]
