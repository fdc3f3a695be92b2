"""Networks to ONNX and back: `export_model` and `import_model` of MXNet's ``mx.onnx`` and ``mx.contrib.onnx``."""

from ..completion import listing as _listing
from ..extras import imported as _imported

_imported("onnx_ir", "onnx", "mx.onnx")  # one sentence, rather than an error from the module that comes first

# isort: split
from .export import to_onnx
from .exporting import export_model
from .metadata import get_model_metadata, get_operator_support
from .reading import import_model, import_to_gluon

__all__ = [
    "export_model",
    "get_model_metadata",
    "get_operator_support",
    "import_model",
    "import_to_gluon",
    "to_onnx",
]
__dir__ = _listing(globals())
