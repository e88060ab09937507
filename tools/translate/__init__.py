"""Translations: what scaly-translate makes of IR. One module for each target but C, which has its own package."""
