"""plot_history."""

from __future__ import annotations

import sys

import pytest

from rebind.viz import plot_history

HISTORY = {
    "train": {"accuracy": [0.5, 0.8, 0.9], "cross-entropy": [1.9, 0.7, 0.4]},
    "validation": {"accuracy": [0.6, 0.82, 0.88], "cross-entropy": []},
}


@pytest.mark.parametrize("history", [HISTORY, {"train": {"loss": [1.0]}}])
def test_writes_a_picture(history, tmp_path):
    pytest.importorskip("matplotlib")
    plot_history(history, tmp_path / "training.png", title="digits")
    assert (tmp_path / "training.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("history", [{}, {"train": {}}, {"train": {"loss": []}}])
def test_nothing_to_draw(history, tmp_path):
    with pytest.raises(ValueError, match="history must hold at least one value"):
        plot_history(history, tmp_path / "training.png")


@pytest.mark.parametrize("broken", [False, True])
def test_missing_extra_is_named(broken, monkeypatch, tmp_path):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    if broken:
        (tmp_path / "matplotlib.py").write_text("raise ImportError('a library that it needs is missing')")
        monkeypatch.syspath_prepend(tmp_path)
    else:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plot_history: .* pip install 'rebind\[viz\]'"):
        plot_history(HISTORY, tmp_path / "training.png")
