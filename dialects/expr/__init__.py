"""The `expr` dialect: what to compute, as graphs of tensor operations, and the Python frontend that builds them."""
