"""The full gradient of SVRG: the sum of the gradients of all batches, and its exchange between devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import torch

from ... import kvstore
from ..._torch import foreach
from ...distributed import Job, current_job
from ...errors import StateError
from ...kvstore import KVStoreBase
from ...module import Module
from ...module.batches import padding
from ...module.jobs import job_of
from ...ndarray import NDArray
from ...protocols import ArrayDict, Batch

__all__ = ["batches_of_all", "meet_workers", "share_over_devices", "sum_gradients", "write_means"]

_WHO = "SVRGModule.update_full_grads"


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
                foreach.add_(list(sums.values()), [grad.tensor for grad in grads.values()])
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


def meet_workers(module: Module) -> None:
    """Wait until all workers of a module's job are about to take a snapshot, so that all take it of the same weights.

    >>> import rebind as mx
    >>> meet_workers(mx.mod.Module(mx.sym.square(mx.sym.var("data")), label_names=None))  # it is alone
    """
    stores = module.stores()
    if job_of(stores) is None:
        return
    for store in stores:
        store.barrier()
        if store.synchronize() or not store.capabilities.is_synchronous:  # the newest ones are in the store
            module.pull_weights()


def write_means(
    fulls: Sequence[ArrayDict],
    totals: Sequence[Mapping[str, torch.Tensor]],
    batches: float,
    scale: float,
    keys: Mapping[str, str],
    stores: Sequence[KVStoreBase],
) -> None:
    """Write the full gradients, of which each device of each worker gets an equal share.

    Parameters
    ----------
    fulls
        Where they go: for each device, arrays by name.
    totals
        For each device, the sums of this worker's gradients.
    batches
        The number of this worker's batches.
    scale
        What the losses were multiplied by.
    keys
        The store's key for each of them.
    stores
        The store of the run, if there is one.

    Examples
    --------
    >>> import rebind as mx
    >>> fulls = [{"w": mx.nd.zeros((1,))}]
    >>> write_means(fulls, [{"w": torch.tensor([12.0])}], 3, 2.0, {"w": "w_full"}, [])
    >>> fulls[0]["w"].item()
    2.0
    """
    store = next(iter(stores), None)
    divisor = batches_of_all(batches, store) * scale
    for each, full in zip(totals, fulls, strict=True):
        for name, total in each.items():
            NDArray(total / divisor).copyto(full[name])
    share_over_devices(fulls, keys, store)


def batches_of_all(batches: float, store: KVStoreBase | None) -> float:
    """Return the number of batches of the merged data, which have as many samples as all workers' batches together.

    >>> batches_of_all(2.5, None)
    2.5
    """
    job = None if store is None else job_of([store])
    if job is None:
        return batches
    # All have computed their sums when all are here: until then no worker updates the weights of this snapshot.
    return sum(cast(list[float], job.exchange(f"{_WHO} (number of batches)", batches))) / job.size


def share_over_devices(
    fulls: Sequence[ArrayDict], keys: Mapping[str, str], store: KVStoreBase | None
) -> None:
    """Give each device its share of the total over all devices, of all workers.

    The workers of a job add up what they have themselves; otherwise the sum goes through the store, if there is one.

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
    # Not through a store over processes: one that does not wait for all workers has no sums, and servers know weights
    # only.
    if store is not None and (job_of([store]) is not None or not store.capabilities.is_synchronous):
        _share_over_workers(current_job(), fulls)
        return
    own_keys = [keys[name] for name in names]
    arrays = [[full[name] for full in fulls] for name in names]
    if store is None:
        # For this sum alone: there are several devices, but the module has no store.
        store = kvstore.create("device")
        store.put(own_keys, [each[0] for each in arrays])
    store.push(own_keys, arrays)
    store.pull(own_keys, arrays)
    # Each device adds its full gradient to its own slice's gradient, and the store sums both over the devices: divided
    # by their number, the total is counted once.
    for full in fulls:
        foreach.div_([each.tensor for each in full.values()], len(fulls) * store.num_workers)


def _share_over_workers(job: Job, fulls: Sequence[ArrayDict]) -> None:
    """Give each device of all workers the same share of the total."""
    first = [each.tensor.detach() for each in fulls[0].values()]
    sums = [each.clone() for each in first]
    for full in fulls[1:]:
        foreach.add_(sums, [each.tensor.detach().to(first[0].device) for each in full.values()])
    flat = torch.cat(
        [each.to(dtype=torch.promote_types(each.dtype, torch.float32)).view(-1) for each in sums]
    )
    job.sum(flat)
    flat /= len(fulls) * job.size
    pieces = flat.split([each.numel() for each in sums])
    for full in fulls:
        for target, piece in zip(full.values(), pieces, strict=True):
            target.tensor.detach().copy_(piece.view(target.shape))


def _summed_in(grad: NDArray) -> torch.dtype:
    """Return the type for sums over many batches: at least float32, where 16 bits would lose the later ones."""
    return torch.promote_types(grad.tensor.dtype, torch.float32)
