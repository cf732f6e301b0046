"""Costs of other programs' graphs for several kinds of processors."""

from __future__ import annotations

import math

import networkx as nx
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, GraphError, ModelError
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.workload.graph_files import read_graph_file
from simsched.workload.importers import from_networkx, import_workload, write_dot, write_graphml
from simsched.workload.importers.remarks import facts
from simsched.workload.presets import make_workload

COSTS = {"cpu": "host", "gpu": "device"}
DOT = "digraph { a [host=2, device=inf, w=1]; b [host=30, device=0.5, w=1]; a -> b }"


@pytest.fixture
def graph():
    found = nx.DiGraph()
    found.add_node("a", host=2, device=math.inf)
    found.add_node("b", host=30.0, device=0.5)
    found.add_edge("a", "b")
    return found


@pytest.fixture
def dot(tmp_path):
    path = tmp_path / "g.dot"
    path.write_text(DOT)
    return path


def test_each_kind_has_its_attribute_and_its_speed(graph):
    workload = from_networkx(graph, cost=COSTS, cost_unit="ops")
    assert workload.graph.kinds == ("cpu", "gpu")
    assert workload.graph.ops.tolist() == [[2.0, 30.0], [math.inf, 0.5]]
    speeds = {"gpu": 4e9}  # 10**9 is the default
    workload = from_networkx(graph, cost=COSTS, cost_unit="ms", reference_speed=speeds)
    assert workload.graph.ops.tolist() == [[2e6, 30e6], [math.inf, 2e6]]
    assert facts(workload)[:2] == [
        "cost of a task on cpu: attribute 'host', 1 ms is 1e+06 operations",
        "cost of a task on gpu: attribute 'device', 1 ms is 4e+06 operations",
    ]
    workload = from_networkx(graph, cost=COSTS, cost_unit="ms", reference_speed=2e9)
    assert workload.graph.ops.tolist() == [[4e6, 60e6], [math.inf, 1e6]]


def test_files_say_it_with_one_option_for_each_kind(dot, graph, tmp_path):
    spec = f"{dot}[cost.cpu=host, cost.gpu=device, cost_unit=ms, reference_speed.gpu=4e9]"
    expected = [[2e6, 30e6], [math.inf, 2e6]]
    assert make_workload(spec).graph.ops.tolist() == expected
    mapped = {"cost": COSTS, "cost_unit": "ms", "reference_speed": {"gpu": 4e9}}
    assert read_graph_file(dot, mapped).graph.ops.tolist() == expected
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert import_workload(tmp_path / "g.graphml", **mapped).graph.ops.tolist() == expected
    for write, name in ((write_graphml, "own.graphml"), (write_dot, "own.dot")):
        write(make_workload(spec), tmp_path / name)
        again = import_workload(tmp_path / name)
        assert again.graph.ops.tolist() == expected
        assert again.parameters["cost"] == COSTS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"cost": {"cpu": "host", "gpu": "dev"}},
            "option cost.gpu: found 'dev', which no node has",
        ),
        ({"cost": {"cpu": 3}}, "option cost.cpu: found 3, which no node has"),
        ({"cost": {1: "host"}}, "option cost: found 1, accepted kinds of processors"),
        ({"cost": {}}, "name the node attribute that is the cost"),
        ({"cost": ["host"]}, "option cost: found \\['host'\\], which no node has"),
        ({"cost_unit": "ms", "reference_speed": {"gup": 1e9}}, "did you mean 'gpu'"),
        (
            {"cost_unit": "ms", "reference_speed": {"gpu": 0}},
            r"reference_speed: found 0\.0, accepted .* 1000000 or more",
        ),
        (
            {"cost_unit": "ms", "reference_speed": 0},
            r"found 0\.0, accepted .* or text with a unit such as '2\.9 GHz'",
        ),
        ({"edge_bytes": {"cpu": "x"}}, "option edge_bytes: found {'cpu': 'x'}, accepted an attri"),
    ],
)
def test_wrong_options_are_told(graph, options, message):
    with pytest.raises(GraphError, match=message):
        from_networkx(graph, **{"cost": COSTS, "cost_unit": "ops", **options})


@pytest.mark.parametrize("extra", ["cost=host", "cost.cpu=w"])
def test_an_option_is_given_in_one_way(dot, extra):
    accepted = "accepted: cost for all kinds of processors, or cost.KIND for each"
    given = dict([("cost", {"cpu": "host"}), extra.split("=")])
    if extra.startswith("cost="):
        given = {"cost": "host", "cost.cpu": "w"}
    with pytest.raises(ConfigurationError, match=f"found beside another cost, {accepted}"):
        read_graph_file(dot, given)


def test_a_task_needs_a_cost_for_every_kind(graph):
    """Nobody guesses what a missing cost means; infinity says that a task cannot run there."""
    del graph.nodes["b"]["device"]
    message = "node 'b': attribute 'device': found nothing, accepted a number of at least 0"
    with pytest.raises(GraphError, match=message):
        from_networkx(graph, cost=COSTS, cost_unit="ops")
    graph.nodes["a"]["host"] = math.inf
    graph.nodes["b"]["device"] = 1
    with pytest.raises(GraphError, match=r"task 0 \(a\): ops: no processor kind can run it"):
        from_networkx(graph, cost=COSTS, cost_unit="ops")


def test_kinds_are_those_of_the_machine(dot):
    """A kind that no processor of the machine has is told with the one that is meant."""
    machine = load_machine("e5620_m2090")
    right = make_workload(f"{dot}[cost.cpu=host, cost.gpu=device, cost_unit=ms]")
    assert simulate(machine, right, make_policy("heft")).makespan_s > 0
    wrong = make_workload(f"{dot}[cost.cpu=host, cost.gup=device, cost_unit=ms]")
    with pytest.raises(ModelError) as caught:
        simulate(machine, wrong, make_policy("heft"))
    assert "found costs for cpu, gup; did you mean 'gpu' by 'gup'?" in str(caught.value)
