"""Property tests explore anew on every run at home, and are the same examples each time where a change is gated."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("gate", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("gate")
