"""Rule books inside other people's tools: Scrapy, Polars, DuckDB, datatrove; pandas and Arrow need no more than
`Canonicalizer.map`. Nothing is imported here: each module needs its library. `docs/integrations.md` has the examples.
"""
