"""Write the C that CasADi generates for the functions of `codegen.py`: one file for each, in the folder given.

Run by `codegen.py` with the Python of an environment that holds CasADi. Its matrices are stored by columns, so they are
the transposes of those of `codegen.py`.
"""


# mypy: ignore-errors

import sys

from casadi import MX, Function, dot, mtimes, repmat, sin, sum1, vertcat


def functions():
    """Yield the functions by name."""
    n = 100_000
    x, y = MX.sym("x", n), MX.sym("y", n)
    yield Function("chain", [x, y], [(sin(x) + y) * y - 0.5 * x])
    yield Function("sum", [x], [sum1(x)])
    yield Function("dot", [x, y], [dot(x, y)])
    row, table = MX.sym("row", 1000), MX.sym("table", 1000, 100)
    yield Function("broadcast", [row, table], [repmat(sin(row), 1, 100) * table])
    for size in (64, 256):
        A, B, v = MX.sym("A", size, size), MX.sym("B", size, size), MX.sym("v", size)
        yield Function(f"matmul{size}", [A, B], [mtimes(B, A)])
        yield Function(f"matvec{size}", [A, v], [mtimes(A.T, v)])
    z, u = MX.sym("z", 4), MX.sym("u", 1)
    step = vertcat(z[2], z[3], sin(z[0]) * z[3] + u, z[2] * z[1] - u)
    stage = Function("stage", [z, u], [z + 0.1 * step])
    zs, us = MX.sym("zs", 4, 1000), MX.sym("us", 1, 1000)
    yield Function("stages", [zs, us], [stage.map(1000)(zs, us)])


for function in functions():
    function.generate(f"{function.name()}.c", {"casadi_int": "int"})
print(sys.version_info[:2])
