"""What is started for a job, for each launcher."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from rebind.compat import AS_MXNET
from rebind.launch.arguments import Request
from rebind.launch.hosts import Host
from rebind.launch.plan import Address, make_plan

ADDRESS = Address("10.0.0.1", 9091, "the secret")
COMMAND = ("python", "train.py", "--lr", "0.1 ")


def test_local() -> None:
    request = Request(
        command=COMMAND, workers=2, servers=1, timeout=20, max_restarts=3,
        variables={"A": "1", "HOME": None, "ABSENT": None}, worker_variables={"B": "2"}, server_variables={"C": "3"},
    )  # fmt: skip
    plan = make_plan(request, ADDRESS, attempt=2, environment={"HOME": "/home/me", "OMP_NUM_THREADS": "1"})
    assert plan.program == "python"
    assert [process.name for process in plan.processes] == ["server 0", "worker 0", "worker 1"]
    assert {process.arguments for process in plan.processes} == {("train.py", "--lr", "0.1 ")}
    shared = {
        "REBIND_JOB_ADDRESS": "10.0.0.1:9091",
        "REBIND_JOB_TOKEN": "the secret",
        "REBIND_TIMEOUT": "20",
        "DMLC_PS_ROOT_URI": "10.0.0.1",
        "DMLC_PS_ROOT_PORT": "9091",
        "DMLC_NUM_WORKER": "2",
        "DMLC_NUM_SERVER": "1",
        "MASTER_ADDR": "10.0.0.1",
        "MASTER_PORT": "9091",
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RESTART_COUNT": "2",
        "TORCHELASTIC_MAX_RESTARTS": "3",
        "TORCHELASTIC_RUN_ID": "rebind",
        "REBIND_TUNE": "1",
        "A": "1",
        "HOME": "/home/me",
        "PYTHONPATH": AS_MXNET,
    }
    assert plan.processes[0].variables == {**shared, "DMLC_ROLE": "server", "DMLC_SERVER_ID": "0", "C": "3"}
    assert plan.processes[2].variables == {
        **shared, "DMLC_ROLE": "worker", "DMLC_WORKER_ID": "1", "RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1",
        "LOCAL_WORLD_SIZE": "2", "B": "2",
    }  # fmt: skip


def test_cores_are_divided_unless_the_user_has_said_how_many_threads() -> None:
    request = Request(command=COMMAND, workers=2)
    threads = make_plan(request, ADDRESS, environment={}).processes[1].variables["OMP_NUM_THREADS"]
    assert int(threads) == max(1, len(os.sched_getaffinity(0)) // 2)
    variables = make_plan(request, ADDRESS, environment={"OMP_NUM_THREADS": "3"}).processes[1].variables
    assert "OMP_NUM_THREADS" not in variables  # it is inherited


def test_ssh() -> None:
    request = Request(command=COMMAND, workers=2, launcher="ssh", folder_there="/a folder")
    plan = make_plan(request, ADDRESS, hosts=[Host("me@node0", 2222), Host("node1")], environment={})
    assert plan.program == sys.executable
    first, second = (process.arguments for process in plan.processes)
    assert first[:2] == ("-I", "-S")
    assert Path(first[2]).name == "_over_ssh.py"
    assert first[3:8] == ("-o", "BatchMode=yes", "-p", "2222", "me@node0")
    assert second[3:6] == ("-o", "BatchMode=yes", "node1")
    script = second[-1]
    assert "cd '/a folder' || exit 1; python train.py --lr '0.1 ' " in script
    assert " DMLC_PS_ROOT_URI=10.0.0.1 " in script
    assert " RANK=1 " in script
    assert " LOCAL_RANK=0 " in script  # of its machine
    assert not any("the secret" in word for word in (*first, *second))  # anyone can read command lines


NAMES = [
    "REBIND_JOB_ADDRESS", "REBIND_JOB_TOKEN", "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "DMLC_NUM_WORKER",
    "DMLC_NUM_SERVER", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID", "REBIND_TUNE", "DMLC_ROLE", "PYTHONPATH",
]  # fmt: skip


@pytest.mark.parametrize(
    ("launcher", "is_open_mpi", "arguments"),
    [
        ("mpi", True, ["-n", "4", "--hostfile", "hosts", *(w for name in NAMES for w in ("-x", name))]),
        ("mpi", False, ["-n", "4", "-f", "hosts", "-genvlist", ",".join(NAMES)]),
        (
            "slurm",
            True,
            [
                "--ntasks=4",
                "--nodefile=hosts",
                "--overlap",
                "--kill-on-bad-exit=1",
                "--export=ALL",
                "--label",
            ],
        ),
    ],
)
def test_launchers_that_number_the_workers_themselves(launcher, is_open_mpi, arguments) -> None:
    request = Request(command=COMMAND, workers=4, servers=2, launcher=launcher, host_file=Path("hosts"))
    plan = make_plan(request, ADDRESS, environment={}, is_open_mpi=is_open_mpi)
    program = {"mpi": "mpirun", "slurm": "srun"}[launcher]
    assert plan.program == program
    servers, workers = plan.processes
    assert (servers.name, workers.name) == (f"{program} of 2 servers", f"{program} of 4 workers")
    assert list(workers.arguments) == [*arguments, *COMMAND]
    assert (servers.variables["DMLC_ROLE"], workers.variables["DMLC_ROLE"]) == ("server", "worker")
    assert "RANK" not in workers.variables
    assert workers.variables["REBIND_JOB_TOKEN"] == "the secret"
