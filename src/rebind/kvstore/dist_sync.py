"""`DistSyncStore`: gradients are summed over the workers of a job, each of which updates its share of the weights."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

import torch
from torch import Tensor

from .. import config
from ..distributed import FINISHED, JSON, Exchanges, Tag, current_job, first_does
from ..errors import ArgumentError, StateError
from ..ndarray import NDArray
from ..observing import observed_exchange
from ..optimizer import Updater
from ..optimizer.arrays import StoredState
from ..tuning import current
from .averaging import Averaging
from .base import Key, Keys, UpdateFunction, Values, stores
from .bucket import Bucket, Part, fill_buckets
from .capabilities import Capabilities
from .compressed_bucket import CompressedBucket
from .compression import Compression
from .divided_states import BY_ALL, divide_states, gather_states, load_on_first, states_from_first
from .in_turn import OrderedWorker
from .local import KVStore
from .local_steps import LocalStepsStore
from .records import broadcast, description, is_dense, sum_over_workers
from .sharding import Sharding
from .updater_agreement import describe_updater, gives_equal_weights, may_update_beside, scope_of

__all__ = ["DistSyncStore"]

#: The kinds, and whether values are on the device that pushes; otherwise on the CPU.
_ON_DEVICE = {"dist": False, "dist_sync": False, "dist_device_sync": True, "dist_sync_device": True}


class DistSyncStore(KVStore):
    """A store over all workers of a job, in which a push waits for the pushes of all other workers.

    The elements of each key are divided over the workers. A push sends each worker the gradients of its share; it
    sums them, updates its share, and sends the new weights to all. So each worker keeps the optimizer's states of its
    share only, and as many bytes travel as when gradients are summed by an all-reduce.

    Of a gradient that is not dense, such as a row_sparse one, each worker gets what all have pushed, and updates the
    weight by the sum: rows travel, and no weights. The sums have the same bits on all workers.

    All workers must make the same calls of `init`, `push` and `set_optimizer`, in the same order; `pull` is local.
    Unlike MXNet there are no servers, and a worker that is lost is an error for the others.

    Parameters
    ----------
    kind
        ``'dist_sync'`` keeps the values on the CPU, ``'dist_device_sync'`` on the device whose gradients are pushed.

    Examples
    --------
    >>> import rebind as mx
    >>> kv = DistSyncStore("dist_sync")  # a job of one worker, as no launcher started this program
    >>> kv.init("w", mx.nd.zeros((2,)))
    >>> kv.push("w", mx.nd.ones((2,)) * (kv.rank + 1))
    >>> kv.pull("w", out=(out := mx.nd.zeros((2,))))
    >>> out.asnumpy().tolist()
    [1.0, 1.0]
    """

    capabilities = Capabilities(
        spans_processes=True, compresses=True, takes_ready_gradients=True, averages_weights=True
    )

    def __init__(self, kind: str = "dist_sync") -> None:
        super().__init__(kind)
        self._job = current_job()
        self._sums_on_device = _ON_DEVICE.get(self.type, False)
        self._numbers: dict[Key, int] = {}  # of the keys, in the order of `init`; the same on all workers
        self._sharding: Sharding[Key] | None = None  # made at the first push
        self._placed: Sharding[Key] | None = None  # by which the optimizer's states are divided
        self._unplaced: dict[Hashable, StoredState] = {}  # whole states to divide, on worker 0
        # For each combination of keys that was pushed: those that are divided, and the others.
        self._buckets: dict[tuple[tuple[Key, ...], tuple[Key, ...]], list[Bucket[Key]]] = {}
        devices = ["cpu", "cuda"] if self._sums_on_device else ["cpu"]
        self._exchanges = Exchanges(self._job, devices, Tag.BUCKETS)
        self._open: dict[Key, Bucket[Key]] = {}  # of the push that has begun, by its keys
        self._unsent: deque[Bucket[Key]] = deque()  # those of them whose gradients are not on their way
        self._undivided: dict[Key, NDArray | None] = {}  # its other keys, with their gradients
        self._sparse: set[Key] = set()  # keys of dense values whose last gradients were not dense
        self._ahead = OrderedWorker(self._update_share, "rebind-update")
        self._spreading: list[Bucket[Key]] = []  # whose weights are on their way
        # Not the store itself, which would live as long as the job.
        leave = weakref.WeakMethod(self._leave)
        self._job.before_close(lambda ended: None if (call := leave()) is None else call(ended))

    def _leave(self, ended: str) -> None:
        # The others may not have this worker's part of the last weights yet.
        if ended == FINISHED:
            self._settle()

    @property
    def rank(self) -> int:
        """The number of this worker.

        >>> DistSyncStore().rank
        0
        """
        return self._job.rank

    @property
    def num_workers(self) -> int:
        """How many workers there are.

        >>> DistSyncStore().num_workers
        1
        """
        return self._job.size

    def with_averaging(self, averaging: Averaging) -> LocalStepsStore:
        """Return a store whose workers update weights of their own, and average them through this one."""
        return LocalStepsStore(self, averaging)

    def barrier(self) -> None:
        """Wait until all workers have reached this call."""
        self._settle()
        self._job.barrier("KVStore.barrier")

    # Values.

    def _copy_in(self, pairs: Iterable[tuple[Key, Sequence[NDArray]]]) -> None:
        given = list(pairs)
        self._settle()
        described: JSON = {str(k): description(arrays[0]) for k, arrays in given}
        self._job.agree("KVStore.init", "keys and shapes", described)
        for k, arrays in given:
            old = self._values.get(k)
            if old is not None and description(old) == description(arrays[0]):
                arrays[0].copyto(old)  # in place, as buckets hold its memory
            else:
                super()._copy_in([(k, arrays)])
                self._forget_sharding()
            self._numbers.setdefault(k, len(self._numbers))
            # MXNet's rule: the values of worker 0 count.
            broadcast(self._job, "KVStore.init", self._values[k])

    @observed_exchange("KVStorePull")
    def pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, ignore_sparse: bool = True
    ) -> None:
        """Copy the values of keys into the arrays `out`; nothing is sent, as each worker has all of them."""
        self._settle()
        super().pull(key, out, priority, ignore_sparse)

    @observed_exchange("KVStoreRowSparsePull")
    def row_sparse_pull(
        self, key: Keys, out: Values | None = None, priority: int = 0, row_ids: Values | None = None
    ) -> None:
        """Copy rows of the values into the arrays `out`; nothing is sent, as each worker has all of them."""
        self._settle()
        super().row_sparse_pull(key, out, priority, row_ids)

    # Pushing.

    def begin_push(self, keys: Sequence[Key], sparse: Collection[Key] = ()) -> None:
        """Say which keys the next `push` will be of, so that `push_ready` can send some of them before it.

        With an optimizer of rebind's own, weights are updated from then on, as the gradients of all workers arrive.

        Parameters
        ----------
        keys
            In the order in which their gradients are expected to become ready.
        sparse
            Those whose gradients are not dense. All workers must have the same.
        """
        if self._open:
            raise StateError(
                "KVStore.begin_push: all keys of the last begin_push() must have been pushed; not yet pushed: "
                f"{list(self._open)[:3]}"
            )
        self._settle()  # a weight that arrives late must not overwrite a newer one
        self._note_sparse(keys, sparse)
        self._undivided = {key: None for key in keys if not self._is_cut(key)}
        buckets = self._buckets_for(tuple([key for key in keys if self._is_cut(key)]), tuple(self._undivided))
        for bucket in buckets:
            self._open.update(dict.fromkeys(bucket.keys, bucket))
        self._unsent = deque(buckets)
        self._ahead.begin(buckets)

    def push_ready(self, key: Key, value: NDArray | Sequence[NDArray]) -> None:
        """Push one of the keys that `begin_push` was given; it is sent when all of its bucket are there."""
        pairs = self._pairs("push", key, value)
        self._stored("push", key, pairs[0][1])
        total = self._totals(pairs)[key]
        if key in self._undivided:
            self._undivided[key] = total.copy()  # the caller may write into it before the push ends
            return
        self._open[key].add(key, self._flat(key, total))
        for bucket in self._send_full():
            if self._updates_ahead(bucket):
                self._ahead.ready(bucket)

    def _send_full(self) -> list[Bucket[Key]]:
        """Begin to send the buckets that are full, in their order, and return them."""
        sent = []
        while self._unsent and self._unsent[0].is_full:
            sent.append(self._unsent.popleft())
            sent[-1].scatter()
        return sent

    def _apply(self, totals: Mapping[Key, NDArray]) -> None:
        if not (self._open or self._undivided):
            self.begin_push(list(totals), [key for key, total in totals.items() if not is_dense(total)])
        for key, total in totals.items():
            if key in self._undivided:
                self._undivided[key] = total
                continue
            bucket = self._open.get(key)
            if bucket is None:
                raise StateError(
                    f"KVStore.push: must be of the keys that begin_push() was given; got {key!r}"
                )
            bucket.add(key, self._flat(key, total))
        self._send_full()
        self.end_push()

    def end_push(self) -> None:
        """Update the weights by what was pushed since `begin_push`."""
        left = self._ahead.ahead
        undivided, self._undivided = self._undivided, {}
        missing = [key for bucket in self._unsent for key in bucket.missing]
        if missing := missing + [key for key, total in undivided.items() if total is None]:
            raise StateError(f"KVStore.push: must give all keys of begin_push(); {missing[:3]} are missing")
        self._open = {}
        self._ahead.wait()
        if self._clips_over_all is not None or self.num_workers == 1:  # alone there is nothing to wait for
            self._update_share(*left)
        else:
            for bucket in left:
                self._update_share(bucket)
        self._update_undivided({key: total for key, total in undivided.items() if total is not None})
        if self._exchanges.passes_on:  # the others may need it before the next call of this worker
            self._settle()

    def _update_undivided(self, totals: Mapping[Key, NDArray]) -> None:
        """Update keys of which no worker has a share: on each worker, by the sums of gradients that all of them get.

        Gradients with few rows are short messages; the weights that would come back are not.
        """
        if not totals:
            return
        if self.num_workers > 1:
            self._check_undivided(totals)
        summed = sum_over_workers(self._job, "KVStore.push", totals, self._tag_of_key(next(iter(totals))))
        self._update(list(summed), list(summed.values()), [self._values[key] for key in summed])

    def _check_undivided(self, keys: Iterable[Key]) -> None:
        """Check that each worker can update the whole of keys, and comes to the same weights."""
        needs = ""
        if self._clips_over_all is not None:
            needs = "clip_global_norm takes dense gradients"
        elif not gives_equal_weights(self._updater):
            needs = f"{type(self._need_updater('push').optimizer).__name__} takes dense weights"
        if needs:
            raise ArgumentError(
                f"KVStore.push: over several workers {needs}; got sparse ones for {', '.join(map(repr, keys))}"
            )

    def _note_sparse(self, keys: Sequence[Key], sparse: Collection[Key]) -> None:
        """Take note of keys of dense values whose gradients are sparse, or are not any more: they go another way."""
        # Where workers would come to different weights, one of them updates, as for any other gradient.
        now = set(sparse) if gives_equal_weights(self._updater) else set()
        changed = {key for key in keys if (key in now) != (key in self._sparse)}
        changed = {key for key in changed if is_dense(self._values[key])}
        if changed:
            self._sparse ^= changed
            self._forget_sharding()

    def _flat(self, key: Key, total: NDArray) -> Tensor:
        """Return the elements of a gradient that is divided over the workers."""
        if not is_dense(total) and gives_equal_weights(self._updater):
            raise StateError(
                f"KVStore.push: begin_push() must be given the keys of sparse gradients; got {total.stype} for {key!r}"
            )
        return total.storage.to_dense().detach().contiguous().view(-1)

    def _is_cut(self, key: Key) -> bool:
        """Whether a key is divided over the workers; others, with sparse values or gradients, are updated on each."""
        return key not in self._values or (is_dense(self._values[key]) and key not in self._sparse)

    @property
    def _clips_over_all(self) -> float | None:
        """The limit of the norm over the gradients of all keys, which must then be there before any is updated."""
        return self._updater.optimizer.clip_global_norm if isinstance(self._updater, Updater) else None

    def _updates_ahead(self, bucket: Bucket[Key]) -> bool:
        """Whether a share is updated in a thread while backward still computes other gradients."""
        # Alone there is nothing to wait for, and the update would only be divided; where workers share cores, others
        # compute while one waits. What must begin in one order is begun by one thread.
        waits = self.num_workers > 1 and not self._job.shares_cores and not bucket.is_ordered
        return waits and self._clips_over_all is None and may_update_beside(self._updater)

    def _update_share(self, *buckets: Bucket[Key]) -> None:
        """Update this worker's share of some weights at once, and send it to the others."""
        # While the next bucket's gradients arrive, this one's weights leave.
        parts = [part for bucket in buckets for part in bucket.collect()]
        self._update_parts(parts, [key for bucket in buckets for key in bucket.keys])
        for bucket in buckets:
            bucket.spread()
        # Where an exchange has several stages, the next one begins when somebody waits.
        before, self._spreading = self._spreading, list(buckets)
        for bucket in before:
            bucket.settle()

    def _update_parts(self, parts: Sequence[Part], keys: Sequence[Key]) -> None:
        """Update the parts of some keys that are this worker's."""
        shaped = [self._whole_again(part) for part in parts]
        owned = [part.key for part in parts]
        optimizer = self._updater.optimizer if isinstance(self._updater, Updater) else None
        limit = None if self.num_workers == 1 else self._clips_over_all
        if optimizer is not None and limit is not None:
            shaped = self._clipped(shaped, limit, optimizer.rescale_grad)
            optimizer.clip_global_norm = None  # it saw parts of the gradients only
        try:
            if owned:
                self._update(owned, *map(list, zip(*shaped, strict=True)))
        finally:
            if optimizer is not None and limit is not None:
                optimizer.clip_global_norm = limit
        # All workers count all updates: schedules go by the count.
        if optimizer is not None and (others := [key for key in keys if key not in set(owned)]):
            optimizer._update_count(others)

    def _whole_again(self, part: Part) -> tuple[NDArray, NDArray]:
        """Return gradient and weight of a part as arrays, with the key's shape where the part is all of it."""
        value = self._values[part.key]
        shape = value.shape if part.weight.numel() == value.size else (part.weight.numel(),)
        gradient = part.gradient.view(shape)
        if not isinstance(self._updater, Updater):
            # A user's function may keep it, and the next push writes into its memory.
            gradient = gradient.clone()
        return NDArray(gradient, value.context), NDArray(part.weight.view(shape), value.context)

    def _clipped(
        self, shaped: Sequence[tuple[NDArray, NDArray]], limit: float, rescale: float
    ) -> list[tuple[NDArray, NDArray]]:
        """Return parts with gradients scaled so that the norm over all workers' parts is `limit` at most."""
        squares = torch.zeros((), dtype=torch.float64)
        for gradient, _ in shaped:
            squares += gradient.tensor.double().square().sum().cpu()
        self._job.sum(squares)
        norm = float(squares.sqrt()) * abs(rescale)
        factor = limit / max(norm, limit)
        return [(gradient * factor, weight) for gradient, weight in shaped]

    def _settle(self) -> None:
        """Wait for the weights that are on their way."""
        self._ahead.wait()
        spreading, self._spreading = self._spreading, []
        for bucket in spreading:
            bucket.settle()

    # Sharing the work.

    @property
    def _compresses_devices(self) -> bool:
        return False  # their sum is compressed

    def set_gradient_compression(self, compression_params: Mapping[str, object]) -> None:
        """Compress the gradients that are sent; weights come back as they are. All workers must call it.

        The gradients of a worker's devices are summed first. What is not sent is held, and added to the next gradient;
        it is retained as well when another compression is set.

        Parameters
        ----------
        compression_params
            The ``'type'``, ``'2bit'`` or ``'1bit'`` (or ``'none'``), and the ``'threshold'``; see
            `kvstore.Compression`. MXNet 1.9 has ``'2bit'`` and float32 only.

        Examples
        --------
        >>> import rebind as mx
        >>> kv = DistSyncStore("dist_sync")
        >>> kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        >>> kv.init("w", mx.nd.zeros((3,)))
        >>> for _ in range(2):
        ...     kv.push("w", mx.nd.array([0.3, 0.7, -9.0]))
        ...     kv.pull("w", out=(out := mx.nd.zeros((3,))))
        ...     print(out.asnumpy())
        [ 0.   0.5 -0.5]
        [ 0.5  0.5 -0.5]
        """
        compression = Compression.of(compression_params)
        self._settle()
        described: JSON = None if compression is None else [compression.type, compression.threshold]
        self._job.agree("KVStore.set_gradient_compression", "compression", described)
        self._set_compression(compression)
        self._buckets = {}

    def _set_updater(self, updater: UpdateFunction) -> None:
        self._settle()
        self._job.agree("KVStore.set_optimizer", "optimizer", describe_updater(updater))
        super()._set_updater(updater)
        self._forget_sharding()
        self._placed, self._unplaced = None, {}
        if isinstance(updater, Updater) and self.num_workers > 1:
            # It may come with states, of whole weights.
            self._unplaced = dict(updater.states) if self.rank == 0 else {}
            updater.states, updater.states_synced = {}, {}

    def _forget_sharding(self) -> None:
        # What is divided how depends on the keys, and on what the updater must see at once.
        self._sharding = None
        self._buckets = {}

    def _buckets_for(self, keys: tuple[Key, ...], undivided: tuple[Key, ...]) -> list[Bucket[Key]]:
        """Return the buckets for some keys, in the order in which they are full; made once for each combination."""
        found = self._buckets.get((keys, undivided))
        if found is not None:
            return found
        self._job.agree("KVStore.push", "keys", sorted([*keys, *undivided], key=str))
        self._job.agree("KVStore.push", "order and storage types", {"dense": [*keys], "sparse": [*undivided]})
        sharding = self._divided()
        position = {key: i for i, key in enumerate(keys)}
        made = []
        for group in sharding.groups:
            if members := [key for key in group if key in position]:
                made.append(
                    self._make_bucket(sharding, {key: self._values[key].tensor.view(-1) for key in members})
                )
        made.sort(key=lambda bucket: max(position[key] for key in bucket.keys))
        self._buckets[keys, undivided] = made
        return made

    def _divided(self) -> Sharding[Key]:
        """Return who updates what, after what the optimizer remembers has gone to those."""
        if self._sharding is None:
            smallest = config.get("MXNET_KVSTORE_BIGARRAY_BOUND") or 1
            self._job.agree("KVStore.push", "MXNET_KVSTORE_BIGARRAY_BOUND", smallest)
            sizes = {key: self._values[key].size for key in self._numbers if self._is_cut(key)}
            scope, ranks = scope_of(self._updater), self._exchanges.mesh.ranks
            self._sharding = Sharding.of(sizes, self.num_workers, scope, smallest, ranks)
            for group in self._groups():
                self._sharding.join(group)
            self._place_states(self._sharding)
        return self._sharding

    def _groups(self) -> list[list[Key]]:
        """Return the keys whose gradients travel together: those of the last layers, which come first, first."""
        kinds = {}
        for key in filter(self._is_cut, reversed(self._numbers)):
            value = self._values[key].tensor
            kinds[key] = value.nbytes, (value.dtype, value.device)
        # Alone nothing travels, and no key need be copied.
        return fill_buckets(kinds, current().bucket_bytes if self.num_workers > 1 else 0)

    # The optimizer's states.

    def optimizer_states(self) -> dict[Hashable, StoredState]:
        """Return the optimizer's states by key: on worker 0 the whole ones of all workers, on the others none."""
        updater = self._need_updater("optimizer_states")
        if self.num_workers == 1:
            return super().optimizer_states()
        sharding = self._divided()
        gathered = self._gathered(updater, sharding, "KVStore.optimizer_states" + BY_ALL)
        undivided = {key: each for key, each in updater.states.items() if key not in sharding.bounds}
        return {**self._unplaced, **gathered, **(undivided if self.rank == 0 else {})}

    def set_optimizer_states(self, states: Mapping[Hashable, StoredState]) -> None:
        """Give each worker its part of the states that worker 0 has; what the others give does not count."""
        updater = self._need_updater("set_optimizer_states")
        if self.num_workers == 1:
            super().set_optimizer_states(states)
            return
        updater.states, updater.states_synced = {}, {}
        self._unplaced = dict(states) if self.rank == 0 else {}
        if self._sharding is None:
            self._divided()
        else:
            self._place_states(self._sharding)

    def load_optimizer_states(self, fname: str | os.PathLike[str]) -> None:
        """Read the optimizer's states from a file: worker 0 reads it, and gives each worker the states of its share."""
        updater = self._need_updater("load_optimizer_states")
        states, has_optimizer = load_on_first(self._job, "KVStore.load_optimizer_states", updater, fname)
        if has_optimizer:
            self._forget_sharding()  # it may be of a kind that must see more at once
        self.set_optimizer_states(self._by_key(states))

    def _first_does(self, who: str, action: Callable[[], object]) -> None:
        first_does(self._job, who + BY_ALL, action)

    def _place_states(self, sharding: Sharding[Key]) -> None:
        """Bring states to the workers that update the keys: those that were loaded, and those of keys that move."""
        updater, before = self._updater, self._placed
        self._placed = sharding
        if not isinstance(updater, Updater) or self.num_workers == 1:
            return
        if before is not None:
            self._gather_moved(updater, before, sharding)
        own = divide_states(self._job, "KVStore.push, to divide the states", sharding, self._unplaced)
        whole = [key for key in self._numbers if not self._is_cut(key)]
        own |= states_from_first(self._job, "KVStore.push, to give the states", whole, self._unplaced)
        self._unplaced = {key: each for key, each in self._unplaced.items() if key not in self._numbers}
        updater.states.update(own)
        for key in own:
            updater.states_synced.pop(key, None)  # they are checked against the weights at their first use

    def _gather_moved(self, updater: Updater, before: Sharding[Key], sharding: Sharding[Key]) -> None:
        """Let worker 0 have the whole states, if keys are divided in another way than before."""
        undivided = {key: each for key, each in updater.states.items() if key not in before.bounds}
        newly: dict[Hashable, StoredState] = {
            key: each for key, each in undivided.items() if key in sharding.bounds
        }
        if not newly and all(each == sharding.bounds.get(key) for key, each in before.bounds.items()):
            return
        self._unplaced |= self._gathered(updater, before, "KVStore.push, to divide the keys again")
        if self.rank == 0:
            self._unplaced.update(newly)
        updater.states = {key: each for key, each in undivided.items() if key not in newly}
        updater.states_synced = {}

    def _gathered(self, updater: Updater, sharding: Sharding[Key], who: str) -> dict[Hashable, StoredState]:
        """Return the states of all workers, on worker 0."""
        shapes = {}
        for key, bounds in sharding.bounds.items():
            value = self._values[key]
            shapes[key] = value.shape if value.size == bounds[-1] else bounds[-1:]
        return gather_states(self._job, who, sharding, shapes, updater.states)

    def _make_bucket(self, sharding: Sharding[Key], values: Mapping[Key, Tensor]) -> Bucket[Key]:
        device = next(iter(values.values())).device.type
        exchange = self._exchanges.of_sums(sharding.row_edges(values), device)
        if self._residuals is None:
            return Bucket(self.rank, sharding, values, exchange)
        return CompressedBucket(
            self.rank, sharding, values, exchange, self._residuals, self._exchanges.of_bytes
        )

    def _tag_of_key(self, key: Key) -> int:
        return Tag.KEYS + 2 * self._numbers[key]


for _kind in _ON_DEVICE:
    stores.register(_kind)(DistSyncStore)
