"""Parts of a sweep: every tile is one part's, and parts are of one size."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jaxids.experiment.parts import Part, named, shares


@given(st.lists(st.integers(1, 40), max_size=12), st.integers(1, 12))
def test_every_tile_is_one_parts_and_shares_are_even(counts, of):
    found = [shares(counts, Part(number, of)) for number in range(1, of + 1)]
    for cell, count in enumerate(counts):
        assert sorted(index for share in found for index in share[cell]) == list(range(count))
        sizes = [len(share[cell]) for share in found]
        assert max(sizes) - min(sizes) <= 1
    assert np.ptp([sum(map(len, share)) for share in found]) <= 1  # together, too


def test_a_cell_is_cut_into_runs_of_tiles():
    assert shares([10, 2, 3], Part(2, 4)) == [range(3, 6), range(0), range(1, 2)]
    assert shares([10, 2, 3], Part(4, 4)) == [range(8, 10), range(1, 2), range(3, 3)]
    assert shares([10, 2], None) == [range(10), range(2)]
    assert named("3/10") == Part(3, 10)
