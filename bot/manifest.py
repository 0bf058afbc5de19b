"""The app's manifest, as far as the program reads it: which scopes it asks for, and what each is for."""

from __future__ import annotations

import re
from importlib.resources import files


def manifest() -> str:
    """The text of ``manifest.yml``, which is installed with the program."""
    return files("bot").joinpath("manifest.yml").read_text("utf-8")


def scopes(text: str) -> dict[str, str]:
    """The bot's scopes in a manifest -> what its comments say each is for."""
    listed = re.search(r"^ +bot:\n((?: +- .*\n)+)", text, re.MULTILINE)
    found = re.finditer(r"- ([\w.:]+)(?: +# *(.*))?$", listed[1] if listed else "", re.MULTILINE)
    return {scope[1]: scope[2] or "" for scope in found}
