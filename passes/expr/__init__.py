"""Passes that start from `expr`."""
