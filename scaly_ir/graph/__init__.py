"""The graph core that every dialect shares: hash-consed nodes and iterative walks over them."""

from scaly_ir.graph.node import Node, intern_node, live_nodes
from scaly_ir.graph.walk import postorder, preorder

__all__ = ["Node", "intern_node", "live_nodes", "postorder", "preorder"]
