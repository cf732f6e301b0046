"""``python -m simsched``."""

import sys

from simsched.cli import main

sys.exit(main())
