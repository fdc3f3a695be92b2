"""The stores that only sum: `AllReduceStore` over the workers of a job, `TestStore` over the devices of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NoReturn

import torch
from torch import Tensor

from .._torch import foreach
from ..autograd import pause
from ..distributed import Job, JobEnvironment, Tag, current_job
from ..errors import AbsentFeatureError, ArgumentError, ShapeError
from ..ndarray import NDArray
from ..observing import observed_exchange
from ..optimizer import Optimizer
from ..tuning import current
from .base import Key, Keys, KVStoreBase, Values, stores
from .bucket import fill_buckets
from .capabilities import Capabilities
from .records import broadcast as send_first
from .records import description, is_dense, sum_over_workers

__all__ = ["AllReduceStore", "TestStore"]


class AllReduceStore(KVStoreBase):
    """A store without values: `pushpull` sums over all devices and workers, `broadcast` copies worker 0's values.

    Each worker updates its weights by the sums. These are MXNet's stores ``'horovod'`` and ``'byteps'``, here over
    PyTorch's process groups. All workers must make the same calls in the same order. There is no `init`, `push`,
    `pull` or `set_optimizer`.

    Parameters
    ----------
    kind
        Its name.
    job
        The workers; by default the job of this process.

    Examples
    --------
    >>> import rebind as mx
    >>> kv = mx.kv.create("horovod")  # a job of one worker, as no launcher started this program
    >>> gradients = [mx.nd.array([1, 2]), mx.nd.array([3, 4], ctx=mx.cpu(1))]
    >>> kv.pushpull("w", gradients)
    >>> [array.asnumpy().tolist() for array in gradients]
    [[4.0, 6.0], [4.0, 6.0]]
    """

    capabilities = Capabilities(updates_weights=False, spans_processes=True, keeps_values=False)

    def __init__(self, kind: str = "horovod", job: Job | None = None) -> None:
        super().__init__(kind)
        self._job = job or current_job()
        self._agreed: set[tuple[str, tuple[tuple[str, str], ...]]] = set()  # combinations of keys and shapes

    @property
    def rank(self) -> int:
        """The number of this worker."""
        return self._job.rank

    @property
    def local_rank(self) -> int:
        """The number of this worker among those on its machine.

        >>> AllReduceStore().local_rank
        0
        """
        return self._job.local_rank or 0

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        return self._job.size

    def barrier(self) -> None:
        """Wait until all workers have reached this call."""
        self._job.barrier("KVStore.barrier")

    def broadcast(self, key: Keys, value: Values, out: Values, priority: int = 0) -> None:
        """Copy the values that worker 0 has into the arrays `out` of all workers."""
        given = self._pairs("broadcast", key, value)
        targets = self._targets("broadcast", given, self._pairs("broadcast", key, out))
        self._agree("broadcast", given)
        for key_, arrays in given:
            sent = arrays[0].copyto(arrays[0].context)  # worker 0 keeps its own
            send_first(self._job, "KVStore.broadcast", sent)
            for target in targets[key_]:
                sent.copyto(target)

    @observed_exchange("KVStorePushPull")
    def pushpull(self, key: Keys, value: Values, out: Values | None = None, priority: int = 0) -> None:
        """Write the sums over all devices and workers into `out`, by default into the arrays that were given.

        Small arrays of a list travel together. Of sparse arrays each worker gets what the others have stored.
        """
        given = self._pairs("pushpull", key, value)
        outs = given if out is None else self._pairs("pushpull", key, out)
        targets = self._targets("pushpull", given, outs)
        self._agree("pushpull", given)
        with pause():
            sums = {key_: _sum_of(arrays) for key_, arrays in given}
            self._sum_over_workers(
                {key_: each.tensor.view(-1) for key_, each in sums.items() if is_dense(each)}
            )
            if sparse := {key_: each for key_, each in sums.items() if not is_dense(each)}:
                sums |= sum_over_workers(self._job, "KVStore.pushpull", sparse, Tag.KEYS)
            for key_, arrays in targets.items():
                for target in arrays:
                    sums[key_].copyto(target)

    def _sum_over_workers(self, flat: Mapping[Key, Tensor]) -> None:
        if self.num_workers == 1:
            return
        kinds = {key: (each.nbytes, (each.dtype, each.device)) for key, each in flat.items()}
        for keys in fill_buckets(kinds, current().bucket_bytes):
            members = [flat[key] for key in keys]
            together = members[0] if len(members) == 1 else torch.cat(members)
            self._job.sum(together)
            if len(members) > 1:
                foreach.copy_(members, list(together.split([each.numel() for each in members])))

    def _targets(
        self,
        who: str,
        given: Sequence[tuple[Key, Sequence[NDArray]]],
        outs: Sequence[tuple[Key, list[NDArray]]],
    ) -> dict[Key, list[NDArray]]:
        """Return the arrays to write into, by key; those of a key must all have one shape."""
        for (key, arrays), (_, targets) in zip(given, outs, strict=True):
            for each in [*arrays, *targets]:
                if each.shape != arrays[0].shape:
                    raise ShapeError(
                        f"KVStore.{who}: all arrays of {key!r} must have one shape; got {arrays[0].shape} and "
                        f"{each.shape}"
                    )
        if len(found := dict(outs)) < len(outs):
            raise ArgumentError(f"KVStore.{who}: each key must be given once; got {[key for key, _ in outs]}")
        return found

    def _agree(self, who: str, given: Sequence[tuple[Key, Sequence[NDArray]]]) -> None:
        """Check, once for each combination of keys, that all workers give arrays that fit."""
        described = {str(key): description(each[0]) for key, each in given}
        combination = (who, tuple(described.items()))
        if combination not in self._agreed:
            self._job.agree(f"KVStore.{who}", "keys and shapes", {**described})
            self._agreed.add(combination)

    # What there is not.

    def init(self, key: Keys, value: Values) -> NoReturn:
        """Raise an error: the store holds no values."""
        self._refuse("init", "broadcast() gives all workers the same weights")

    def put(self, key: Keys, value: Values) -> NoReturn:
        """Raise an error: the store holds no values."""
        self._refuse("put", "broadcast() gives all workers the same weights")

    def push(self, key: Keys, value: Values, priority: int = 0) -> NoReturn:
        """Raise an error: the store holds no values."""
        self._refuse("push", "Use pushpull()")

    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> NoReturn:
        """Raise an error: the store holds no values."""
        self._refuse("pull", "Use pushpull()")

    def set_optimizer(self, optimizer: Optimizer) -> NoReturn:
        """Raise an error: each worker updates its weights."""
        self._refuse("set_optimizer", "Each worker updates its weights by the sums, as Module and Trainer do")

    def save_optimizer_states(self, fname: object, dump_optimizer: bool = False) -> NoReturn:
        """Raise an error: each worker has the states."""
        self._refuse("save_optimizer_states", "The states are where the weights are updated")

    def load_optimizer_states(self, fname: object) -> NoReturn:
        """Raise an error: each worker has the states."""
        self._refuse("load_optimizer_states", "The states are where the weights are updated")

    def _refuse(self, what: str, instead: str) -> NoReturn:
        raise AbsentFeatureError(
            f"KVStore.{what}: not supported by a {self.type!r} store, which only sums. {instead}."
        )


class TestStore(AllReduceStore):
    """MXNet's ``'teststore'``, an example of a registered store: it sums over the devices of this process.

    Examples
    --------
    >>> import rebind as mx
    >>> kv, out = mx.kv.create("teststore"), mx.nd.zeros((2,))
    >>> kv.broadcast("w", mx.nd.array([1, 2]), out=out)
    >>> out.asnumpy().tolist(), kv.num_workers
    ([1.0, 2.0], 1)
    """

    __test__: ClassVar[bool] = False  # pytest collects classes of such names

    capabilities = Capabilities(updates_weights=False, keeps_values=False)

    def __init__(self, kind: str = "teststore") -> None:
        super().__init__(kind, Job(JobEnvironment(rank=0)))


def _sum_of(arrays: Sequence[NDArray]) -> NDArray:
    """Return the sum over devices, in memory of its own."""
    total = arrays[0].copyto(arrays[0].context)
    for each in arrays[1:]:
        total.accumulate(each.as_in_context(total.context))
    return total


for _kind in ("horovod", "byteps"):
    stores.register(_kind)(AllReduceStore)
stores.register("teststore")(TestStore)
