"""Lowering from `expr` to `prog`: one module for each family of operations, and what drives them.

Every operation has a rule, registered on its operator as ``prog.FLowerOp``: a function of the procedure that is being
written (`procedure.Procedure`) and the operation. Source: lowering specification 1.
"""
