"""The page of HTML on a training run."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
import rebind_command
from rebind.errors import ArgumentError

pytest.importorskip("matplotlib")


def network() -> mx.sym.Symbol:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="relu1")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2, name="fc2"), name="softmax")


def fit(**settings: Any) -> tuple[Any, Any]:
    x = np.random.RandomState(0).rand(32, 4).astype("float32")
    module = mx.mod.Module(network())
    batches = mx.io.NDArrayIter(x, x[:, 0] > 0.5, batch_size=4)
    history = module.fit(batches, batches, num_epoch=2, optimizer_params={"learning_rate": 0.125}, **settings)
    return module, history


class Text(HTMLParser):
    """Collects headings, cells and what a page refers to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.found: dict[str, list[str]] = {"h1": [], "h2": [], "td": []}
        self.links: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [str(value) for key, value in attrs if key in ("src", "href", "xlink:href")]
        if tag in self.found:
            self.found[tag].append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in self.found:
            self.found[self.tags[-1]][-1] += data


def test_a_run_of_files_has_all_parts(tmp_path: Path) -> None:
    prefix, trace = str(tmp_path / "digits"), str(tmp_path / "trace.json")
    _, history = fit(checkpoint=prefix, profile=trace)
    path = mx.viz.report(prefix, profile=trace)
    assert path == f"{prefix}-report.html"
    page = Text(Path(path).read_text())
    assert page.found["h1"] == ["digits"]
    assert page.found["h2"] == [
        "Curves", "Network", "Where the time went", "Settings", "Data", "Environment",
    ]  # fmt: skip
    cells = page.found["td"]
    assert f"{history['validation']['accuracy'][-1]:.6g}" in cells
    assert cells[cells.index("learning rate") + 1] == "0.125"
    assert cells[cells.index("train data") + 1] == "data (4, 4) float32, softmax_label (4,) float32"
    assert {"fc1", "relu1", "fc2", "softmax", "FullyConnected", "sgd_mom_update", "4×3"} - {*cells} <= {
        "sgd_mom_update"
    }
    assert page.tags.count("svg") == 2  # curves and network


def test_the_page_needs_no_other_file_and_no_network(tmp_path: Path) -> None:
    fit(checkpoint=str(tmp_path / "run"))
    page = Path(mx.viz.report(str(tmp_path / "run"))).read_text()
    assert all(link.startswith("#") for link in Text(page).links)
    assert not re.search(r"@import|url\((?!#)|<script", page)


def test_a_module_with_its_history_and_profile(tmp_path: Path) -> None:
    profile = mx.profiler.Profile(skip=0)
    module, history = fit(profile=profile)
    page = Text(
        Path(
            mx.viz.report(module, tmp_path / "page.html", history=history, profile=profile, title="A <run>")
        ).read_text()
    )
    assert page.found["h1"] == ["A <run>"]
    cells = page.found["td"]
    assert cells[cells.index("relu1") + 2] == "4×3" and "16" in cells  # the time is of 16 batches


def test_a_page_without_times_says_how_to_get_them(tmp_path: Path) -> None:
    prefix = str(tmp_path / "digits")
    fit(checkpoint=prefix)
    page = Path(mx.viz.report(prefix)).read_text()
    assert "<code>rebind report RUN --profile trace.json</code>" in page
    assert "checksum of some samples" in page


def test_times_of_a_profile_and_of_its_trace_are_the_same(tmp_path: Path) -> None:
    profile = mx.profiler.Profile(skip=0)
    module, _ = fit(profile=profile)
    profile.save(str(tmp_path / "trace.json"))

    def rows(given: Any) -> dict[str, tuple[str, ...]]:
        page = Path(mx.viz.report(module, tmp_path / "page.html", profile=given)).read_text()
        cells = Text(page[page.index("Where the time went") : page.index("Settings")]).found["td"]
        return {cells[k]: tuple(cells[k + 1 : k + 3]) for k in range(0, len(cells), 6)}

    assert rows(profile) == rows(tmp_path / "trace.json")


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    page = Text(Path(mx.viz.report(mx.mod.Module(network()), tmp_path / "page.html")).read_text())
    assert page.found["h2"] == ["Network", "Environment"]


def test_a_run_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        ArgumentError, match=r"viz\.report: run must be the prefix .*there is no .*nothing-\*\.run"
    ):
        mx.viz.report(str(tmp_path / "nothing"))
    assert rebind_command.main(["report", str(tmp_path / "nothing")]) == 1
    assert "run must be the prefix" in capsys.readouterr().err


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fit(checkpoint=str(tmp_path / "run"))
    assert not rebind_command.main(["report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html")])
    assert (tmp_path / "page.html").exists()
    assert capsys.readouterr().out.strip() == str(tmp_path / "page.html")


@pytest.mark.parametrize(
    "shown",
    [
        "mx.nd.ones((2, 3))",
        "mx.nd.ones((2, 3)).tostype('csr')",
        "mx.nd.ones((2, 3)).tostype('row_sparse')",
        "mx.sym.exp(mx.sym.var('x'))",
        "mx.mod.Module(mx.sym.FullyConnected(mx.sym.var('data'), num_hidden=2), label_names=None)",
    ],
)
def test_objects_show_themselves_in_a_fresh_kernel(shown: str) -> None:
    import subprocess
    import sys

    code = f"import rebind as mx; print(({shown})._repr_html_()[:4])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("<div", "<svg")


def test_curves_show_themselves_in_a_fresh_kernel() -> None:
    import subprocess
    import sys

    code = "import rebind as mx; print(mx.viz.plot_history({'train': {'acc': [0.5, 1]}})._repr_png_()[1:4])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "b'PNG'"


def test_a_file_that_is_no_trace_and_a_run_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import mxnet")
    with pytest.raises(
        mx.MXNetError, match=r"profile must be a trace that fit\(profile=...\) wrote; .*train\.py is none"
    ):
        mx.viz.report(mx.mod.Module(network()), tmp_path / "page.html", profile=tmp_path / "train.py")
    with pytest.raises(ArgumentError, match=r"viz\.report: run must be the prefix .*history="):
        mx.viz.report({"train": {}})  # type: ignore[arg-type]
