"""The report: one HTML file, complete in itself, on which a person decides whether to deploy a rule book.

`report` writes it; `contents` is what it shows as data, `curves_page` the figures of the papers drawn alike.
"""

from undust.report.contents import contents
from undust.report.curves import curves_page
from undust.report.page import as_html, report

__all__ = ["as_html", "contents", "curves_page", "report"]
