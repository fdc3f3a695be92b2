"""How to train with Ray: it starts the workers of a job, and starts them again when one is lost.

    pip install "ray[train]"
    python examples/distributed/train_digits_ray.py --workers 2

What each worker runs is `train_digits.py`'s own `train`, with ``kvstore='dist_sync'``: the workers that have a process
group, which `TorchTrainer` makes, are rebind's workers, too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    import ray.train
    from ray.train.torch import TorchConfig, TorchTrainer
    from train_digits import EPOCHS, accuracy, train

    import rebind as mx
except ImportError as error:
    sys.exit(
        f'train_digits_ray.py needs {error.name}. In rebind\'s folder: pip install . scikit-learn "ray[train]"'
    )

PARAMETERS = "digits.params"


def train_as_worker(config: dict[str, Any]) -> None:
    """Train on this worker's digits; every worker runs this, and worker 0 hands the parameters to Ray."""
    kv = mx.kv.create("dist_sync")
    module = train(kv, argparse.Namespace(**config))
    with tempfile.TemporaryDirectory() as folder:
        module.save_params(f"{folder}/{PARAMETERS}")
        checkpoint = ray.train.Checkpoint.from_directory(folder) if kv.rank == 0 else None
        ray.train.report({"accuracy": accuracy(module), "workers": kv.num_workers}, checkpoint)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument(
        "--folder", default="ray", help="for checkpoints; on several machines, one that all see"
    )
    parser.add_argument(
        "--lose-worker", type=int, metavar="RANK", help="kill a worker in the third epoch, once"
    )
    options = parser.parse_args()
    folder = Path(options.folder).absolute()
    folder.mkdir(exist_ok=True)
    trainer = TorchTrainer(
        train_as_worker,
        train_loop_config={
            "epochs": options.epochs,
            "lr": options.lr,
            "svrg": False,
            "lose_worker": options.lose_worker,
            "checkpoint": str(folder / "run"),  # from which workers that are started again resume
        },
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ray.train.ScalingConfig(num_workers=options.workers),
        run_config=ray.train.RunConfig(
            storage_path=str(folder), failure_config=ray.train.FailureConfig(max_failures=3)
        ),
    )
    result = trainer.fit()
    assert result.metrics is not None and result.checkpoint is not None  # worker 0 has reported both
    print(f"The parameters are in {result.checkpoint.path}/{PARAMETERS}")
    print("Held-out accuracy with {workers} workers: {accuracy:.4f}".format(**result.metrics))
