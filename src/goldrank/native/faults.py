"""The one error the readers raise: which line, what kind of fault, and what was found there."""

from __future__ import annotations


class RowFault(ValueError):  # noqa: N818 - it is a finding about a row, which callers turn into an error
    """A line or an entry that cannot be read; the caller knows the file's name and writes the sentence.

    `line` counts physical lines from 1 and is 0 for mappings. `kind` decides what `details` holds:

    ============== ==================================== ==============================================
    kind           details                              what was found
    ============== ==================================== ==============================================
    `columns`      number found, number expected        another number of columns
    `comment`      number found, number expected        the same in a line that begins with #
    `number`       token                                something that is not a decimal number
    `nonfinite`    token, or query and item (mappings)  NaN, infinity or a number too large for a float
    `duplicate`    item, query                          an item the query has listed before
    `encoding`                                          an id that is not valid UTF-8
    `query_type`   repr of the key                      a query id that is not a string
    `item_type`    query, repr of the key               an item id that is not a string
    `mapping_type` query, name of the type              a query's results that are not a mapping
    `score_type`   query, item, name of the type        a score that is not a number
    ============== ==================================== ==============================================

    Tokens and reprs are cut to 80 characters.
    """

    def __init__(self, line: int, kind: str, *details: str | int) -> None:
        super().__init__(line, kind, *details)
        self.line, self.kind, self.details = line, kind, details
