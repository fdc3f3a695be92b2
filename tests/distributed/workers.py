"""Runs functions of tests as the workers of a job: real processes, which find each other on the loopback address."""

from __future__ import annotations

import gc
import multiprocessing
import os
import secrets
import socket
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

__all__ = ["Failed", "run_job"]

# The server imports once what a job uses of rebind, pytest, as the functions' modules do, and what PyTorch imports when
# shapes are first inferred; each worker is a fork of it: starting one takes milliseconds, not seconds.
_CONTEXT = multiprocessing.get_context("forkserver")
_PARTS = ["callback", "contrib", "io", "kvstore", "model", "module", "optimizer", "profiler", "random", "rnn"]
_CONTEXT.set_forkserver_preload([*(f"rebind.{part}" for part in _PARTS), "pytest", "torch._dynamo", __name__])


class Failed(NamedTuple):
    """The error that ended a worker."""

    kind: str
    message: str
    trace: str


def run_job(
    function: Callable[..., object],
    count: int,
    *args: object,
    environment: Mapping[str, str] | None = None,
    servers: int = 0,
    may_fail: bool = False,
    timeout: float = 90,
) -> list[object]:
    """Return what ``function(*args)`` returns in each worker, by rank.

    Parameters
    ----------
    function
        A function of a module, since it is found by its name.
    count
        How many workers there are.
    args
        For the function.
    environment
        Further variables.
    servers
        How many processes are parameter servers; they end with the workers.
    may_fail
        Whether to return `Failed` for a worker whose function raises, and None for one that ends without a result;
        otherwise they fail the test.
    timeout
        In seconds: a job that does not end is killed, and fails the test.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    job = {
        "DMLC_NUM_WORKER": str(count),
        "DMLC_NUM_SERVER": str(servers),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "REBIND_JOB_TOKEN": secrets.token_hex(8),
        "REBIND_TIMEOUT": "30",
        "OMP_NUM_THREADS": "1",
    } | dict(environment or {})
    started = []
    for rank in range(count):
        own = {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank)}
        started.append(_start(function, args, job | own))
    for number in range(servers):
        started.append(_start(_serve, (), job | {"DMLC_ROLE": "server", "DMLC_SERVER_ID": str(number)}))
    try:
        return [_result(receiver, timeout, may_fail) for _, receiver in started[:count]]
    finally:
        for process, _ in started:
            process.join(10)
            if process.is_alive():
                process.kill()


def _start(
    function: Callable[..., object], args: tuple, variables: Mapping[str, str]
) -> tuple[BaseProcess, Connection]:
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_work, args=(sender, function, args, variables), daemon=True)
    process.start()
    sender.close()
    return process, receiver


def _serve() -> None:
    from rebind.kvstore import run_server

    run_server()


def _result(receiver: Connection, timeout: float, may_fail: bool) -> object:
    if not wait([receiver], timeout):
        raise TimeoutError(f"a worker gave no result in {timeout} s")
    try:
        found = receiver.recv()
    except EOFError:
        if may_fail:
            return None
        raise RuntimeError("a worker ended without a result") from None
    if isinstance(found, Failed) and not may_fail:
        raise RuntimeError(f"a worker failed:\n{found.trace}")
    return found


def _work(
    sender: Connection, function: Callable[..., object], args: tuple, variables: Mapping[str, str]
) -> None:
    gc.freeze()  # what the server has imported: looking through it would copy it
    os.environ.update(variables)
    import torch

    from rebind.distributed import started_job

    torch.set_num_threads(1)  # workers share two cores: threads that wait for each other would spin
    ended = "it has finished"
    try:
        result = function(*args)
    except Exception as error:
        ended = f"{type(error).__name__}: {error}"
        result = Failed(type(error).__name__, str(error), traceback.format_exc())
    sender.send(result)
    if (job := started_job()) is not None:  # a process of multiprocessing runs no exit handlers
        job.close(ended)
