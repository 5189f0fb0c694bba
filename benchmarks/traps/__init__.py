"""The trap suite: planted errors from real reports, run through goldrank and its peers."""
