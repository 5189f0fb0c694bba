"""`python -m goldrank` is the command `goldrank`."""

import sys

from goldrank.cli.main import main

sys.exit(main())
