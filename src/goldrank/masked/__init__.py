"""Masked entities: can a model name the person behind the mask, per mask, per example and per page?"""
