"""Names in nested scopes."""

from __future__ import annotations

from scaly_ir.scopes import Scopes


def test_a_scope_hides_what_stood_outside_until_it_ends() -> None:
    scopes: Scopes[int] = Scopes()
    assert not scopes.is_open
    scopes.enter()
    scopes.define("x", 1)
    scopes.enter()
    scopes.define("x", 2)
    scopes.define("x", 3)
    scopes.define("y", 4)
    assert scopes.names == {"x": 3, "y": 4}
    scopes.leave()
    assert scopes.names == {"x": 1}
    scopes.leave()
    assert scopes.names == {}
    assert not scopes.is_open


def test_names_may_be_those_of_somebody_else() -> None:
    names = {"z": 0}
    scopes = Scopes(names)
    scopes.enter()
    scopes.define("z", 1)
    assert names == {"z": 1}
    scopes.leave()
    assert names == {"z": 0}
