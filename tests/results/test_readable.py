"""Numbers as people read them."""

import numpy as np
import pytest

from tupi.results.readable import decimals_for, fixed


@pytest.mark.parametrize(
    ("values", "decimals", "said"),
    [
        ([0.5752, -0.566], 3, ["0.575", "-0.566"]),
        ([1.14, 0.033], 2, ["1.14", "0.03"]),
        ([44.8, 13.0], 1, ["44.8", "13.0"]),
        ([1_234_567.8, 12.0], 0, ["1,234,568", "12"]),
        ([0.0002, np.nan], 6, ["0.000200"]),
        ([3e-7], None, ["3e-07"]),
        ([2.5e12, 1.0], None, ["2.5e+12", "1"]),
        ([0.0, 0.0], None, ["0", "0"]),
    ],
)
def test_numbers_that_stand_together_have_as_many_decimals(values, decimals, said):
    assert decimals_for(values) == decimals
    assert [fixed(value, decimals) for value in values if np.isfinite(value)] == said


def test_changes_have_a_sign_and_nothing_has_none_below_zero():
    assert fixed(0.31, 2, "+") == "+0.31"
    assert fixed(-1200.4, 0, "+") == "-1,200"
    assert fixed(-0.001, 2) == "0.00"
