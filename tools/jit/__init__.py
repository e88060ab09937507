"""Compiled code in the running process: from a `prog` module to a library and a call (lowering specification 5.8).

`toolchain` knows compilers, `cache` where libraries are kept, `program` how a module becomes one and how it is called,
`functions` what that means for functions of `expr`; `sanitized` runs a module under the compiler's checks, `signals`
says what ended a process.
"""
