"""Fusion: combine several runs of the same queries into one."""

from goldrank.fusion.fusing import fuse
from goldrank.fusion.methods import METHODS, FusionMethod
from goldrank.fusion.normalising import NORMALISATIONS
from goldrank.fusion.spec import Fusion, is_fusion

__all__ = ["METHODS", "NORMALISATIONS", "Fusion", "FusionMethod", "fuse", "is_fusion"]
