"""The reader of GraphML that NetworkX has, with what it leaves out."""

from __future__ import annotations

from typing import Any

import networkx as nx

from simsched.files.errors import GraphError


class GraphMLReader(nx.GraphMLReader):
    """The reader of NetworkX, which lets a node that is given twice overwrite the first one.

    It also leaves the defaults of keys to whoever uses the graph; here they are attributes like
    those that are written out, as http://graphml.graphdrawing.org/specification.html has it. What
    is no node of the file, only an end of edges, gets none. An empty default is the empty text, or
    none of a key for numbers and truth values: there is no empty number, and 0 would be a guess.
    """

    def find_graphml_keys(self, graph_element: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return keys and defaults, and keep the latter by what they are for."""
        for key in graph_element.findall(f"{{{self.NS_GRAPHML}}}key"):
            default = key.find(f"{{{self.NS_GRAPHML}}}default")
            if default is None or (default.text or "").strip():
                continue
            if key.get("attr.type", "string") == "string" or key.get("yfiles.type") is not None:
                default.text = default.text or ""  # would be read as the text "None"
            else:
                key.remove(default)
        inherited: Any = super()
        keys, defaults = inherited.find_graphml_keys(graph_element)
        self.defaults = {
            what: {
                keys[key]["name"]: value
                for key, value in defaults.items()
                if keys[key]["for"] in (what, "all", None)
            }
            for what in ("graph", "node", "edge")
        }
        return keys, defaults

    def decode_data_elements(self, graphml_keys: Any, obj_xml: Any) -> dict[str, Any]:
        """Return the attributes of a graph, node or edge."""
        inherited: Any = super()
        what = obj_xml.tag.rpartition("}")[2]
        return {**self.defaults[what], **inherited.decode_data_elements(graphml_keys, obj_xml)}

    def add_node(self, G: Any, node_xml: Any, *rest: Any) -> None:  # noqa: N803 (as inherited)
        """Add a node; refuse one that is there already."""
        name = node_xml.get("id")
        if G.has_node(self.node_type(name)):
            raise GraphError(f"node {name!r}: found twice, accepted: an id for each node")
        super().add_node(G, node_xml, *rest)
