"""plot_history."""

from __future__ import annotations

import builtins

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


def test_missing_extra_is_named(monkeypatch, tmp_path):
    real = builtins.__import__

    def without_matplotlib(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(ImportError, match=r"plot_history: .* pip install 'rebind\[viz\]'"):
        plot_history(HISTORY, tmp_path / "training.png")
