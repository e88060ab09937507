"""Where values are used, on statement lists of any shape. Which values are the same is tested with `cse`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.passes.prog.value_numbers import StatementList


@given(st.lists(st.booleans(), max_size=200))
def test_the_innermost_list_around_two_positions(steps: list[bool]) -> None:
    """Each step is a statement: a loop, or the last one in its list. What comes out is compared with a search."""
    around = [StatementList(None)]
    found = list(around)
    homes = []
    for position, opens in enumerate(steps):
        homes.append(around[-1])
        around[-1].positions.append(position)
        if opens:
            around.append(StatementList(around[-1]))
            found.append(around[-1])
        elif len(around) > 1:
            around.pop().end = position + 1
    for each in around:
        each.end = len(steps)
    for first, home in enumerate(homes):
        for last in range(first, len(steps), 7):
            expected = home
            while last >= expected.end:
                expected = expected.parent
            assert home.enclosing(last) is expected


def test_the_way_out_of_a_deep_nest_is_short() -> None:
    nest = [StatementList(None)]
    for _ in range(10_000):
        nest.append(StatementList(nest[-1]))
    asked = 0

    class Counted(int):
        def __le__(self, other: int) -> bool:
            nonlocal asked
            asked += 1
            return int(self) <= other

    for depth, each in enumerate(nest):
        each.end = Counted(len(nest) - depth)
    for depth in range(len(nest)):
        asked = 0
        assert nest[-1].enclosing(len(nest) - depth - 1) is nest[depth]
        assert asked < 120
