"""A model of a training step over many workers, from the step of one worker and what exchanges cost.

What is exchanged goes over the network of each worker one after the other, beside the computation, which waits only for
what it needs. docs/scaling.md says what is assumed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rebind.distributed import Mesh
from rebind.kvstore.bucket import fill_buckets
from rebind.tuning import current

from .exchange_costs import FORMS, Costs
from .step_profile import Profile

__all__ = ["ENGINES", "Cluster", "Wire", "fastest_step"]

#: DDP's buckets, as PyTorch documents them: the first is small, so that sending begins early.
_DDP_FIRST_BUCKET, _DDP_BUCKET = 2**20, 25 * 2**20


@dataclass(frozen=True)
class Cluster:
    """The workers, and what exchanges between them cost.

    Attributes
    ----------
    workers
        How many.
    rate, delay
        Of the network: bytes a second that each worker can send and receive, and seconds.
    costs
        The constants of each form of exchange.
    copies
        Whether the worker's processor moves the bytes, as for Gloo; otherwise the network card does.
    """

    workers: int
    rate: float
    delay: float
    costs: Mapping[str, Costs]
    copies: bool

    def seconds(self, form: str, size: float) -> float:
        """Return what an exchange of so many bytes takes.

        >>> costs = {"weights": Costs(1e-4, 0.0, 2e-4, 1e-9, 2.0, 1.0)}
        >>> round(Cluster(2, 1e9, 1e-3, costs, copies=False).seconds("weights", 1e6), 6)
        0.0028
        """
        cost, shape = self.costs[form], FORMS[form]
        mesh = Mesh.over([str(rank) for rank in range(self.workers)]).sizes
        stages, sent = shape.stages(mesh), shape.sent(mesh, size)
        calls = cost.call + cost.stage * stages + cost.message * shape.messages(mesh)
        copies = cost.byte * sent if self.copies else 0.0
        return calls + copies + cost.delays * self.delay * stages + cost.wire * sent / self.rate


class Wire:
    """A worker's network, over which one exchange goes after the other.

    >>> wire = Wire()
    >>> wire.send(at=1.0, seconds=2.0), wire.send(at=2.0, seconds=1.0)
    (3.0, 4.0)
    """

    def __init__(self) -> None:
        self._free = 0.0

    def send(self, at: float, seconds: float) -> float:
        """Return when an exchange has ended that could begin at some time."""
        self._free = max(self._free, at) + seconds
        return self._free


def _rebind_buckets(profile: Profile) -> list[tuple[int, float]]:
    """Return the bytes of each of rebind's buckets and when its last gradient is ready, in the order of backward."""
    by_name = {each.name: each for each in sorted(profile.parameters, key=lambda each: each.ready)}
    sizes = {name: (each.bytes, "float32") for name, each in by_name.items()}
    buckets = [[by_name[name] for name in names] for names in fill_buckets(sizes, current().bucket_bytes)]
    return [(sum(each.bytes for each in bucket), max(each.ready for each in bucket)) for bucket in buckets]


def _ddp_buckets(profile: Profile) -> list[tuple[int, float]]:
    """Return the same of DDP's buckets: each is full when it has so many bytes, the first when it has few."""
    buckets: list[tuple[int, float]] = []
    size = 0
    for each in sorted(profile.parameters, key=lambda each: each.ready):
        size += each.bytes
        if size >= (_DDP_BUCKET if buckets else _DDP_FIRST_BUCKET):
            buckets.append((size, each.ready))
            size = 0
    return [*buckets, (size, each.ready)] if size else buckets


def rebind_step(profile: Profile, cluster: Cluster) -> float:
    """Return the seconds of a step of ``kvstore='dist_sync'``: weights come back while other gradients leave."""
    buckets, wire = _rebind_buckets(profile), Wire()
    update = (
        profile.update / profile.bytes / cluster.workers
    )  # seconds for a byte of a bucket, in another thread
    waiting = [(ready, number, "gradients") for number, (_, ready) in enumerate(buckets)]
    heapq.heapify(waiting)
    end = profile.backward_end
    while waiting:
        at, number, form = heapq.heappop(waiting)
        size, _ = buckets[number]
        arrived = wire.send(at, cluster.seconds(form, size))
        if form == "gradients":
            heapq.heappush(waiting, (arrived + update * size, number, "weights"))
        end = max(end, arrived)
    return end


def ddp_step(profile: Profile, cluster: Cluster) -> float:
    """Return the seconds of a step of DDP: every worker updates all weights when all gradients are summed."""
    wire, end = Wire(), profile.backward_end
    for size, ready in _ddp_buckets(profile):
        end = max(end, wire.send(ready, cluster.seconds("all_reduce", size)))
    return end + profile.update


def fsdp2_step(profile: Profile, cluster: Cluster) -> float:
    """Return the seconds of a step of FSDP2: a group's weights are gathered while the group before it is computed."""
    wire, now, summed = Wire(), 0.0, 0.0
    passes = [("forward", group) for group in profile.groups] + [
        ("backward", group) for group in profile.groups[::-1]
    ]
    gathered = [wire.send(0.0, cluster.seconds("all_gather", passes[0][1].bytes))]
    for number, (way, group) in enumerate(passes):
        now = max(now, gathered[number])
        if number + 1 < len(passes):
            following = passes[number + 1][1]
            # The last group of forward is the first of backward: its weights are there.
            size = 0 if following is group else following.bytes
            gathered.append(wire.send(now, cluster.seconds("all_gather", size)) if size else now)
        now += getattr(group, way)
        if way == "backward":
            # A card's takes what an all-gather takes.
            form = "reduce_scatter" if cluster.copies else "all_gather"
            summed = wire.send(now, cluster.seconds(form, group.bytes))
    return max(now, summed) + profile.update / cluster.workers


ENGINES: dict[str, Callable[[Profile, Cluster], float]] = {
    "rebind": rebind_step,
    "DDP": ddp_step,
    "FSDP2": fsdp2_step,
}


def fastest_step(profile: Profile, cluster: Cluster) -> float:
    """Return a bound: what a step takes if messages cost nothing and all gradients and weights are sent once.

    The first gradient is there after some time, and all weights are when the step ends.
    """
    mesh = (cluster.workers,)
    first = min(each.ready for each in profile.parameters)
    sent = FORMS["gradients"].sent(mesh, profile.bytes) + FORMS["weights"].sent(mesh, profile.bytes)
    return max(profile.backward_end, first + sent / cluster.rate)
