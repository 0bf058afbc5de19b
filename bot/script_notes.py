"""The scripted model's part in remembering: keep, correct, forget, look up, and tell what the notes say. Pure."""

from __future__ import annotations

import re

from bot.script_talk import Play, Talk, Wish, signed, why
from bot.script_words import say

KEEP = re.compile(r"\bremember(?: that|:)\s*(?P<en>.+)|记住[\s：:，,]*(?P<zh>.+)", re.IGNORECASE | re.DOTALL)
FORGET = re.compile(
    r"\bforget (?:that|about|what .*? about)?\s*(?P<en>.+)|忘(?:记|掉)\s*(?P<zh>.+)", re.IGNORECASE | re.DOTALL
)
CORRECT = re.compile(
    r"that(?:'s|’s| is)\s+(?:wrong|not right|not true)[\s,;:.!-]+(?:it(?:'s|’s| is)|actually,?)\s+(?P<en>.+)"
    r"|(?:不对|错了)[\s，,。]*(?:应该)?(?:是)?(?P<zh>.+)",
    re.IGNORECASE | re.DOTALL,
)
WONDER = re.compile(
    r"(?:which|who|whose|when|where)\b.*\?|what (?:is|are|was|were)\b.*\?|.*(?:谁|哪|什么时候|是多少|是什么).*[？?]",
    re.IGNORECASE | re.DOTALL,
)


def noting(talk: Talk) -> Play:
    """Have something remembered or forgotten, and say what became of it."""
    for tool, asked, argument in (("remember", KEEP, "text"), ("forget", FORGET, "query")):
        if (found := asked.search(talk.words)) is None:
            continue
        result = talk.result(tool)
        if result is None:
            wanted = (found["en"] or found["zh"]).strip()[:600]
            return Play(say(f"{tool}s", talk.chinese), ((tool, {argument: wanted}),))
        return Play(text=signed(talk, why(result) if result.is_error else say(f"{tool}ed", talk.chinese)))
    return Play(text=signed(talk, say("nothing_before", talk.chinese)))


def correcting(talk: Talk) -> Play:
    """Put what is right into the place of the note that was told last."""
    found = CORRECT.search(talk.words)
    assert found is not None, "the part is chosen by these words"
    assert talk.noted is not None, "and by this note"
    result, right = talk.result("remember"), (found["en"] or found["zh"]).strip()
    if result is None:
        number, old = talk.noted
        wish: Wish = ("remember", {"text": corrected(old, right)[:600], "corrects": int(number)})
        return Play(say("corrects", talk.chinese), (wish,))
    told = why(result) if result.is_error else say("corrected", talk.chinese, text=talk.noted[1])
    return Play(text=signed(talk, told))


def corrected(old: str, right: str) -> str:
    """The old claim with what follows its last "is" replaced, or the correction itself if it stands alone."""
    if len(right.split()) > 4 or len(right) > 24:
        return right
    before, verb, _ = old.rpartition(" is ") if " is " in old else old.rpartition("是")
    return f"{before}{verb}{right}" if verb else right


def looking_up(talk: Talk) -> Play:
    """Look into the notes for a question that names no place to read; they say nothing rather than guess."""
    if talk.result("recall") is None:
        return Play(say("looks_up", talk.chinese), (("recall", {"query": talk.words[:1_000]}),))
    return from_notes(talk)


def from_notes(talk: Talk) -> Play:
    """Tell what the notes say that came with the question."""
    result = talk.result("recall")
    lines = [line for line in (result.text if result else "").splitlines() if line.startswith("- ")]
    if not lines:
        return Play(text=signed(talk, say("unknown", talk.chinese)))
    listed = "\n".join(f"- {_note_told(line)}" for line in lines[:3])
    return Play(text=signed(talk, say("notes", talk.chinese, listed=listed)))


def _note_told(line: str) -> str:
    """A note with its day, who said it, and where."""
    found = re.fullmatch(r"- note \d+ · ([\d-]+) · (.*?) \([UW]\w+\)[^:]*: (.*?)(?: <(https?://\S+)>)?", line)
    if found is None:
        return line.split(": ", 1)[-1]
    when = f"[{found[1]}]({found[4]})" if found[4] else found[1]
    return f"**{found[3]}** ({found[2]}, {when})"
