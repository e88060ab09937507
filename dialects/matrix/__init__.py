"""The `matrix` dialect: whole-array operations that read buffers and return fresh ones."""
