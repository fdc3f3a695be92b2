"""``rebind doctor`` and `mx.show_versions`: what is installed here, and the usual mistakes with it."""

from .checks import CHECKS, findings
from .findings import Check, Finding
from .installed import EXTRAS, show_versions, versions

__all__ = ["CHECKS", "EXTRAS", "Check", "Finding", "findings", "show_versions", "versions"]
