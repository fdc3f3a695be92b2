"""The examples over several processes, as `rebind launch` starts them."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.launch.jobs import launch, put_tools

import rebind as mx

FOLDER = Path(__file__).parents[2] / "examples" / "distributed"
DIGITS = FOLDER / "train_digits.py"

pytest.importorskip("sklearn")


def digits_read(text: str) -> tuple[int, int]:
    """Return with how many workers it was trained, and how many digits it reads right."""
    found = re.search(r"Held-out accuracy with (\d+) workers: 0\.\d+ \((\d+) of 357 digits\)", text)
    assert found is not None, text
    return int(found[1]), int(found[2])


def train(folder: Path, workers: int, *arguments: object, flags: tuple[object, ...] = ()) -> tuple[int, str]:
    """Train as a job; return how many digits it reads right, and what the launcher said."""
    done = launch("-n", workers, *flags, sys.executable, DIGITS, *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    count, right = digits_read(done.stdout)
    assert count == workers
    return right, done.stderr


def test_digits_with_any_number_of_workers_and_after_a_restart(tmp_path: Path) -> None:
    # The same steps: with one worker, with four, and with two of which one is killed in the third epoch. Not many more:
    # where two elements of a window are equal but for rounding, another one is the maximum, and weights part.
    alone = subprocess.run(
        [sys.executable, str(DIGITS), "--epochs", "3", "--save", "1.params"],
        cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert alone.returncode == 0, alone.stderr
    assert digits_read(alone.stdout)[1] >= 0.9 * 357
    train(tmp_path, 4, "--epochs", 3, "--save", "4.params")
    restart = ("--max-restarts", 1)
    _, said = train(
        tmp_path,
        2,
        "--epochs",
        3,
        "--save",
        "2.params",
        "--checkpoint",
        "run",
        "--lose-worker",
        1,
        flags=restart,
    )
    assert "was ended by SIGKILL.\nrebind launch: restarting all processes" in said
    assert "Resuming from" in said
    expected = mx.nd.load(str(tmp_path / "1.params"))
    assert isinstance(expected, dict)
    for count in (2, 4):
        found = mx.nd.load(str(tmp_path / f"{count}.params"))
        assert isinstance(found, dict)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name].asnumpy(), array.asnumpy(), atol=1e-6, err_msg=name)


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        pytest.param(("--compress", "2bit"), (), marks=pytest.mark.slow),
        (("--update-every", "4"), ()),
        pytest.param(("--svrg",), (), marks=pytest.mark.slow),
        (("--kvstore", "dist_async"), ()),
        pytest.param(("--kvstore", "dist_async"), ("-s", 1), marks=pytest.mark.slow),
    ],
    ids=["2bit", "averages", "svrg", "async", "async with a server"],
)
def test_digits_otherwise(arguments: tuple[str, ...], flags: tuple[object, ...], tmp_path: Path) -> None:
    right, _ = train(tmp_path, 2, *arguments, flags=flags)
    assert right >= 0.85 * 357


def test_digits_under_torchrun(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*torchrun, str(DIGITS), "--epochs", "3"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    count, right = digits_read(done.stdout)
    assert count == 2
    assert right >= 0.9 * 357


@pytest.mark.slow
def test_digits_with_ray_after_a_restart(tmp_path: Path) -> None:
    if importlib.util.find_spec("ray") is None:
        pytest.skip('Ray is not installed: pip install "ray[train]"')
    arguments = ["--workers", "2", "--epochs", "4", "--lose-worker", "1"]
    # Ray writes a token in the home directory.
    environment = {**os.environ, "HOME": str(tmp_path), "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run(
        [sys.executable, str(FOLDER / "train_digits_ray.py"), *arguments],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = done.stdout + done.stderr
    assert "Resuming from" in said
    accuracy = re.search(r"Held-out accuracy with 2 workers: (0\.\d+)", done.stdout)
    assert accuracy is not None and float(accuracy[1]) >= 0.9
    trained = re.search(r"The parameters are in (.*)", done.stdout)
    assert trained is not None and "arg:fc2_weight" in mx.nd.load(trained[1])


@pytest.mark.slow
def test_the_file_for_slurm(tmp_path: Path) -> None:
    # A program in the place of srun; `rebind` is found where this Python is.
    put_tools(tools := tmp_path / "tools")
    (tools / "rebind").write_text(f'#!/bin/sh\nexec {sys.executable} -m rebind "$@"\n')
    (tools / "rebind").chmod(0o755)
    (tools / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (tools / "python").chmod(0o755)
    shutil.copytree(FOLDER, tmp_path / "examples" / "distributed")
    variables = {"SLURM_NTASKS": "2", "SLURM_CPUS_PER_TASK": "1", "SLURM_JOB_ID": "17"}
    environment = {**os.environ, **variables, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "examples/distributed/train_digits.sbatch"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert digits_read(done.stdout)[0] == 2
    assert [path.suffix for path in (tmp_path / "checkpoints").iterdir()] == [".run"] * 3


@pytest.mark.parametrize("name", ["train_digits-job.yaml", "train_digits-pytorchjob.yaml"])
def test_the_files_for_kubernetes(name: str) -> None:
    yaml = pytest.importorskip("yaml")
    documents = list(yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")))
    job = documents[-1]
    if job["kind"] == "Job":
        template, count = job["spec"]["template"], job["spec"]["completions"]
        assert job["spec"]["parallelism"] == count
        assert template["spec"]["subdomain"] == documents[0]["metadata"]["name"]
        names = {each["name"]: each.get("value") for each in template["spec"]["containers"][0]["env"]}
        assert names["WORLD_SIZE"] == str(count)
        assert names["MASTER_ADDR"] == f"{job['metadata']['name']}-0.{template['spec']['subdomain']}"
    else:
        replicas = job["spec"]["pytorchReplicaSpecs"]
        template = replicas["Worker"]["template"]
        assert replicas["Master"] == {"replicas": 1, "restartPolicy": "OnFailure", "template": template}
    [container] = template["spec"]["containers"]
    assert container["command"][:2] == ["python", f"examples/distributed/{DIGITS.name}"]
    assert "REBIND_JOB_TOKEN" in {each["name"] for each in container["env"]}


def test_the_file_for_kubeflow_trainer_is_of_its_schema() -> None:
    yaml = pytest.importorskip("yaml")
    models = pytest.importorskip(
        "kubeflow_trainer_api.models", reason="needs kubeflow-trainer-api 2.2 or newer"
    )
    job = yaml.safe_load((FOLDER / "train_digits-trainjob.yaml").read_text(encoding="utf-8"))
    # The models check types, and leave out what the schema does not have.
    assert models.TrainerV1alpha1TrainJob.from_dict(job).to_dict() == job
    trainer = job["spec"]["trainer"]
    assert trainer["command"][0] == "torchrun"
    assert trainer["args"][0] == f"examples/distributed/{DIGITS.name}"
    [environment] = trainer["env"]
    assert environment["name"] == "REBIND_JOB_TOKEN"
    [patched] = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = patched["template"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["volumeMounts"][0]["name"] == pod["volumes"][0]["name"]
    assert trainer["args"][2].startswith(pod["containers"][0]["volumeMounts"][0]["mountPath"])
