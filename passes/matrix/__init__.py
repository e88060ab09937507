"""Passes on functions of matrices, loops and buffers: lowering to programs, folding, merging and dropping."""
