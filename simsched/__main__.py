"""``python -m simsched``."""

import sys

from simsched.cli.app import main

sys.exit(main())
