"""The command-line tools: each a function ``main(argv, stdin, stdout, stderr)`` that returns the exit code.

Tools turn IR into something for the world outside and diagnostics into text; nothing else in the project prints.
"""
