"""Any input to one table of pages, one row per distinct URL.

`read` recognises the format by content, `Crawl` holds the table (columns: `PAGE_SCHEMA`) and how it was read.
"""

from undust.crawl.pages import PAGE_SCHEMA, BadLine, Crawl, ReadStats
from undust.crawl.read import Stream, read, streamed

__all__ = ["PAGE_SCHEMA", "BadLine", "Crawl", "ReadStats", "Stream", "read", "streamed"]
