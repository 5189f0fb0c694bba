"""Slices: groups of queries that share the value of an attribute, such as a language or a length.

>>> from goldrank.slices import Attributes, make_slices
>>> attributes = Attributes({"language": {"q1": "de", "q2": "de", "q3": "en"}})
>>> [str(slice) for slice in make_slices(attributes, ["q1", "q2", "q3"], smallest=1)]
['language=de', 'language=en']
"""

from goldrank.slices.attributes import SMALLEST, Attributes, Slice, make_slices, read_attributes

__all__ = ["SMALLEST", "Attributes", "Slice", "make_slices", "read_attributes"]
