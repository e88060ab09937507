"""The passes that take functions of matrices, loops and buffers down to programs."""
