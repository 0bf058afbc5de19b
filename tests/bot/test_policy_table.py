"""The whole table of the policy: effect x what an administrator set x place x taint."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.base import Effect
from tools.policy import Decision, Policy, decide

SETTINGS = {
    "nothing": Policy(),
    "free": Policy(free=frozenset({"act"})),
    "free here": Policy(free=frozenset({"act@C1"})),
    "free elsewhere": Policy(free=frozenset({"act@C2"})),
    "another tool is free": Policy(free=frozenset({"action", "ac", "act@"})),
    "forbidden": Policy(forbidden=frozenset({"act"})),
    "forbidden and free": Policy(free=frozenset({"act"}), forbidden=frozenset({"act"})),
    "another tool is forbidden": Policy(forbidden=frozenset({"action", "ac"})),
}
FREE_HERE = {"free", "free here"}
FORBIDDEN = {"forbidden", "forbidden and free"}


@pytest.mark.parametrize(("setting", "effect", "tainted"), list(product(SETTINGS, Effect, (False, True))))
def test_the_table(setting: str, effect: Effect, tainted: bool) -> None:
    decision = decide(SETTINGS[setting], "act", effect, place="C1", tainted=tainted)
    if setting in FORBIDDEN:
        assert decision is Decision.REFUSE
    elif (
        effect is Effect.READ
        or (effect is Effect.NOTE and not tainted)
        or (effect is Effect.WRITE and setting in FREE_HERE and not tainted)
    ):
        assert decision is Decision.RUN
    else:
        assert decision is Decision.ASK


names = st.sampled_from(["act", "act@C1", "act@C2", "other", "other@C1"])


@given(st.frozensets(names), st.frozensets(names), st.sampled_from(["C1", "C2"]))
def test_taint_and_prohibitions_only_ever_make_it_stricter(
    free: frozenset[str], forbidden: frozenset[str], place: str
) -> None:
    strictness = [Decision.RUN, Decision.ASK, Decision.REFUSE].index
    for effect in Effect:
        loose, strict = Policy(free), Policy(free, forbidden)
        clean = strictness(decide(loose, "act", effect, place=place, tainted=False))
        assert clean <= strictness(decide(loose, "act", effect, place=place, tainted=True))
        assert clean <= strictness(decide(strict, "act", effect, place=place, tainted=False))
    assert decide(Policy(free), "act", Effect.DESTROY, place=place, tainted=False) is Decision.ASK
