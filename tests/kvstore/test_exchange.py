"""How gradients and weights travel: sums and rows by the plain formula, numbers of messages and bytes, lost workers."""

from __future__ import annotations

import os
import queue
import re
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest
import torch
from tests.distributed.workers import run_job
from tests.kvstore.test_dist_states import assert_close, continue_from, save_after_two_steps
from tests.kvstore.test_dist_sync import fit_or_step
from tests.kvstore.wire_bytes import PUSHES, SIZE, push
from torch import Tensor

import rebind as mx
from rebind.distributed import Mesh, StagedExchange, current_job, join_in_order
from rebind.kvstore.records import sum_over_workers
from rebind.kvstore.sharding import Sharding
from rebind.tuning import changed

T = TypeVar("T")


class Network:
    """What threads that stand for workers send each other, and how many messages and bytes from whom to whom."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[int, int, int], queue.Queue[Tensor]] = {}
        self.messages: Counter[tuple[int, int]] = Counter()
        self.bytes: Counter[tuple[int, int]] = Counter()

    def link(self, sender: int, receiver: int, tag: int) -> queue.Queue[Tensor]:
        """Return what is under way; who comes first, of the sender's thread and the receiver's, makes it."""
        return self._under_way.setdefault((sender, receiver, tag), queue.Queue())


class Worker:
    """A thread's part in a job, as far as an exchange needs it."""

    def __init__(self, network: Network, rank: int, size: int) -> None:
        self.network, self.rank, self.size = network, rank, size
        self.machines = ["node"] * size

    def transfer(self, outgoing: Mapping[int, Tensor], incoming: Mapping[int, Tensor], tag: int) -> Arrival:
        for rank, tensor in outgoing.items():
            if rank != self.rank and tensor.numel():
                self.network.link(self.rank, rank, tag).put(tensor.clone())
                self.network.messages[self.rank, rank] += 1
                self.network.bytes[self.rank, rank] += tensor.nbytes
        expected = {rank: each for rank, each in incoming.items() if rank != self.rank and each.numel()}
        return Arrival(self, expected, tag)


class Arrival:
    """What a worker waits for."""

    def __init__(self, worker: Worker, expected: Mapping[int, Tensor], tag: int) -> None:
        self.worker, self.expected, self.tag = worker, expected, tag

    def wait(self, what: str) -> None:
        for rank, target in self.expected.items():
            arrived = self.worker.network.link(rank, self.worker.rank, self.tag)
            target.copy_(arrived.get(timeout=60))


def in_threads(count: int, work: Callable[[Worker], T]) -> tuple[list[T], Network]:
    """Return what each worker returns, and what they sent."""
    network = Network()
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(work, [Worker(network, rank, count) for rank in range(count)])), network


def edges_of(lengths: Sequence[int]) -> list[int]:
    return [0, *np.cumsum(lengths).tolist()]


def sums_by_formula(mesh: Mesh, sources: Sequence[Tensor]) -> Tensor:
    """Return the sum along one dimension of the mesh after the other, from its first worker to its last."""
    grid = torch.stack([sources[rank] for rank in mesh.ranks]).view(*mesh.sizes, -1)
    for _ in mesh.sizes:
        total = grid[0].clone()
        for each in grid[1:]:
            total += each
        grid = total
    return grid


def two_machines(count: int) -> list[str]:
    return [f"node{rank * 2 // count}" for rank in range(count)]


#: How the workers are connected: a name, and the mesh for a number of workers.
FORMS: dict[str, Callable[[int], Mesh]] = {
    "to every other one": Mesh.line_of,
    "one machine": lambda count: Mesh.over(["node"] * count),
    "two machines": lambda count: Mesh.over(two_machines(count)),
    "machines of one": lambda count: Mesh.over([f"node{rank}" for rank in range(count)]),
    "machines in turn": lambda count: Mesh.over([f"node{rank % 2}" for rank in range(count)]),
    "unequal machines": lambda count: Mesh.over(["node", *["other"] * (count - 1)]),
}
LENGTHS: dict[str, Callable[[int], list[int]]] = {
    "equal": lambda count: [24] * count,
    "unequal": lambda count: [5 + 7 * i % 11 for i in range(count)],
    "some empty": lambda count: [0, 9, 0, 0, 4, 1, 0, 3][:count],
}


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize("longest", [2, 4])
def test_sums_and_rows_are_those_of_the_formula(count, form, lengths, longest):
    with changed(line_workers=longest):
        mesh = FORMS[form](count)
    edges = edges_of(LENGTHS[lengths](count))
    assert sorted(mesh.ranks) == list(range(count))
    sources = list(torch.randn(3, count, edges[-1], generator=torch.Generator().manual_seed(count)))

    def work(worker: Worker) -> tuple[list[Tensor], Tensor]:
        exchange = StagedExchange(worker, mesh, edges, 0)
        sums = []
        for step in sources:  # into the memory of the step before
            exchange.begin_reduce_scatter(step[worker.rank].clone())
            sums.append(exchange.end_reduce_scatter("").clone())
        row = mesh.row(worker.rank)
        everything = torch.full((edges[-1],), float("nan"))
        everything[edges[row] : edges[row + 1]] = sums[-1]
        exchange.begin_all_gather(everything)
        exchange.end_all_gather("")
        return sums, everything

    found, _ = in_threads(count, work)
    expected = [sums_by_formula(mesh, step) for step in sources]
    for rank, (sums, everything) in enumerate(found):
        row = mesh.row(rank)
        for total, of_all in zip(sums, expected, strict=True):
            assert torch.equal(total, of_all[edges[row] : edges[row + 1]])
        assert torch.equal(everything, expected[-1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 8])
def test_what_cannot_be_added_comes_from_each_worker(count, form):
    mesh, edges = FORMS[form](count), edges_of([3 + i % 2 for i in range(count)])

    def work(worker: Worker) -> list[list[int]]:
        exchange = StagedExchange(worker, mesh, edges, 0, join_in_order)
        exchange.begin_reduce_scatter(torch.arange(edges[-1]) + 1000 * worker.rank)
        row = mesh.row(worker.rank)
        length = edges[row + 1] - edges[row]
        return sorted(exchange.end_reduce_scatter("").view(count, length).tolist())

    found, _ = in_threads(count, work)
    for rank, rows in enumerate(found):
        own = range(edges[mesh.row(rank)], edges[mesh.row(rank) + 1])
        assert rows == [[1000 * sender + i for i in own] for sender in range(count)]


def exchanged(mesh: Mesh, count: int, size: int) -> Network:
    """Return what is sent when gradients of so many bytes are summed, and weights come back."""
    edges = edges_of([size // 4 // count] * count)

    def work(worker: Worker) -> None:
        exchange = StagedExchange(worker, mesh, edges, 0)
        exchange.begin_reduce_scatter(torch.ones(edges[-1]))
        exchange.end_reduce_scatter("")
        exchange.begin_all_gather(torch.ones(edges[-1]))
        exchange.end_all_gather("")

    return in_threads(count, work)[1]


@pytest.mark.parametrize(
    ("count", "sizes", "messages"),
    [
        (2, (2,), 1),
        (4, (4,), 3),
        (6, (3, 2), 3),
        (7, (7,), 6),
        (8, (4, 2), 4),
        (16, (4, 4), 6),
        (64, (4, 4, 4), 9),
    ],
)
def test_messages_are_few_and_bytes_those_of_sending_to_all(count, sizes, messages):
    mesh, size = FORMS["one machine"](count), 4 * 64 * count
    assert mesh.sizes == sizes
    sent = exchanged(mesh, count, size)
    for rank in range(count):
        assert sum(n for (sender, _), n in sent.messages.items() if sender == rank) == 2 * messages
        own = sum(n for (sender, _), n in sent.bytes.items() if sender == rank)
        assert own == 2 * size * (count - 1) // count


@pytest.mark.parametrize("count", [4, 8, 16])
def test_machines_exchange_what_is_left_of_the_sums_within_them(count):
    machines, size = two_machines(count), 4 * 64 * count
    sent = exchanged(Mesh.over(machines), count, size)
    between = sum(n for (one, two), n in sent.bytes.items() if machines[one] != machines[two])
    # Each machine sends half of its sum, and half of the weights.
    assert between == 2 * size


@pytest.mark.parametrize("count", [2, 6, 8])
def test_records_of_all_workers_are_summed_in_the_order_of_the_workers(count):
    values = torch.randn(count, 7, generator=torch.Generator().manual_seed(count))

    def work(worker: Worker) -> mx.nd.NDArray:
        given = {"w": mx.nd.NDArray(values[worker.rank]), "b": mx.nd.ones((2,)) * worker.rank}
        return sum_over_workers(worker, "push", given, 0)

    found, sent = in_threads(count, work)
    total = sum(values[1:], start=values[0])
    for sums in found:
        assert torch.equal(sums["w"].tensor, total)
        assert sums["b"].asnumpy().tolist() == [sum(range(count))] * 2
    assert sum(sent.messages.values()) == count * 2 * sum(
        size - 1 for size in Mesh.over(["node"] * count).sizes
    )


SHAPES = {"one": (300, 70), "two": (11,), "three": (64, 129), "four": (3,)}


#: For a store in which a line has two workers at most, and for one of Gloo's collectives.
STAGED = {"line_workers": 2}
COLLECTIVE = {"exchange_forms": (("gloo", "collective"),)}


def push_and_pull(tuned: dict[str, object], optimizer: str, compression: str) -> list[np.ndarray]:
    """Push random gradients three times; return the weights."""
    with changed(**tuned, bucket_bytes=4 * 10_000):
        store = mx.kv.create("dist_sync")
        store.set_gradient_compression({"type": compression, "threshold": 0.5})
        store.init(list(SHAPES), [mx.nd.ones(shape) for shape in SHAPES.values()])
        store.set_optimizer(mx.optimizer.create(optimizer, learning_rate=0.5, wd=0.0))
        for step in range(3):
            store.push(list(SHAPES), [mx.nd.array(each) for each in gradients(store.rank, step)])
        outs = [mx.nd.zeros(shape) for shape in SHAPES.values()]
        store.pull(list(SHAPES), out=outs)
        return [out.asnumpy() for out in outs]


def gradients(rank: int, step: int) -> list[np.ndarray]:
    """Return gradients of one worker in eighths: any order gives the same sum."""
    random = np.random.RandomState(100 * step + rank)
    return [random.randint(-9, 9, shape).astype("float32") / 8 for shape in SHAPES.values()]


@pytest.mark.parametrize(
    ("count", "tuned"), [(2, {}), (4, STAGED), (6, {}), (2, COLLECTIVE), (4, COLLECTIVE)]
)
def test_workers_get_the_weights_of_the_formula_bit_by_bit(count, tuned):
    expected = [np.ones(shape, "float32") for shape in SHAPES.values()]
    for step in range(3):
        for rank in range(count):
            for weight, each in zip(expected, gradients(rank, step), strict=True):
                weight -= 0.5 * each
    for found in run_job(push_and_pull, count, tuned, "sgd", "none"):
        for weight, wanted in zip(found, expected, strict=True):
            np.testing.assert_array_equal(weight, wanted)


@pytest.mark.parametrize(
    ("optimizer", "compression", "tuned"),
    [
        ("lars", "none", STAGED),
        ("sgd", "2bit", STAGED),
        ("adam", "1bit", STAGED),
        ("lars", "none", COLLECTIVE),  # it needs whole keys, so that messages carry them
        ("adam", "2bit", COLLECTIVE),
    ],
)
def test_each_form_gives_all_workers_what_direct_messages_give(optimizer, compression, tuned):
    direct, other = (run_job(push_and_pull, 4, each, optimizer, compression) for each in ({}, tuned))
    for found in (*direct, *other):
        for weight, wanted in zip(found, direct[0], strict=True):
            np.testing.assert_allclose(weight, wanted, rtol=1e-5, atol=1e-6)
    for found in other:
        for weight, wanted in zip(found, other[0], strict=True):
            assert weight.tobytes() == wanted.tobytes()


def fit_with(tuned: dict[str, object], by_hand: bool) -> tuple[dict[str, bytes], set[str]]:
    """Train; return the weights, and the threads that updated."""
    with changed(**tuned):
        weights, _, threads = fit_or_step(by_hand, "sgd")
        return weights, threads


@pytest.mark.parametrize(("count", "tuned"), [(4, STAGED), (2, COLLECTIVE)])
def test_fit_gives_the_bits_of_steps_by_hand(count, tuned):
    by_hand, fitted = (run_job(fit_with, count, tuned, each) for each in (True, False))
    for (weights, _), (found, threads) in zip(by_hand, fitted, strict=True):
        assert found == weights == by_hand[0][0]
        if tuned == COLLECTIVE:  # what begins in one order is begun by one thread
            assert threads == {"MainThread"}


def pull_on_others() -> float:
    """Push on all workers; pull on all but the first, which waits for them."""
    with changed(**STAGED):
        store = mx.kv.create("dist_sync")
        store.init("w", mx.nd.zeros((100, 100)))
        store.push("w", mx.nd.ones((100, 100)))
        found = mx.nd.zeros((100, 100))
        if store.rank:
            store.pull("w", out=found)
        current_job().barrier("all have pulled")
        return found.asnumpy().mean()


def test_nobody_waits_for_the_pull_of_another():
    assert run_job(pull_on_others, 4) == [0, 4, 4, 4]


def with_lines_of(longest: int, function: Callable[..., T], *args: object) -> T:
    """Call a function where a line of the mesh has so many workers at most."""
    with changed(line_workers=longest):
        return function(*args)


def test_states_of_workers_in_stages_are_those_of_one(tmp_path):
    wanted = save_after_two_steps(str(tmp_path))
    (tmp_path / "4").mkdir()
    for found in run_job(with_lines_of, 4, 2, save_after_two_steps, str(tmp_path / "4")):
        assert_close(found, wanted)
    assert_close(continue_from(str(tmp_path / "4")), wanted)


@pytest.mark.skipif(sys.platform != "linux", reason="a socket's count of bytes is read as Linux gives it")
@pytest.mark.parametrize("longest", [4, 2])
def test_the_bytes_at_the_sockets_of_four(longest):
    sent = SIZE * 4 * 3 // 4 * 2 * PUSHES
    for at_sockets, of_arrays in run_job(with_lines_of, 4, longest, push, "none"):
        assert of_arrays == sent
        assert abs(at_sockets - of_arrays) < sent // 1000


def lose(victim: int, number: int) -> str:
    """Push until others notice that one worker got a signal; return what they say."""
    with changed(line_workers=2):
        store = mx.kv.create("dist_sync")
        store.init("w", mx.nd.ones((300, 300)))
        pids = [int(str(pid)) for pid in current_job().exchange("processes", os.getpid())]
        try:
            for step in range(1000):
                if step == 3 and store.rank == victim:
                    os.kill(os.getpid(), number)
                store.push("w", mx.nd.ones((300, 300)))
                store.pull("w", out=mx.nd.zeros((300, 300)))
        except ConnectionError as error:
            return str(error)
        finally:
            if store.rank == max({*range(4)} - {victim}) and number == signal.SIGSTOP:
                os.kill(pids[victim], signal.SIGKILL)
    raise AssertionError("nobody noticed")


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_workers_of_other_lines_name_who_is_lost(number):
    limits = {"REBIND_TIMEOUT": "80", "REBIND_SIGN_TIMEOUT": "3"}
    found = run_job(lose, 4, 2, number, may_fail=True, environment=limits)
    assert found.pop(2) is None
    for text in found:
        assert re.search(r"lost (worker \d: .*)?worker 2\b", str(text)), text


def test_small_keys_are_whole_where_the_bound_says_so():
    sharding = Sharding.of({"a": 1000, "b": 90, "c": 2000}, 4, "element", smallest=100)
    sharding.join(["a", "b", "c"])
    assert sharding.owners("b") in ([1], [2])
    assert sharding.row_edges(["a", "b", "c"]) == [0, 832, 1664, 2496, 3090]
    assert sharding.row_edges(["a", "c"])[-1] == 3000
