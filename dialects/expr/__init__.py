"""The `expr` dialect: what to compute, as graphs of tensor operations, and the Python frontend that builds them."""

from scaly_ir.dialects.expr import node as node  # first of all: nodes of tensor type are `Expr` from the beginning
