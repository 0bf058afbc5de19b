"""What the model answered -> the messages that say it, each in every form that Slack might take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bot.slack.code import plain_spaces_in_code
from bot.slack.links import safe_links
from bot.slack.markdown import to_mrkdwn
from bot.slack.mentions import harmless_names, neutralise
from bot.slack.split import Limit, split

# Slack takes about 12,000 characters of block text in a message, and 12,000 of markdown_text.
_MARKDOWN = Limit(characters=11_500)
# chat.update takes 4,000 bytes of text; chat.postMessage is known to refuse more at times.
_TEXT = Limit(bytes=3_900)


@dataclass(frozen=True, slots=True)
class Body:
    """One message. Try ``blocks`` with ``text``, then ``markdown_text`` alone, then each of ``texts`` as its own
    message, then ``markdown_text`` as a file.

    ``markdown_text`` holds at most 11,500 characters, each of ``texts`` (mrkdwn, escaped) at most 3,900 bytes.
    """

    blocks: tuple[Mapping[str, object], ...]
    markdown_text: str
    texts: tuple[str, ...]

    @property
    def text(self) -> str:
        """What notifications and search show beside the blocks: the beginning, as mrkdwn."""
        return self.texts[0]


def answer_messages(
    markdown: str, allowed_users: frozenset[str], named_hosts: frozenset[str] | None = None
) -> list[Body]:
    """The messages of an answer, in order; none if it has nothing to read.

    ``named_hosts`` is given when the turn has read what strangers wrote: links to any other host become text.
    """
    text = plain_spaces_in_code(markdown)
    if named_hosts is not None:
        text = safe_links(text, named_hosts)
    return [_body(part) for part in split(neutralise(text, allowed_users), _MARKDOWN)]


def _body(markdown: str) -> Body:
    # Tables stay in the markdown block, which draws them; a table block takes only one and 100 rows.
    texts = split(harmless_names(to_mrkdwn(markdown)), _TEXT)
    return Body(
        blocks=({"type": "markdown", "text": markdown},),
        markdown_text=markdown,
        texts=tuple(texts) or ("(nothing that can be shown as text)",),
    )
