"""What `to_torch` returns is trained by PyTorch's own means: over processes, and compiled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
from torch.nn.parallel import DistributedDataParallel

import rebind as mx

BATCH = np.random.default_rng(0).standard_normal((8, 3, 6, 6)).astype("float32")


def network() -> torch.nn.Module:
    net = mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=4, name="conv")
    net = mx.sym.Activation(net, act_type="relu", name="relu")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=2, name="fc")
    shapes, _, _ = net.infer_shape(data=BATCH.shape)
    random = np.random.default_rng(1)
    params = {
        name: mx.nd.array(random.standard_normal(shape) * 0.1)
        for name, shape in zip(net.list_arguments(), shapes, strict=True)
        if name != "data"
    }
    return mx.to_torch(net, params, {})


def trained(module: torch.nn.Module, rows: slice) -> list[torch.Tensor]:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        module(torch.from_numpy(BATCH[rows])).square().mean().backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in module.parameters()]


def work(rank: int, folder: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    found = trained(DistributedDataParallel(network()), slice(4 * rank, 4 * rank + 4))
    torch.save(found, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.slow
def test_over_two_processes(tmp_path: Path) -> None:
    processes.start_processes(work, (str(tmp_path),), nprocs=2, start_method="spawn")
    alone = trained(network(), slice(8))
    for rank in (0, 1):
        torch.testing.assert_close(torch.load(tmp_path / f"{rank}.pt"), alone)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method")  # PyTorch's compiler calls it
def test_compiled() -> None:
    torch.testing.assert_close(trained(torch.compile(network()), slice(8)), trained(network(), slice(8)))
