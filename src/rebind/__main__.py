"""``python -m rebind`` is the command ``rebind``."""

import sys

from rebind_command import main

sys.exit(main())
