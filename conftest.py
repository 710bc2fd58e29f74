"""Settings that every test run needs, before numba or Hypothesis is imported."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(__file__).parent / ".numba_cache"))
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# No deadline: the first call of a jitted function compiles it. Derandomised: a red run can be repeated by anyone;
# `--hypothesis-profile=explore` looks for new examples.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("explore", deadline=None, max_examples=2_000, print_blob=True)
settings.load_profile("repeatable")
