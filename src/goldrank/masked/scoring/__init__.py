"""Score predictions of masked names per mask, example and page."""
