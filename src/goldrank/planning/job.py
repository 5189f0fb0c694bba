"""A job to be planned: its sizes, the machines it may use, and the bytes that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

from goldrank.planning.constants import EncodingCost

SHARD = 65_536
"""Items of one shard, and so of one task."""
FLOAT, WIDE = 4, 8
# The words and bytes of the texts of the demonstration data (persons.jsonl), a blank after each word included.
BYTES_PER_WORD = 6.0
# {"_id": "…", "text": "…"} with an id of ten characters.
RECORD_BYTES = 36
ID_BYTES = 10
# CPython: a string of ten characters takes 59 bytes, its place in a list 8, that in a dict with its number about 100.
HELD_ID_BYTES = 59 + 8 + 100
# A string of CPython holds 49 bytes beside its characters, and a list 8 for its place.
HELD_TEXT_BYTES = 57
# A result in a ranking as Python holds it: its place in a dict and a float; ids are shared.
HELD_RESULT_BYTES = 100
COUNT_BYTES = 4 * 8
"""The four counts of a judged item that a shard returns."""
RESULT_BYTES = 16
"""The number and the score of a result that a shard returns."""


@dataclass(frozen=True)
class Job:
    """What is to be evaluated, and on what.

    >>> job = Job(items=1_000_000, dimension=768, queries=1000)
    >>> job.vector_bytes, job.shards, job.judged_items
    (3072000000, 16, 1000)
    """

    items: int
    dimension: int
    queries: int
    judged: int = 1
    """Judged items of a query; 0 leaves exact ranks out."""
    depth: int = 1000
    """Results kept of a query; 0 leaves the top k out."""
    words: float = 100.0
    """Mean words of a text."""
    nodes: int = 1
    cores: int | None = None
    """Cores of each machine; None for as many as the constants were measured on."""
    memory: float | None = None
    """Bytes of each machine; None for what the constants say."""
    disk: float | None = None
    """Free bytes of the storage; None for what the constants say."""
    network: float = 1.25e9
    """Bytes a second of each machine. Ten gigabits are assumed: one machine alone cannot measure it."""
    encoding: EncodingCost | None = None
    """What the model costs; None leaves encoding out."""

    @property
    def vector_bytes(self) -> int:
        """All item vectors in float32."""
        return self.items * self.dimension * FLOAT

    @property
    def query_bytes(self) -> int:
        """All query vectors in float32."""
        return self.queries * self.dimension * FLOAT

    @property
    def text_bytes(self) -> float:
        """The texts as JSON lines."""
        return self.items * (self.words * BYTES_PER_WORD + RECORD_BYTES)

    @property
    def judged_items(self) -> int:
        """Judged items of all queries."""
        return self.queries * self.judged

    @property
    def results(self) -> int:
        """Results kept of all queries."""
        return self.queries * min(self.depth, self.items)

    @property
    def shards(self) -> int:
        """Shards that the items make."""
        return -(-self.items // SHARD)

    @property
    def shard_items(self) -> float:
        """Items of a shard on average: the last one may be smaller."""
        return self.items / self.shards

    @property
    def counting_bytes(self) -> float:
        """What counting keeps of the queries: float64 values and packed operands of float32."""
        return self.queries * self.dimension * (WIDE + FLOAT) + self.judged_items * (COUNT_BYTES + 2 * WIDE)
