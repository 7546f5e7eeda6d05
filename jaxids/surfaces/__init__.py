"""Surfaces of the regret-information ratio, their derivatives, pictures of both, and what they are good for."""

from jaxids.surfaces import draw
from jaxids.surfaces.data import DataSlopes, band_after, data_slopes, of_data
from jaxids.surfaces.derivatives import Curvature, Slopes, curvature, least, mixed, slopes, weight, weight_slopes
from jaxids.surfaces.diagrams import Phases, phases
from jaxids.surfaces.hulls import Plane, plane
from jaxids.surfaces.known import gap_and_gain, of_band
from jaxids.surfaces.run import Along, along
from jaxids.surfaces.shapes import Between, Simplex, between, pairs, simplex
from jaxids.surfaces.uses import Effort, effort, helps_most

__all__ = [
    "Along",
    "Between",
    "Curvature",
    "DataSlopes",
    "Effort",
    "Phases",
    "Plane",
    "Simplex",
    "Slopes",
    "along",
    "band_after",
    "between",
    "curvature",
    "data_slopes",
    "draw",
    "effort",
    "gap_and_gain",
    "helps_most",
    "least",
    "mixed",
    "of_band",
    "of_data",
    "pairs",
    "phases",
    "plane",
    "simplex",
    "slopes",
    "weight",
    "weight_slopes",
]
