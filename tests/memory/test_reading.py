"""What is read word for word where people step in, where an answer stands, and what becomes of old thinking."""

from __future__ import annotations

from memory.context import Assembly, Context, assemble, assembly, unbind
from memory.records import Framed, MessageDeleted, Record, Stopped, Unbound
from memory.types import Message, MessageId, Text
from tests.doubles import BEN, says
from tests.memory.samples import POST, compacted, ended, numbered, said, thinks


def read(*records: Record) -> Context:
    return assemble(numbered(records))


def words(*records: Record) -> list[str]:
    """The texts of the newest message."""
    return [part.text for part in read(*records).messages[-1].parts if isinstance(part, Text)]


def test_nothing_is_read_of_nothing() -> None:
    assert Assembly().context == Context((), stale_thinking=False, anchors=())
    assert Context(()).stale_thinking is False


def test_who_ended_a_run_is_told() -> None:
    told = [words(Stopped(reason="cancelled", by=by))[0] for by in (BEN, None)]
    assert told == [f"[Bobbin: {who} ended this run here. Go on with it only if asked.]" for who in ("Ben", "Bobbin")]
    assert words(Stopped(reason="limit")) == told[1:]


def test_a_deletion_is_told_in_full() -> None:
    told = "[Bobbin: message m1 was deleted by its author. Leave it aside.]"
    assert words(MessageDeleted(source=MessageId("m1"))) == [told]


def test_a_continuation_stands_with_the_answer_that_it_goes_on_with() -> None:
    pause = says("y").model_copy(update={"stop": "pause"})
    messages = read(said("a"), says("x"), said("b"), pause, says("z")).messages
    assert messages[1] == Message(role="assistant", parts=(Text(text="x"),))
    assert messages[3:] == (Message(role="assistant", parts=(Text(text="y"), Text(text="z"))),)


def test_words_behind_a_result_do_not_end_a_loop() -> None:
    loop = (said(), says("", POST), ended(POST))
    assert assembly(numbered([*loop, said("and this")])).mid_loop
    assert not assembly(numbered([*loop, says("done"), said("and this")])).mid_loop


def test_what_stands_for_the_past_is_a_good_place_to_remember() -> None:
    log = (said("a"), says("x"), said("b"), says("y"), said("c"), says("z"), said("d"))
    assert read(*log, compacted(8)).anchors == (0,)
    assert read(*log, compacted(4)).anchors == (2, 4)
    assert read(*log[:5], compacted(4)).anchors == (0, 2)


def test_what_is_stale_stays_stale_in_a_loop() -> None:
    begun = (said("a"), Unbound(how="drop"), says("", POST), ended(POST))
    assert [read(*begun, *more).stale_thinking for more in ((), (Framed(digest="f"),))] == [True, True]


def test_thinking_that_was_refused_is_dropped_and_left_out_if_that_was_in_vain() -> None:
    loop = (said("a"), thinks("s1", "", POST), ended(POST), says("x"), said("b"))
    assert unbind(read(said("a"), says("x"), said("b"))) is None
    assert unbind(read(*loop)) == Unbound(how="drop")
    assert unbind(read(*loop, Unbound(how="drop"))) == Unbound(how="strip")
    assert unbind(read(*loop, Unbound(how="drop"), Unbound(how="strip"))) is None
