"""Engines: what runs the learning of a site over many sites; this machine (`local`) or Spark (`spark`).

`learn` is the one function for a crawl and `learn_site` the one for a site; the book does not depend on the engine.
"""
