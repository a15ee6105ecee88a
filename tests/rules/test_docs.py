"""The examples of docs/rules.md are run."""

from __future__ import annotations

import doctest
from pathlib import Path

import undust.rules.conversion
from undust.rules.pattern import TYPES

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_examples():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert result.attempted > 20
    assert result.failed == 0


def test_every_type_and_conversion_is_told_of():
    text = PAGE.read_text(encoding="utf-8")
    for name in (*TYPES, *undust.rules.conversion.CONVERSIONS, "tr(a,b)"):
        assert f"`{name}`" in text
