"""The `prog` dialect: procedures, buffers, loops, loads and stores; what lowering produces and C emission consumes."""
