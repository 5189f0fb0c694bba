"""What models are evaluated on: collections, pairs, labelled texts, and where named data sets come from."""
