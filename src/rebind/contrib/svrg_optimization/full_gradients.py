"""The full gradient of SVRG: the sum of the gradients of all batches, and its exchange between devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import torch

from ... import kvstore
from ..._torch import foreach
from ...distributed import Job, current_job
from ...distributed.tags import Tag
from ...errors import StateError
from ...kvstore import KVStoreBase
from ...kvstore.records import is_dense, sum_over_workers
from ...module import Module
from ...module.batches import padding
from ...module.jobs import job_of
from ...ndarray import NDArray
from ...ndarray.base import wrap
from ...protocols import ArrayDict, Batch

__all__ = [
    "add_each", "batches_of_all", "meet_workers", "share_over_devices", "sum_gradients", "write_means", "zeros_like",
]  # fmt: skip

_WHO = "SVRGModule.update_full_grads"


def sum_gradients(module: Module, train_data: Iterable[Batch]) -> tuple[list[ArrayDict], float]:
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
        {name: zeros_like(grad, _summed_in(grad)) for name, grad in grads.items()}
        for grads in module.gradients_by_device()
    ]
    batches = pad = 0
    for batches, batch in enumerate(train_data, 1):  # noqa: B007
        module.forward_backward(batch)
        for sums, grads in zip(totals, module.gradients_by_device(), strict=True):
            add_each(list(sums.values()), list(grads.values()))
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
    totals: Sequence[ArrayDict],
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
        For each device, the sums of this worker's gradients, which are divided.
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
    >>> write_means(fulls, [{"w": mx.nd.array([12])}], 3, 2.0, {"w": "w_full"}, [])
    >>> fulls[0]["w"].item()
    2.0
    """
    store = next(iter(stores), None)
    divisor = batches_of_all(batches, store) * scale
    for each, full in zip(totals, fulls, strict=True):
        for name, total in each.items():
            total.storage.divide(divisor)
            total.copyto(full[name])
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
    store.pull(own_keys, arrays, ignore_sparse=False)
    # Each device adds its full gradient to its own slice's gradient, and the store sums both over the devices: divided
    # by their number, the total is counted once.
    for full in fulls:
        for each in full.values():
            each.storage.divide(len(fulls) * store.num_workers)


def _share_over_workers(job: Job, fulls: Sequence[ArrayDict]) -> None:
    """Give each device of all workers the same share of the total."""
    dense = [name for name, each in fulls[0].items() if is_dense(each)]
    if dense:
        _share_dense(job, [{name: full[name] for name in dense} for full in fulls])
    if len(dense) < len(fulls[0]):
        _share_rows(job, [{name: each for name, each in full.items() if name not in dense} for full in fulls])


def _share_rows(job: Job, fulls: Sequence[ArrayDict]) -> None:
    """Share arrays that are not dense: what is stored of them travels."""
    sums = {name: each.copy() for name, each in fulls[0].items()}
    for full in fulls[1:]:
        for name, each in full.items():
            sums[name].accumulate(each.as_in_context(sums[name].context))
    for name, total in sum_over_workers(job, _WHO, sums, Tag.KEYS).items():
        total.storage.divide(len(fulls) * job.size)
        for full in fulls:
            total.copyto(full[name])


def _share_dense(job: Job, fulls: Sequence[ArrayDict]) -> None:
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
    return torch.promote_types(grad.storage.dtype, torch.float32)


def zeros_like(array: NDArray, dtype: torch.dtype | None = None) -> NDArray:
    """Return zeros of an array's shape, device and storage type.

    >>> import rebind as mx
    >>> zeros_like(mx.nd.zeros((4, 1), stype="row_sparse")).stype
    'row_sparse'
    """
    return wrap(array.storage.zeros_like(dtype=dtype), array.context)


def add_each(targets: Sequence[NDArray], sources: Sequence[NDArray], factor: float = 1.0) -> None:
    """Add arrays to others of their storage types, in place, each times a factor.

    >>> import rebind as mx
    >>> target = mx.nd.array([5])
    >>> add_each([target], [mx.nd.array([2])], factor=-2.0)
    >>> target.item()
    1.0
    """
    pairs = list(zip(targets, sources, strict=True))
    dense = [pair for pair in pairs if all(map(is_dense, pair))]
    if dense:  # in one call
        foreach.add_(
            [target.tensor.detach() for target, _ in dense],
            [source.tensor.detach() for _, source in dense],
            alpha=factor,
        )
    for target, source in pairs:
        if not (is_dense(target) and is_dense(source)):
            added = source.storage.copy()
            added.divide(1 / factor)
            target.storage.accumulate(added)
