"""How to train in several processes: `Module.fit` with a store over all of them, on handwritten digits.

    rebind launch -n 4 python examples/distributed/train_digits.py
    rebind launch -n 4 -s 2 python examples/distributed/train_digits.py --kvstore dist_async
    rebind launch -n 4 python examples/distributed/train_digits.py --update-every 4
    rebind launch -n 2 python examples/distributed/train_digits.py --compress 2bit
    rebind launch -n 2 python examples/distributed/train_digits.py --svrg
    rebind launch -n 2 --max-restarts 1 python examples/distributed/train_digits.py --checkpoint run --lose-worker 1
    torchrun --nproc-per-node 4 examples/distributed/train_digits.py

The first takes the same steps with any number of workers: they divide each batch of 32 digits among them.
"""

import argparse
import logging
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule

BATCH, EPOCHS = 32, 8  # digits in a batch of the whole job
HELD_OUT = 357  # digits that are not learned from; the others are 45 batches


def network() -> mx.sym.Symbol:
    """Two convolutions, then two full layers."""
    net = mx.sym.var("data")
    for i, filters in enumerate([16, 32], start=1):
        net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=filters, name=f"conv{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{i}")
    net = mx.sym.Activation(mx.sym.FullyConnected(net, num_hidden=64, name="fc1"), act_type="relu")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=10, name="fc2"), name="softmax")


def digits() -> tuple[np.ndarray, np.ndarray]:
    """The 1,797 digits of scikit-learn, 8x8 in 16 shades of grey, in an order that is the same on all workers."""
    pictures, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(labels))
    return pictures[order].reshape(-1, 1, 8, 8) / 16, labels[order]


def lose(marker: Path, after: int) -> Any:
    """Return a callback that ends this worker as a power cut would, once: `marker` is a file that says so."""

    def callback(progress: Any) -> None:
        if (progress.epoch, progress.nbatch) == (after, 20) and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    return callback


def train(kv: mx.kv.KVStoreBase, options: argparse.Namespace) -> Any:
    """Train on this worker's digits: every fourth one, where there are four workers."""
    pictures, labels = digits()
    mine = slice(HELD_OUT + kv.rank, None, kv.num_workers)
    data = mx.io.NDArrayIter(pictures[mine], labels[mine], BATCH // kv.num_workers)
    mx.random.seed(0)
    is_lost = options.lose_worker == kv.rank
    module = SVRGModule(network(), update_freq=2) if options.svrg else mx.mod.Module(network())
    history = module.fit(
        data,
        num_epoch=options.epochs,
        kvstore=kv,
        initializer=mx.init.Xavier(),
        optimizer="sgd",
        optimizer_params={"learning_rate": options.lr, "momentum": 0.9},
        checkpoint=options.checkpoint,
        batch_end_callback=lose(Path(f"{options.checkpoint}.lost"), after=2) if is_lost else None,
    )
    return module, history


def accuracy(module: mx.mod.Module) -> float:
    """The share of the held-out digits that are read right."""
    pictures, labels = digits()
    reader = mx.mod.Module(network())
    reader.bind([("data", (HELD_OUT, 1, 8, 8))], for_training=False)
    reader.set_params(*module.get_params())
    found = reader.predict(mx.io.NDArrayIter(pictures[:HELD_OUT], batch_size=HELD_OUT))
    assert isinstance(found, mx.nd.NDArray)  # the network has one output
    return float((found.asnumpy().argmax(axis=1) == labels[:HELD_OUT]).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kvstore", default="dist_sync", help="dist_sync or dist_async")
    parser.add_argument("--update-every", type=int, default=1, metavar="K", help="average after K updates")
    parser.add_argument("--compress", choices=["1bit", "2bit"], help="send gradients in so many bits")
    parser.add_argument("--svrg", action="store_true", help="train by variance-reduced gradients")
    parser.add_argument("--checkpoint", metavar="PREFIX", help="files to continue from when started again")
    parser.add_argument("--lose-worker", type=int, metavar="RANK", help="kill a worker once, in epoch 3")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--save", metavar="FILE", help="where worker 0 writes the parameters")
    parser.add_argument("--picture", metavar="FILE", help="where worker 0 draws its accuracies")
    options = parser.parse_args()
    kv = mx.kv.create(options.kvstore, update_every=options.update_every)
    logging.basicConfig(level=logging.INFO if kv.rank == 0 else logging.WARNING, format="%(message)s")
    if options.compress:
        # As large as the gradients, which are sums over the batch: of larger ones the rest would wait too long.
        kv.set_gradient_compression({"type": options.compress, "threshold": 2.0})
    module, history = train(kv, options)
    kv.barrier()
    if kv.rank == 0:
        if options.save:
            module.save_params(options.save)
        if options.picture:
            mx.viz.plot_history(history).figure.savefig(options.picture, dpi=80)
        share = accuracy(module)
        read = f"{share * HELD_OUT:.0f} of {HELD_OUT} digits"
        print(f"Held-out accuracy with {kv.num_workers} workers: {share:.4f} ({read})")
