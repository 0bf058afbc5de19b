"""What is stored comes back as it was, and what an approval is bound to is every byte of the call."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import JsonValue, ValidationError

from memory import records
from memory.records import FORMAT, Record, canonical, digest, dump, load
from memory.types import Message, Text, ToolCall, Usage
from tests.doubles import call
from tests.memory.samples import EVERY_KIND, LOOK, said

json_values: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.text(), json_values, max_size=4)


def test_there_is_a_sample_of_every_kind():
    union = get_args(get_args(records.Record)[0])
    assert {type(record) for record in EVERY_KIND} == set(union)


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda record: record.kind)
def test_every_kind_survives_storage(record: Record):
    assert load(dump(record), FORMAT) == record
    assert dump(load(dump(record), FORMAT)) == dump(record)


@given(st.text(), arguments)
def test_any_words_and_arguments_survive_storage(text: str, values: dict[str, JsonValue]):
    for record in (said(text), EVERY_KIND[2].model_copy(update={"message": _saying(text, values)})):
        assert load(dump(record), FORMAT) == record


def _saying(text: str, values: dict[str, JsonValue]) -> Message:
    of = ToolCall(id="c", name="post", arguments=values, opaque=values)
    return Message(role="assistant", parts=(Text(text=text), of))


@pytest.mark.parametrize("version", [FORMAT + 1, FORMAT + 100])
def test_a_format_of_the_future_is_refused_with_its_number(version: int):
    with pytest.raises(ValueError, match=rf"format {version} is newer .* reads up to {FORMAT}"):
        load(dump(said()), version)


@pytest.mark.parametrize(
    "body",
    ["", "{", "null", "[]", '{"kind": "dreamt"}', '{"text": "no kind"}'],
)
def test_what_is_no_record_is_refused(body: str):
    with pytest.raises(ValueError, match=r"."):
        load(body, FORMAT)


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda record: record.kind)
def test_a_field_that_nobody_knows_is_refused(record: Record):
    body: dict[str, Any] = json.loads(dump(record))
    with pytest.raises(ValidationError, match="added"):
        load(json.dumps(body | {"added": 1}), FORMAT)


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda record: record.kind)
def test_a_record_cannot_be_changed(record: Record):
    with pytest.raises(ValidationError, match="frozen"):
        record.kind = "other"  # pyright: ignore[reportAttributeAccessIssue] - that it fails is the point


@given(json_values)
def test_equal_values_are_spelled_alike_and_the_spelling_says_them(value: JsonValue):
    assert json.loads(canonical(value)) == value
    assert canonical(_reversed(value)) == canonical(value)


def _reversed(value: JsonValue) -> JsonValue:
    """The same value, with its fields in another order."""
    match value:
        case dict():
            return {key: _reversed(value[key]) for key in reversed(list(value))}
        case list():
            return [_reversed(item) for item in value]
        case _:
            return value


def test_a_canonical_spelling_is_compact_and_readable():
    assert canonical({"b": [1, None], "a": "é好"}) == '{"a":"é好","b":[1,null]}'


@given(arguments, arguments)
def test_other_arguments_have_another_digest(ours: dict[str, JsonValue], theirs: dict[str, JsonValue]):
    assume(canonical(ours) != canonical(theirs))
    assert digest(ToolCall(id="c", name="post", arguments=ours)) != digest(
        ToolCall(id="c", name="post", arguments=theirs)
    )


@given(st.text(min_size=1), st.data())
def test_a_digest_changes_with_every_character(text: str, data: st.DataObject):
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda c: c != text[at]))
    changed = text[:at] + other + text[at + 1 :]
    assert digest(call("c", "post", text=text)) != digest(call("c", "post", text=changed))


def test_a_digest_is_bound_to_the_tool_and_not_to_the_call():
    assert digest(call("c1", "post", text="x")) != digest(call("c1", "pos", text="x"))
    assert digest(call("c1", "post", text="x")) == digest(call("c2", "post", text="x"))
    # The name cannot run over into the arguments.
    assert digest(ToolCall(id="c", name="a", arguments={})) != digest(ToolCall(id="c", name='a\0{"', arguments={}))


def test_a_message_tells_its_words_and_calls():
    message = Message(role="assistant", parts=(Text(text="a"), LOOK, Text(text=" "), Text(text="b")))
    assert (message.text, message.calls) == ("a\n\nb", (LOOK,))


def test_usage_adds_up():
    one = Usage(fresh=1, cache_read=2, cache_write=3, output=4, dollars=0.5)
    assert (one + one) == Usage(fresh=2, cache_read=4, cache_write=6, output=8, dollars=1.0)
    assert one.prompt == 6
