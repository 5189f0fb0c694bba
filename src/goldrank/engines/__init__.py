"""Engines run tasks in parallel on one machine or on a Ray cluster."""

from goldrank.engines.base import Engine, open_engine

__all__ = ["Engine", "open_engine"]
