"""Made evidence is shared with the tests of the signatures."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "signatures"))
