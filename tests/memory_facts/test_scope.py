"""Law 6: a fact is shown only where everybody who reads it could have read its source."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from memory.audience import Audience, Room, Scope, Source, may_see, scope_of
from memory.db import Database
from memory.facts import Facts
from memory.remember import Memory
from memory.types import ThreadKey
from tests.memory_facts.people import TEAM, BagOfWords, Still, claim

PEOPLE = ("U1", "U2", "U3", "U4", "G1", "X1")
"""Members, a guest and an outsider."""
KINDS = ("fact", "preference", "task", "person")
GRAPHS = settings(max_examples=10_000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 60)
"""So many memberships of people in channels are tried."""


@dataclass(frozen=True)
class Channel:
    id: str
    room: Room
    members: frozenset[str]

    @property
    def readers(self) -> frozenset[str]:
        """Who can read what is said here: a public channel is open to every member of the workspace."""
        everyone = frozenset(one for one in PEOPLE if one[0] == "U")
        return self.members | everyone if self.room == "public" else self.members


@st.composite
def channels(draw: st.DrawFn, name: str) -> Channel:
    members = frozenset(draw(st.sets(st.sampled_from(PEOPLE), min_size=1)))
    room: Room = draw(st.sampled_from(("public", "private", "direct", "closed")))
    if room == "direct":
        members = frozenset(sorted(members)[:1])
    if room == "public":
        members = frozenset(one for one in members if one[0] != "X") or frozenset({"U1"})
    if any(one[0] == "X" for one in members):
        room = "closed"
    return Channel(f"{name}{room}", room, members)


@dataclass(frozen=True)
class World:
    channels: tuple[Channel, ...]

    def audience(self, here: Channel, asker: str, thread: str) -> Audience:
        """As the chat adapter finds it: guests restrict a room, a direct room knows the asker's channels."""
        restricted = any(one[0] == "G" for one in here.members)
        mine = frozenset(one.id for one in self.channels if asker in one.members) if here.room == "direct" else None
        key = ThreadKey(f"{TEAM}:{here.id}:{thread}")
        return Audience(TEAM, here.id, key, here.room, asker, restricted, mine or frozenset())


@st.composite
def worlds(draw: st.DrawFn) -> World:
    return World(tuple(draw(channels(f"C{i}")) for i in range(draw(st.integers(2, 5)))))


@st.composite
def tellings(draw: st.DrawFn) -> tuple[World, Channel, Channel, str, str, Scope]:
    """Something said in one channel, and a question in another (or the same)."""
    world = draw(worlds())
    there, here = draw(st.sampled_from(world.channels)), draw(st.sampled_from(world.channels))
    author, asker = draw(st.sampled_from(sorted(there.members))), draw(st.sampled_from(sorted(here.members)))
    said_in = world.audience(there, author, draw(st.sampled_from("12")))
    derived = scope_of(said_in, author, draw(st.sampled_from(KINDS)))
    wild = st.builds(
        Scope,
        kind=st.sampled_from(("workspace", "channel", "thread", "user")),
        place=st.sampled_from(("", here.id, there.id, asker, author, f"{TEAM}:{here.id}:1")),
    )
    # Scopes that this program never gives are tried too: the law must not rest on how a fact was filed.
    scope = draw(wild if derived is None else st.one_of(st.just(derived), wild))
    return world, there, here, author, asker, scope


@GRAPHS
@given(tellings(), st.sampled_from("12"))
def test_nobody_reads_what_they_could_not_have_read(
    telling: tuple[World, Channel, Channel, str, str, Scope], thread: str
) -> None:
    world, there, here, _, asker, scope = telling
    source = Source(workspace=TEAM, channel=there.id, room=there.room)
    if may_see(scope, source, world.audience(here, asker, thread)):
        assert here.readers <= there.readers
        assert "closed" not in (here.room, there.room)


@given(tellings(), st.sampled_from("12"))
def test_what_is_somebodys_own_is_told_to_nobody_else(
    telling: tuple[World, Channel, Channel, str, str, Scope], thread: str
) -> None:
    world, there, here, author, asker, _ = telling
    source = Source(workspace=TEAM, channel=there.id, room=there.room)
    own = Scope(kind="user", place=author)
    assert not may_see(own, source, world.audience(here, asker, thread)) or author == asker


@given(tellings())
def test_another_workspace_sees_nothing(telling: tuple[World, Channel, Channel, str, str, Scope]) -> None:
    world, there, here, _, asker, scope = telling
    elsewhere = Source(workspace="T2", channel=there.id, room="public", shared=True)
    assert not may_see(scope, elsewhere, world.audience(here, asker, "1"))


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Facts]:
    folder: Path = tmp_path_factory.mktemp("scope")
    database = Database(f"sqlite:///{folder / 'scope.db'}")
    yield Facts(database)
    database.close()


@GRAPHS
@given(telling=tellings(), thread=st.sampled_from("12"), shared=st.booleans())
async def test_sql_and_the_rule_agree(
    facts: Facts, telling: tuple[World, Channel, Channel, str, str, Scope], thread: str, shared: bool
) -> None:
    """The filter before ranking shows exactly what the check after it lets pass."""
    world, there, here, _, asker, scope = telling
    source = Source(workspace=TEAM, channel=there.id, room=there.room, shared=shared)
    new = claim("a claim").model_copy(update={"scope": scope, "source": source})
    fact, _ = await facts.add(new, None, "", keep="asked")
    audience = world.audience(here, asker, thread)
    try:
        found = await facts.get(audience, [fact.id])
        assert bool(found) == may_see(scope, source, audience)
    finally:
        await facts.forget([fact])


@st.composite
def upheavals(draw: st.DrawFn) -> tuple[World, Channel, Channel, Channel]:
    """A world, a channel in it as it was, the same as it is now, and a place where somebody asks."""
    world = draw(worlds())
    open_ones = [one for one in world.channels if one.room != "closed"]
    assume(open_ones)
    there, here = draw(st.sampled_from(open_ones)), draw(st.sampled_from(open_ones))
    assume(there.room != "direct")
    members = frozenset(draw(st.sets(st.sampled_from(PEOPLE), min_size=1)))
    room: Room = "closed" if "X1" in members else draw(st.sampled_from(("public", "private", "closed")))
    now = Channel(there.id, room, members)
    later = World(tuple(now if one.id == there.id else one for one in world.channels))
    return later, there, now, now if here.id == there.id else here


def turned_private() -> tuple[World, Channel, Channel, Channel]:
    """Two public channels, of which the one where it was said has become private."""
    there, here = Channel("C0", "public", frozenset({"U1"})), Channel("C1", "public", frozenset({"U2"}))
    now = Channel("C0", "private", frozenset({"U1"}))
    return World((now, here)), there, now, here


@GRAPHS
@given(upheavals(), st.sampled_from(PEOPLE))
@example(turned_private(), "U2")
async def test_who_can_read_the_source_now_is_what_counts(
    facts: Facts, upheaval: tuple[World, Channel, Channel, Channel], asker: str
) -> None:
    """A channel turned private or public, people left or came. The scope is the widest, so the source decides."""
    world, there, now, here = upheaval
    assume(asker in here.members)
    fact, _ = await facts.add(claim("The tea is in rack 5.", channel=there.id, room=there.room), None, "", keep="asked")
    memory = Memory(facts, Still(facts, lambda _: BagOfWords(), "", embedder=BagOfWords()), str)
    memory.vectors.ready.set()

    async def now_there(said: Source) -> Source:
        return said.model_copy(update={"room": now.room})

    try:
        audience = world.audience(here, asker, "1")
        recalled = await memory.recall("where is the tea, in which rack?", audience, now_there=now_there)
        listed = await memory.listed(audience, limit=5, now_there=now_there)
        assert bool(recalled) == bool(listed)
        assert not listed or here.readers <= now.readers
        guests = any(one[0] == "G" for one in here.readers)
        assert listed or (there.room, now.room) != ("public", "public") or guests
    finally:
        await memory.forget([fact])


MATRIX = {
    # room of the reply: (public elsewhere, private elsewhere, private where the asker is, own direct, here)
    "public": (True, False, False, False, True),
    "private": (True, False, False, False, True),
    "direct": (True, False, True, False, True),
    "closed": (False, False, False, False, False),
}


@pytest.mark.parametrize("room", MATRIX)
async def test_the_table_of_rooms(facts: Facts, room: Room) -> None:
    mine = frozenset({"MINE", "D1"})  # another direct conversation of the asker's is no place of theirs to tell of
    audience = Audience(TEAM, "HERE", ThreadKey(f"{TEAM}:HERE:1"), room, "U1", channels=mine)
    if room != "direct":
        audience = Audience(TEAM, "HERE", ThreadKey(f"{TEAM}:HERE:1"), room, "U1")
    places = (("PUB", "public"), ("OTHER", "private"), ("MINE", "private"), ("D1", "direct"), ("HERE", "private"))
    scope, by_rule, by_sql = Scope(kind="workspace"), list[bool](), list[bool]()
    for channel, kind in places:
        source = Source(workspace=TEAM, channel=channel, room=kind)  # pyright: ignore[reportArgumentType] - a literal in a table
        by_rule.append(may_see(scope, source, audience))
        fact, _ = await facts.add(claim("a claim").model_copy(update={"source": source}), None, "", keep="asked")
        by_sql.append(bool(await facts.get(audience, [fact.id])))
        await facts.forget([fact])
    assert tuple(by_rule) == tuple(by_sql) == MATRIX[room]


async def test_a_shared_fact_is_known_everywhere_but_to_guests(facts: Facts) -> None:
    new = claim("told in private", channel="D1", room="direct", scope=Scope(kind="user", place="U1"))
    fact, _ = await facts.add(new, None, "", keep="asked")
    await facts.share(fact.id)
    elsewhere = Audience(TEAM, "C9", ThreadKey(f"{TEAM}:C9:1"), "public", "U2")
    assert [one.fact.id for one in await facts.get(elsewhere, [fact.id])] == [fact.id]
    with_guests = Audience(TEAM, "C9", ThreadKey(f"{TEAM}:C9:1"), "public", "U2", restricted=True)
    assert not await facts.get(with_guests, [fact.id])
    await facts.forget([fact])
