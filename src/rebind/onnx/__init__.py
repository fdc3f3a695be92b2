"""Networks to ONNX and back: `export_model` and `import_model` of MXNet's ``mx.onnx``."""

from .export import to_onnx
from .exporting import export_model
from .reading import import_model, import_to_gluon

__all__ = ["export_model", "import_model", "import_to_gluon", "to_onnx"]
