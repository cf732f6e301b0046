"""Pieces of JSON documents, put together again, are what the standard library reads."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simsched.files.errors import GraphError
from simsched.files.json_members import json_pieces

LISTS = ("a", "b")
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from("abc\n"), inside, max_size=3)
    ),
    max_leaves=12,
)
SIGNS = st.sampled_from([*'{}[],:" \n5a', "\x0b", "\\ud800", "null", '"a"'])


def put_together(path):
    """What the pieces of a file say."""
    whole = {}
    for name, place, value in json_pieces(path, LISTS, GraphError):
        if name is None:
            return value
        if place is None:
            whole[name] = value
        else:
            assert place == len(whole[name])
            whole[name].append(value)
    return whole


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=VALUES, indent=st.sampled_from([None, 0, 2]))
def test_pieces_are_the_whole(document, indent, tmp_path):
    (tmp_path / "d.json").write_text(json.dumps(document, indent=indent))
    assert put_together(tmp_path / "d.json") == document


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=VALUES, signs=SIGNS, where=st.floats(0, 1), cut=st.booleans())
def test_what_is_no_json_is_refused_as_by_the_standard_library(
    document, signs, where, cut, tmp_path
):
    text = json.dumps({"a": document, "c": 1})
    place = int(where * len(text))
    text = text[:place] + signs + text[place + cut :]
    check_like_the_standard_library(text, tmp_path / "d.json")


BROKEN = ("{5: 1}", '{"a": 1,}', '{"a": [1,]}', '{"a": [1}', "{]", '{"a" 1}', '{"a": 1} x', "[1, 2")


@pytest.mark.parametrize("text", BROKEN)
def test_signs_at_the_wrong_place(text, tmp_path):
    check_like_the_standard_library(text, tmp_path / "d.json")
    with pytest.raises(GraphError):
        put_together(tmp_path / "d.json")


def check_like_the_standard_library(text, path):
    """Check that a text is read or refused as by `json`, also half characters when written."""
    path.write_text(text)
    try:
        whole = json.loads(text)
        json.dumps(whole, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        with pytest.raises(GraphError) as caught:
            put_together(path)
        where_text = f"d.json:{error.lineno}: column {error.colno}: not JSON: {error.msg}"
        assert where_text in str(caught.value)
    except UnicodeEncodeError:
        with pytest.raises(GraphError, match="half of a character"):
            put_together(path)
    else:
        assert put_together(path) == whole


def test_a_list_that_comes_again_counts_instead(tmp_path):
    (tmp_path / "d.json").write_text('{"a": [1, 2], "c": {"a": [3]}, "a": [[4]]}')
    assert put_together(tmp_path / "d.json") == {"a": [[4]], "c": {"a": [3]}}
