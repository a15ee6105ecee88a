"""undust learns which differences between URLs do not matter, and proves it."""

__version__ = "0.1.0"
