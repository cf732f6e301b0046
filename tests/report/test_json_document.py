"""Plain data as JSON has them."""

import json
import math

import pytest

from simsched.report.json_document import finite, pieces


@pytest.mark.parametrize(
    "value",
    [
        [1.0, math.nan, 2.0],
        [math.inf],
        [1, -math.inf, "text", None],
        [[1.0, math.nan], [2.0]],
        (math.nan, 1.0),
        {"a": math.nan, 1: [math.inf]},
    ],
)
def test_what_is_no_number_is_nothing(value: object) -> None:
    def expected(one: object) -> object:
        if isinstance(one, dict):
            return {str(key): expected(item) for key, item in one.items()}
        if isinstance(one, list | tuple):
            return [expected(item) for item in one]
        return None if isinstance(one, float) and not math.isfinite(one) else one

    assert finite(value) == expected(value)


@pytest.mark.parametrize("values", [[], [1, 2], [1.0, 2.5], [10**400, 1], ["a", None, True]])
def test_a_list_that_stays_is_another_list(values: list[object]) -> None:
    found = finite(values)
    assert found == values
    assert found is not values


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"a": 1},
        {"runs": [], "b": {"c": [1.5, None]}},
        {"runs": [{"x": 1, "y": [0.1, 2]}, {"x": math.nan, "y": [math.inf, 2.0]}], "é\n": "é\n"},
    ],
)
def test_pieces_are_the_text_of_the_whole(plain: dict[str, object]) -> None:
    assert "".join(pieces(plain)) == json.dumps(finite(plain), allow_nan=False)


def test_items_of_a_list_are_pieces_of_their_own() -> None:
    whole = list(pieces({"runs": [{"x": place} for place in range(1000)]}))
    assert max(map(len, whole)) < 20
