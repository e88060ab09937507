"""What scaly-opt shows of a run beside its result: one module for each way of looking.

Everything here is a `Watcher`, which the driver tells what it does; nothing here changes what comes out.
"""
