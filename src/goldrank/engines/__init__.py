"""Engines: work that is cut into parts, done by many processes on one machine or on many."""

from goldrank.engines.base import Engine, open_engine

__all__ = ["Engine", "open_engine"]
