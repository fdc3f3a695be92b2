"""``rebind doctor``: what it prints, its table, and what each check finds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

import rebind as mx
import rebind_command
from rebind import doctor
from rebind.doctor import machine, packages, settings
from rebind.doctor.gpu import architectures, gpu

PAGE = Path(__file__).parents[1] / "docs" / "checking.md"


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "findings", lambda: [])
    assert rebind_command.main(["doctor"]) == 0
    written = capsys.readouterr().out
    assert "No mistakes found." in written and f"PyTorch: {torch.__version__}" in written
    monkeypatch.setattr(doctor, "findings", lambda: [doctor.Finding("this is wrong", "mend it")])
    assert rebind_command.main(["doctor"]) == 1
    assert "\nthis is wrong.\n  Mend it.\n" in capsys.readouterr().out
    mx.show_versions()
    assert capsys.readouterr().out.startswith("rebind: ")


def test_the_table_is_shown_and_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert rebind_command.main(["doctor", "--list"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len({check.name for check in doctor.CHECKS}) == len(doctor.CHECKS)
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page[page.index("rebind doctor") :], re.MULTILINE
    )
    plain = [tuple(text.replace("`", "") for text in row) for row in rows[2:]]
    assert plain == [(check.name, check.looks_at, check.mend) for check in doctor.CHECKS]
    for check in doctor.CHECKS:
        assert any(check.name in line for line in shown)


@pytest.mark.parametrize("check", doctor.CHECKS, ids=lambda check: check.name)
def test_each_check_runs_here(check: doctor.Check) -> None:
    for finding in check.find():
        assert finding.what and finding.mend and not finding.what.endswith(".")


def test_gpus() -> None:
    [old] = gpu(True, "12.8", False, {})
    assert old.what == "there is a GPU here, and PyTorch's CUDA 12.8 cannot use it"
    assert not list(gpu(True, "12.8", True, {})) and not list(gpu(False, None, False, {}))
    [wheel] = gpu(False, "12.8", False, {})
    assert "no GPU here" in wheel.what and not list(gpu(False, "12.8", True, {}))
    for hidden in ("", "-1"):
        [finding] = gpu(True, "12.8", False, {"CUDA_VISIBLE_DEVICES": hidden})
        assert finding.mend == "unset CUDA_VISIBLE_DEVICES"
    assert not list(gpu(True, "12.8", True, {"CUDA_VISIBLE_DEVICES": "1"}))


@pytest.mark.parametrize(
    ("capability", "built", "runs"),
    [
        ((8, 6), ["sm_80"], True),  # of the same major number
        ((8, 0), ["sm_86"], False),
        ((9, 0), ["sm_80", "compute_80"], True),  # compiled by the driver
        ((7, 5), ["compute_80"], False),
        ((10, 3), ["sm_100", "sm_120"], True),
        ((12, 0), ["sm_90a"], False),
    ],
)
def test_architectures(capability: tuple[int, int], built: list[str], runs: bool) -> None:
    assert (not list(architectures({"one": capability}, built, "2.13.0"))) is runs


def test_packages() -> None:
    assert not list(packages.twins({"opencv-python"}))
    [twins] = packages.twins({"onnxruntime", "onnxruntime-gpu"})
    assert twins.mend == "pip uninstall onnxruntime onnxruntime-gpu, then pip install onnxruntime"
    mend = "start programs with rebind run, or write import rebind as mx"
    assert [each.mend for each in packages.mxnet_beside(True, "1.23.5")] == [mend]
    [old] = packages.mxnet_beside(True, "1.26.4")
    assert "fails with NumPy 1.26.4" in old.what and not list(packages.mxnet_beside(False, "2.4"))
    for version, fine in {"2.10.1": False, "2.11.0": True, "2.15.3+cu128": True, "2.16.0": False}.items():
        assert (not list(packages.torch_range(version, ["numpy>=1.26", "torch<2.16,>=2.11"]))) is fine


@pytest.mark.parametrize(
    ("need", "met"),
    [
        ("numpy (<2.0.0,>1.16.0)", False),  # as MXNet 1.9.1 has it
        ("numpy<3,>=1.26", True),
        ("numpy", True),
        ("numpy<2; extra == 'old'", True),
        ("torch==2.12.1", False),
        ("torch==2.13.0", True),
        ("torch ~=2.1", True),
        ("numpydoc<2", True),
    ],
)
def test_requirements(need: str, met: bool) -> None:
    found = list(packages.requirements([("a 1.0", need)], {"numpy": "2.4.6", "torch": "2.13.0+cpu"}))
    assert (not found) is met
    if found:
        assert found[0].mend == "pip install --upgrade a, or install it in an environment of its own"


def test_a_package_for_an_older_numpy_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "older-1.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: older\nVersion: 1.0\nRequires-Dist: numpy<1.5\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert any(finding.what.startswith("older 1.0 needs numpy<1.5;") for finding in doctor.findings())


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None),
        ({}, None),
    ],
)
def test_the_cores_of_a_container(tmp_path: Path, files: dict[str, str], cores: int | None) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert machine.cores_of_container(str(tmp_path)) == cores


def test_the_machine() -> None:
    one = {"OMP_NUM_THREADS": "1"}
    assert len(list(machine.one_thread(one, 2))) == 1
    for environment, cores in (({}, 2), (one, 1), ({**one, "DMLC_ROLE": "worker"}, 2)):
        assert not list(machine.one_thread(environment, cores))
    assert len(list(machine.shared_memory(64 * 2**20))) == 1
    assert not list(machine.shared_memory(2**31)) and not list(machine.shared_memory(None))
    assert machine.size_of_shared_memory("/no/such/folder") is None
    assert not list(machine.old_processor("x86_64", "AVX512"))
    assert not list(machine.disk(2**40)) and machine.free_bytes() > 0


def test_the_limit_of_files_is_that_of_the_process() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, before[1]))
    try:
        assert machine.soft_limit_of_files() == 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert not list(machine.open_files(4096)) and not list(machine.open_files(None))


def test_settings() -> None:
    assert not list(settings.openmps({"/a/libgomp.so.1", "/b/libgomp-12.so.1", "/c/libcompress.so"}, {}))
    assert len(list(settings.openmps(set(), {"KMP_DUPLICATE_LIB_OK": "True"}))) == 1
    conda = {"/conda/lib/libiomp5.so", "/conda/lib/python3.12/site-packages/torch/lib/libgomp.so.1"}
    [mixed] = settings.openmps(conda, {})
    assert mixed.mend == "install PyTorch and NumPy from one source, both with pip or both with conda"
    [variable] = settings.variables({"MXNET_ENGINE_TYPE": "NaiveEngine", "MXNET_HOME": "/x"})
    assert variable.mend == "unset MXNET_ENGINE_TYPE"


def test_a_file_that_hides_a_module(tmp_path: Path) -> None:
    """Python itself takes the file of the folder that the program is in."""
    for name in ("onnx.py", "train.py", "random.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "train.py").write_text(textwrap.dedent("import onnx; print(onnx.__file__)"))
    done = subprocess.run([sys.executable, tmp_path / "train.py"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "onnx.py")
    [finding] = settings.hiding_files(os.listdir(tmp_path))
    assert finding.what == "onnx.py in this folder hides the module onnx from the programs in it"
