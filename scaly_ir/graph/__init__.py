"""The graph core that every dialect shares: hash-consed nodes, walks over them, patterns, and rewriting.

Nodes and walks are exported here; `pattern`, `vocabulary`, `matcher` and `rewrite` are imported by what rewrites.
"""

from scaly_ir.graph.node import Node, intern_node, live_nodes
from scaly_ir.graph.walk import Calls, NodeSet, postorder, preorder, toposort

__all__ = ["Calls", "Node", "NodeSet", "intern_node", "live_nodes", "postorder", "preorder", "toposort"]
