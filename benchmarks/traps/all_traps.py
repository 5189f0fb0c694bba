"""All traps, in the order of the table."""

from benchmarks.traps import file_traps, text_traps

TRAPS = [*file_traps.TRAPS, *text_traps.TRAPS]
