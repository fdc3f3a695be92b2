"""What `SVRGModule` does in a step for which only other workers have a batch."""

from __future__ import annotations

from abc import abstractmethod

from ...module import Module

__all__ = ["JointSnapshot"]


class JointSnapshot(Module):
    """A module with a snapshot, `_mod_aux`; `SVRGModule` adds the rule."""

    _mod_aux: Module
    _both_ran: bool  # whether the last gradients are of both

    def take_no_batch(self) -> None:
        """Set gradients as a batch without samples has them: g(w) and g(w̃) are zero, and μ stays."""
        super().take_no_batch()
        self._mod_aux.clear_gradients()
        self._both_ran = True
        self._after_backward()

    @abstractmethod
    def _after_backward(self) -> None:
        """Apply the rule, or note that it is to be applied."""
