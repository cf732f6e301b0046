"""Names of task graph files: where the path ends and the options begin."""

from __future__ import annotations

import pytest

from simsched.files.errors import ConfigurationError
from simsched.names.specs import Spec
from simsched.workload.graph_files import graph_file_spec, is_graph_file, workload_spec


@pytest.mark.parametrize(
    ("text", "path", "options"),
    [
        ("my[1]/g.dot", "my[1]/g.dot", {}),
        ("my[1]/g.dot[cost=ms, iterations=2]", "my[1]/g.dot", {"cost": "ms", "iterations": 2}),
        ("x[1].dot", "x[1].dot", {}),
        ("x[1].dot[cost=ms]", "x[1].dot", {"cost": "ms"}),
        ("x[a=1].dot[cost=ms]", "x[a=1].dot", {"cost": "ms"}),
        ("x[1].json.gz[]", "x[1].json.gz", {}),
        ("g.dot [cost=ms] ", "g.dot", {"cost": "ms"}),
        ("g.dot[cost='a[0]']", "g.dot", {"cost": "a[0]"}),
        ("[1]/g.dot[cost='a[b=1]', k='[c=2]']", "[1]/g.dot", {"cost": "a[b=1]", "k": "[c=2]"}),
    ],
)
def test_the_last_brackets_are_the_options(text, path, options):
    """Brackets of directories were taken for options, and the path for cut off before them."""
    assert is_graph_file(text)
    assert graph_file_spec(text) == workload_spec(text) == Spec(path, options)


def test_an_existing_file_of_the_whole_name_wins(tmp_path):
    whole = str(tmp_path / "g.dot[cost=ms]")
    assert graph_file_spec(whole).params == {"cost": "ms"}
    (tmp_path / "g.dot[cost=ms]").write_text("")
    assert graph_file_spec(whole) == Spec(whole, {})
    assert graph_file_spec(f"{whole}[cost=ms]") == Spec(whole, {"cost": "ms"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("my[1]/g.dot[cost=]", "character 18: found ']', accepted a value"),
        ("g.dot[cost=a[0]]", "character 13: found '[0]]', accepted ',' or ']'"),
        ("[1]/g.dot[1]", "character 11: found '1]', accepted PARAMETER=VALUE or ']'"),
    ],
)
def test_wrong_options_are_told_from_the_path(text, message):
    assert is_graph_file(text)
    with pytest.raises(ConfigurationError) as caught:
        graph_file_spec(text)
    assert str(caught.value) == f"workload {text!r}: {message}"


@pytest.mark.parametrize("text", ["heat[rows=1]", "gen.py[n=5]", "a.dot/heat[n=1]", "[", "]", "[]"])
def test_other_names_are_no_task_graph_files(text):
    assert not is_graph_file(text)
