"""Exact constant evaluation and interval bounds over the machine types, for folding and verifying in every dialect.

Knows no dialect. `evaluate.py` gives the value of a scalar operator on constants, `bounds.py` an interval that holds
every value of an expression; both read the one table in `table.py`. Nothing is imported here, so that loading one
module of the package costs no other.
"""
