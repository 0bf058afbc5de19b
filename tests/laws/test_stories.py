"""Laws 1, 2 and 4, and what people see, over random stories.

Each request is legal and each thinking block stands where it was thought (checked by the provider double as
it is asked); requests of an epoch extend each other; no write runs without its yes; everything is shown once.
"""

from __future__ import annotations

from hypothesis import given

from tests.laws.stories import Story, stories, tell
from tests.laws.world import scratch


@given(stories)
async def test_the_laws_hold_in_every_story(story: Story):
    with scratch() as folder:
        await tell(story, folder)
