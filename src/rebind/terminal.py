"""What rebind uses of rich, which writes to terminals.

It draws from the generator of Python's `random` when it is imported: a program's own random numbers must not depend on
whether a bar or a table was shown.
"""

import random

_before = random.getstate()
from rich import box  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.live import Live  # noqa: E402
from rich.progress import track  # noqa: E402
from rich.table import Table  # noqa: E402
from rich.text import Text  # noqa: E402

random.setstate(_before)

__all__ = ["Console", "Live", "Table", "Text", "box", "track"]
