"""Fusion: several rankings of the same queries made into one, by what they say together."""

from goldrank.fusion.fusing import fuse
from goldrank.fusion.methods import METHODS, Method
from goldrank.fusion.normalising import NORMALISATIONS
from goldrank.fusion.spec import Fusion, is_fusion

__all__ = ["METHODS", "NORMALISATIONS", "Fusion", "Method", "fuse", "is_fusion"]
