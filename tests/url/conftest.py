"""Hypothesis without a deadline: the first host of a run loads the public suffix list."""

from hypothesis import settings

settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
