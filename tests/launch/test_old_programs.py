"""Programs with ``import mxnet`` under ``rebind launch``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.launch.jobs import launch

import rebind as mx
from rebind.compat import AS_MXNET
from rebind.kvstore import base
from rebind.launch.arguments import Request
from rebind.launch.plan import Address, make_plan

PROGRAM = """
import warnings
import mxnet as mx
from mxnet.module import Module
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for kind in ("local", "device", "dist_sync", "local"):
        kv = mx.kv.create(kind)
kv = mx.kv.create("dist_sync")
print(mx.__name__, mx.__version__, kv.num_workers, [str(each.message) for each in caught])
"""
ALONE = "With this store each worker trains a network of its own, and all write the same files"


def test_workers_find_mxnet_and_hear_once_that_a_local_store_leaves_them_alone(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(PROGRAM)
    done = launch("-n", 2, sys.executable, "old.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = sorted(line for line in done.stdout.splitlines() if "mxnet 1.9.1 2" in line)
    assert [line.count(ALONE) for line in lines] == [2, 0]  # worker 0 for 'local' and for 'device'


@pytest.mark.parametrize("command", [(sys.executable, "-m", "package.old"), ("package/old.py",)])
def test_modules_and_files_find_mxnet(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "old.py").write_text("import mxnet as mx\nprint(mx.__name__, mx.__version__)\n")
    done = launch("-n", 1, *command, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "mxnet 1.9.1\n"), done.stderr


@pytest.mark.parametrize("launcher", ["local", "ssh", "mpi", "slurm"])
@pytest.mark.parametrize("given", [None, "/given"])
def test_processes_of_all_launchers_find_mxnet(launcher: str, given: str | None) -> None:
    variables = {"PYTHONPATH": given} if given else {}
    request = Request(
        command=("python", "a.py"), workers=1, servers=1, launcher=launcher, variables=variables
    )  # type: ignore[arg-type]
    plan = make_plan(request, Address("h", 1, "t"), environment={"PYTHONPATH": f"/inherited:{AS_MXNET}"})
    for process in plan.processes:
        # Another machine has a PYTHONPATH of its own.
        rest = given or ("" if launcher == "ssh" else "/inherited")
        assert process.variables["PYTHONPATH"] == f"{AS_MXNET}:{rest}".rstrip(":")
        assert ("PYTHONPATH_THERE:+" in process.arguments[-1]) == (launcher == "ssh" and not given)


@pytest.mark.parametrize("kind", ["local", "device", None])
def test_fit_with_a_local_store_in_a_job_warns(kind: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    base._warn_of_lone_workers.cache_clear()
    weights = {"w": mx.nd.ones((2, 3))}
    says = ALONE if kind else ALONE.replace("With this store", "Without a store")
    with pytest.warns(
        UserWarning, match=rf"kvstore {kind!r}: this is one of 2 workers\. {says}\. Use kvstore='dist_sync'"
    ):
        mx.kvstore.choose_store(kind, 1, weights)
    mx.kvstore.choose_store(kind, 1, weights)  # once
