"""The full gradient of SVRG: the sum of the gradients of all batches, and its exchange between devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch

from ... import kvstore
from ...distributed import current_job
from ...errors import StateError
from ...kvstore import KVStoreBase
from ...module import Module
from ...module.batches import padding
from ...ndarray import NDArray
from ...protocols import ArrayDict, Batch

__all__ = ["pull_together", "share_over_devices", "sum_gradients"]


def sum_gradients(module: Module, train_data: Iterable[Batch]) -> tuple[list[dict[str, torch.Tensor]], float]:
    """Return, for each device, the sums of a module's gradients over all batches; and the number of batches.

    The latter is ``batches − pad / batch_size``: padding counts as a fraction of the last batch.

    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    >>> module = mx.mod.Module(mx.sym.LinearRegressionOutput(net, name="lro"), label_names=["lro_label"])
    >>> module.bind([("data", (1, 1))], [("lro_label", (1, 1))])
    >>> module.init_params(mx.init.Zero())
    >>> batch = mx.io.DataBatch([mx.nd.ones((1, 1))], [mx.nd.ones((1, 1))])
    >>> totals, batches = sum_gradients(module, [batch, batch])
    >>> totals[0]["fc_weight"].item(), batches
    (-2.0, 2.0)
    """
    totals = [
        {name: torch.zeros_like(grad.tensor, dtype=_summed_in(grad)) for name, grad in grads.items()}
        for grads in module.gradients_by_device()
    ]
    batches = pad = 0
    for batches, batch in enumerate(train_data, 1):  # noqa: B007
        module.forward_backward(batch)
        for sums, grads in zip(totals, module.gradients_by_device(), strict=True):
            if sums:
                torch._foreach_add_(list(sums.values()), [grad.tensor for grad in grads.values()])
        pad = padding(batch)  # of the last batch, the only one that has any
    if not batches:
        raise StateError(
            "SVRGModule.update_full_grads: train_data must yield at least one batch; got none. Does its reset() start "
            "over?"
        )
    group = module.executors
    assert group is not None  # a module that has run forward is bound
    # The last batch counts as far as it is not padding.
    return totals, batches - pad / group.batch_size


def pull_together(module: Module) -> None:
    """Let all workers have the same weights, where each may update them at any time.

    >>> import rebind as mx
    >>> pull_together(
    ...     mx.mod.Module(mx.sym.var("data") * mx.sym.var("w"), label_names=None)
    ... )  # it has no store
    """
    store = None if module.policy is None else module.policy.store
    if store is None or store.capabilities.is_synchronous:
        return
    store.barrier()
    # Nobody pushes before the sum over the workers, to which all of them come.
    for name, arrays in module.parameters.by_device().items():
        store.pull(name, arrays)


def share_over_devices(
    fulls: Sequence[ArrayDict], keys: Mapping[str, str], store: KVStoreBase | None
) -> None:
    """Give each device its share of the total over all devices, through the store if there is one.

    Parameters
    ----------
    fulls
        For each device, the full gradients by name.
    keys
        The store's key for each of them.
    store
        The store of the run.

    Examples
    --------
    >>> import rebind as mx
    >>> fulls = [{"w": mx.nd.array([1.0])}, {"w": mx.nd.array([3.0])}]
    >>> share_over_devices(fulls, {"w": "w_full"}, None)
    >>> [full["w"].item() for full in fulls]
    [2.0, 2.0]
    """
    names = list(fulls[0])
    if not names or (store is None and len(fulls) == 1):
        return
    own_keys = [keys[name] for name in names]
    arrays = [[full[name] for full in fulls] for name in names]
    if store is None:
        # For this sum alone: there are several devices, but the module has no store.
        store = kvstore.create("device")
        store.put(own_keys, [each[0] for each in arrays])
    if store.capabilities.is_synchronous:
        store.push(own_keys, arrays)
        store.pull(own_keys, arrays)
    else:
        _sum_over_workers(arrays)  # such a store would assign what comes last
    # Each device adds its full gradient to its own slice's gradient, and the store sums both over the devices: divided
    # by their number, the total is counted once.
    for full in fulls:
        torch._foreach_div_([each.tensor for each in full.values()], len(fulls) * store.num_workers)


def _sum_over_workers(arrays: Sequence[Sequence[NDArray]]) -> None:
    """Give each device the sum over the devices of all workers, for which all of them wait."""
    for of_devices in arrays:
        total = of_devices[0].tensor.detach().clone()
        for each in of_devices[1:]:
            total += each.tensor.detach().to(total.device)
        current_job().sum(total)
        for each in of_devices:
            each.write_unrecorded(total.to(each.tensor.device))


def _summed_in(grad: NDArray) -> torch.dtype:
    """Return the type for sums over many batches: at least float32, where 16 bits would lose the later ones."""
    return torch.promote_types(grad.tensor.dtype, torch.float32)
