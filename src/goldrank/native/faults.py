"""The error that parsers raise for a line or an entry that cannot be read."""

from __future__ import annotations

TEXT_LIMIT = 80
"""Tokens and representations are quoted up to this length."""


class RowFault(ValueError):  # noqa: N818 - callers turn it into an InputError
    """A line of a file or an entry of a mapping that cannot be read.

    The caller knows the name of the file and writes the message.

    `line` counts lines from 1 and is 0 for mappings. `details` depends on `kind`:

    ============== ===================================== ===================================================
    kind           details                               what is wrong
    ============== ===================================== ===================================================
    `columns`      actual number, expected number        wrong number of columns
    `comment`      actual number, expected number        the same in a line that begins with #
    `number`       token                                 not a decimal number
    `nonfinite`    token; for mappings query and item    NaN, infinity or a number too large for a float
    `duplicate`    item, query                           the query lists the item twice
    `encoding`                                           an id is not valid UTF-8
    `query_type`   repr of the key                       a query id is not a string
    `item_type`    query, repr of the key                an item id is not a string
    `mapping_type` query, name of the type               the results of a query are not a mapping
    `score_type`   query, item, name of the type         a score is not a number
    ============== ===================================== ===================================================
    """

    def __init__(self, line: int, kind: str, *details: str | int) -> None:
        super().__init__(line, kind, *details)
        self.line, self.kind, self.details = line, kind, details
