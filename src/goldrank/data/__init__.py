"""The data that models are evaluated on: collections, scored pairs, labelled texts and their sources."""
