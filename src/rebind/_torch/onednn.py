"""oneDNN's functions with packed weights and fused activations, which PyTorch's own compiler calls.

Each is None where this PyTorch lacks it; `has` says so, and whether oneDNN is switched on. Without them layers are
computed by PyTorch's functions for users.
"""

from __future__ import annotations

from typing import Any

import torch

from .private import optional

__all__ = [
    "BYTES", "CONVOLUTIONS", "DENSE", "LSTM", "below_autograd", "computes", "conv2d_bytes", "convolution",
    "convolution_over_addend", "describe_layout", "has", "largest_byte", "linear", "linear_bytes", "lstm_layer",
    "lstm_layer_backward", "pack_conv2d_bytes", "pack_convolution", "pack_linear", "pack_linear_bytes",
    "pack_transposed_convolution", "transposed_convolution",
]  # fmt: skip

_FUSED = "the activation, or the sum, that follows in the same pass over memory"
_PACKED = "weights in the order in which oneDNN is quickest"
_BYTES = "layers of 8 bits in one call of oneDNN"


linear: Any = optional("torch.ops.mkldnn._linear_pointwise", _FUSED)
convolution: Any = optional("torch.ops.mkldnn._convolution_pointwise", _FUSED)
convolution_over_addend: Any = optional("torch.ops.mkldnn._convolution_pointwise_", _FUSED)
transposed_convolution: Any = optional("torch.ops.mkldnn._convolution_transpose_pointwise", _FUSED)
pack_linear: Any = optional("torch.ops.mkldnn._reorder_linear_weight", _PACKED)
pack_convolution: Any = optional("torch.ops.mkldnn._reorder_convolution_weight", _PACKED)
pack_transposed_convolution: Any = optional("torch.ops.mkldnn._reorder_convolution_transpose_weight", _PACKED)
describe_layout: Any = optional("torch.ops.mkldnn._get_mkldnn_serialized_md", "tells packed weights apart")
lstm_layer: Any = optional("torch.ops.aten.mkldnn_rnn_layer", "an LSTM in training that a compiler calls")
lstm_layer_backward: Any = optional("torch.ops.aten.mkldnn_rnn_layer_backward", "the gradients of that LSTM")
pack_conv2d_bytes: Any = optional("torch.ops.onednn.qconv_prepack", _PACKED)
pack_linear_bytes: Any = optional("torch.ops.onednn.qlinear_prepack", _PACKED)
conv2d_bytes: Any = optional("torch.ops.onednn.qconv2d_pointwise", _BYTES)
linear_bytes: Any = optional("torch.ops.onednn.qlinear_pointwise", _BYTES)
largest_byte: Any = optional("torch.ops.quantized.max_pool2d", "PyTorch's max pooling takes no bytes")
_computes_bfloat16: Any = optional(
    "torch.ops.mkldnn._is_mkldnn_bf16_supported", "in bfloat16 oneDNN computes on some processors only"
)
#: For a ``with`` block: kernels run as if autograd had been passed.
below_autograd: Any = optional(
    "torch._C._AutoDispatchBelowAutograd", "the LSTM saves what its gradient needs only with gradients on"
)

#: What is used with each other: `has` is given one of these.
CONVOLUTIONS = (
    convolution, convolution_over_addend, transposed_convolution, pack_convolution, pack_transposed_convolution,
)  # fmt: skip
DENSE = (linear, pack_linear)
BYTES = (conv2d_bytes, linear_bytes, pack_conv2d_bytes, pack_linear_bytes)
LSTM = (lstm_layer, lstm_layer_backward, below_autograd)


def has(*functions: Any) -> bool:
    """Whether oneDNN is here and is not switched off, and PyTorch has functions of it.

    >>> has(None)
    False
    """
    backend = torch.backends.mkldnn
    return bool(backend.is_available() and backend.enabled and all(each is not None for each in functions))


def computes(dtype: torch.dtype | None) -> bool:
    """Whether oneDNN computes in a type here: in bfloat16 some processors cannot.

    >>> computes(torch.float32), computes(torch.float64)
    (True, False)
    """
    if dtype is torch.bfloat16:
        return _computes_bfloat16 is not None and bool(_computes_bfloat16())
    return dtype is torch.float32
