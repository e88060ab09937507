"""The text machinery: sources and positions, diagnostics, spellings, the token list and the Lark-driven parser.

Dialects contribute their grammar and the code that builds nodes; this package knows none of them.
"""
