"""`NCCLStore`: sums over the GPUs of this process by NCCL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch.nn.parallel import comm

from ..errors import DeviceError
from ..ndarray import NDArray
from ..observing import observed_exchange
from .base import Key, Keys, Values, stores
from .local import KVStore
from .records import is_dense

__all__ = ["NCCLStore"]


class NCCLStore(KVStore):
    """A store over the GPUs of this process; NCCL sums what they push, and copies weights to them.

    Raises
    ------
    DeviceError
        Where PyTorch finds no GPU, and for arrays that are on none.

    Examples
    --------
    >>> import torch
    >>> if not torch.cuda.is_available():
    ...     NCCLStore()
    Traceback (most recent call last):
    rebind.errors.DeviceError: KVStore 'nccl': needs a CUDA device; ...
    """

    def __init__(self, kind: str = "nccl") -> None:
        if not torch.cuda.is_available():
            raise DeviceError(
                f"KVStore {kind!r}: needs a CUDA device; PyTorch {torch.__version__} finds none. Use 'device', which "
                "sums on any."
            )
        super().__init__(kind)
        self._sums_on_device = True

    @property
    def _compresses_devices(self) -> bool:
        return False

    def _copy_in(self, pairs: Iterable[tuple[Key, Sequence[NDArray]]]) -> None:
        given = list(pairs)
        for key, arrays in given:
            _check("init", key, arrays[:1])
        super()._copy_in(given)

    def _sum(self, key: Key, arrays: Sequence[NDArray]) -> NDArray:
        _check("push", key, arrays)
        if len(arrays) == 1:
            return arrays[0]
        if not all(is_dense(each) for each in arrays):  # rows are of other lengths on each GPU
            return super()._sum(key, arrays)
        tensors = [each.tensor.detach() for each in arrays]
        return NDArray(comm.reduce_add(tensors, tensors[0].get_device()), arrays[0].context)

    @observed_exchange("KVStorePull")
    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copy the values of keys into the arrays `out`, on several GPUs by one broadcast."""
        if out is None:
            super().pull(key)
            return
        for each, arrays in self._pairs("pull", key, out):
            source = self._stored("pull", each, arrays)
            same = [array for array in arrays if array.dtype == source.dtype and is_dense(array)]
            devices = {array.tensor.get_device() for array in same}
            several = len(arrays) > 1 and len(same) == len(arrays) == len(devices) and min(devices) >= 0
            if several and is_dense(source):
                comm.broadcast(source.tensor.detach(), out=[array.tensor for array in same])
            else:  # one array, several on one GPU, or of other types or storage types
                super().pull(each, arrays, priority, ignore_sparse)


def _check(who: str, key: Key, arrays: Sequence[NDArray]) -> None:
    for each in arrays:
        if each.storage.device.type != "cuda":
            raise DeviceError(
                f"KVStore.{who}: arrays of a 'nccl' store must be on GPUs; got {each.context} for {key!r}"
            )


stores.register("nccl")(NCCLStore)
