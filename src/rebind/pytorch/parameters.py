"""The weights of a network in PyTorch as MXNet's parameters: what was trained there goes back into a checkpoint."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..checks import PATH, check_kind
from ..errors import FormatError, MXNetError
from ..extras import imported
from ..ndarray import NDArray, from_torch

__all__ = ["to_params"]


def to_params(
    module: nn.Module, names: Mapping[str, str] | str | os.PathLike[str] | None = None
) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Return the weights of what `to_torch` or `write_python` made as MXNet's parameters, for the same symbol.

    The weights of a recurrent layer become its one vector again. Where a symbol's BatchNorm has ``fix_gamma``, gamma is
    1, as MXNet computes with it.

    Parameters
    ----------
    module
        The network, trained or not.
    names
        From the module's names to MXNet's, by default its own `mxnet_names`. For a ``Network`` of a written Python
        file: the ``.safetensors`` file beside it, in which they are.

    Returns
    -------
    arg_params, aux_params
        Copies, on the CPU: parameters and auxiliary states by name, for `mx.model.save_checkpoint` or
        `Module.set_params`.

    Raises
    ------
    MXNetError
        If the module has no names of MXNet's, or lacks one of those that `names` has.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc1")
    >>> module = mx.to_torch(net, {"fc1_weight": mx.nd.ones((2, 3)), "fc1_bias": mx.nd.zeros(2)})
    >>> _ = module.fc1.weight.data.mul_(5)
    >>> arg_params, aux_params = to_params(module)
    >>> arg_params["fc1_weight"][0].asnumpy().tolist(), aux_params
    ([5.0, 5.0, 5.0], {})
    """
    members: dict[str, list[str]] = {}
    for member, name in _names(module, names).items():
        members.setdefault(name, []).append(member)
    arg_params: dict[str, NDArray] = {}
    aux_params: dict[str, NDArray] = {}
    for name, parts in members.items():
        value = _value(module, parts[0]) if len(parts) == 1 else _packed(module, parts[0])
        # Integers are parameters in MXNet, and buffers in PyTorch.
        is_state = not isinstance(_value(module, parts[0]), nn.Parameter) and value.is_floating_point()
        target = aux_params if is_state else arg_params
        target[name] = from_torch(value.detach().cpu().contiguous().clone())
    return arg_params, aux_params


def _names(module: nn.Module, names: Mapping[str, str] | str | os.PathLike[str] | None) -> Mapping[str, str]:
    if isinstance(names, Mapping):
        return names
    if names is not None:
        check_kind("to_params", PATH, names=names)
        safetensors = imported("safetensors", "safetensors", "to_params")
        try:
            with safetensors.safe_open(os.fspath(names), "pt") as file:
                found: Any = json.loads((file.metadata() or {}).get("mxnet_names", "null"))
        except (safetensors.SafetensorError, json.JSONDecodeError) as error:
            raise FormatError(
                f"to_params: {os.fspath(names)!r} must be a safetensors file of write_python(); {error}"
            ) from error
    else:
        found = getattr(module, "mxnet_names", None)
    if not isinstance(found, Mapping):
        raise MXNetError(
            f"to_params: {'the module' if names is None else os.fspath(names)!r} must have the MXNet names of its "
            "parameters, as modules of mx.to_torch() and files of write_python() do. For another module use "
            "mx.from_torch()."
        )
    return found


def _value(module: nn.Module, member: str) -> Tensor:
    try:
        value: Tensor = operator.attrgetter(member)(module)
    except AttributeError as error:
        raise MXNetError(
            f"to_params: the module must have {member!r}; got {type(module).__name__}"
        ) from error
    return value


def _packed(module: nn.Module, member: str) -> Tensor:
    """Return the vector of a recurrent layer: all weights, then all biases."""
    layer: Any = operator.attrgetter(member.rpartition(".")[0])(module)
    cells = layer.all_weights
    weights = [weight.reshape(-1) for cell in cells for weight in cell[:2]]
    return torch.cat([*weights, *(bias for cell in cells for bias in cell[2:])])
