"""Passes over `prog` modules and the analyses they share."""
