"""The dialects of scaly-ir: one package each, with its operators, types, builders, rules, text and NumPy semantics.

Dialects are made of what `scaly_ir` provides and import nothing from passes or tools.
"""
