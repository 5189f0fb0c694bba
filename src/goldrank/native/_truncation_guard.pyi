"""Types of the guard against truncated files; `truncation_guard.cpp` explains how it works."""

from mmap import mmap

def watch(buffer: mmap, /) -> int:
    """Watch a buffer whose file may be truncated; return its number, or -1 if it cannot be watched."""

def was_truncated(number: int, /) -> bool:
    """Return True if the file of a watched buffer was truncated while it was read."""

def unwatch(number: int, /) -> None:
    """Stop watching a buffer; to be called before it is unmapped."""

def set_message(message: str, /) -> None:
    """Set what to print before the process ends because a file was truncated in a buffer that is not watched."""
