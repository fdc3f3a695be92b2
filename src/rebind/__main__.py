"""``python -m rebind`` is the command ``rebind``."""

import sys

from .cli import main

sys.exit(main())
