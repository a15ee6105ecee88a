"""The chart library as text, to stand in a page: Vega, which `vl-convert-python` carries inside."""

from __future__ import annotations

from functools import cache

from undust.errors import UsageError

NOTICE = (
    "Charts: Vega, Vega-Lite and Vega-Embed, Copyright University of Washington Interactive Data Lab and contributors, "
    "BSD-3-Clause; D3, Copyright Mike Bostock, ISC."
)


def needed(what: str) -> None:
    """An error with what to do, if the extra is not there: before the work, not after it.

    >>> needed("the report")
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        raise UsageError(f"{what} draws with Vega: pip install 'undust[report]'") from None


@cache
def library() -> str:
    """A script that defines `vegaEmbed`, without anything it would have to fetch.

    >>> "vegaEmbed" in library(), "</script" in library()
    (True, False)
    """
    import vl_convert

    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # No text of a script may end it; in JavaScript `<\/` is `</`.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
