"""No secret leaves, whatever it stands in."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.secrets import Mask

_JWT = ".".join(
    base64.urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"HS256"}', b'{"sub":"1"}', b"s" * 32)
)
_PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAcanary\nmorecanary==\n-----END RSA PRIVATE KEY-----"
BY_SHAPE = [
    *(f"xox{kind}-123456789012-canary{kind}ABCDEF" for kind in "abeoprs"),
    "xapp-1-A0123456789-canary-abcdef",
    "sk-ant-api03-canaryABCDEFGHIJ_-klmnop",
    "sk-canaryABCDEFGHIJKLMNOPQRST",
    "sk-proj-canaryABCDEFGHIJKLMNO-PQRST",
    *(f"gh{kind}_canary0123456789ABCDEFGHIJKLMNOPQR" for kind in "pousr"),
    "github_pat_canary0123456789ABCDEFGHIJKLMNOPQR",
    "AKIACANARY0123456789",
    _JWT,
    _PEM,
    _PEM.removesuffix("\n-----END RSA PRIVATE KEY-----"),
    _PEM.replace("RSA ", ""),
    _PEM.replace("RSA ", "EC "),
    _PEM.replace("RSA ", "OPENSSH "),
]
BY_VALUE = ["correct horse battery", "hunter22hunter22", "p@ss.w0rd+*?[](canary)", "密码密码密码密码", "00000000"]
ADDRESS = "bobbin:canary-pass"
CANARIES = [*BY_SHAPE, *BY_VALUE, ADDRESS]
MASK = Mask(tuple(BY_VALUE))


def test_there_are_thirty_of_them() -> None:
    assert len(set(CANARIES)) >= 30


@pytest.mark.parametrize("secret", [*BY_SHAPE, *BY_VALUE])
def test_a_secret_is_masked_wherever_it_stands(secret: str) -> None:
    for text in (secret, f"key={secret}", f'{{"token": "{secret}"}}', f"`{secret}`", f"a {secret}, b", f"{secret}\n"):
        masked = MASK.text(text)
        assert secret not in masked
        assert "canary" not in masked.lower().replace(secret[:4].lower(), "")
        assert f"{secret[:4]}•••" in masked


def test_user_and_password_of_an_address() -> None:
    masked = MASK.text(f"connect to postgresql+psycopg://{ADDRESS}@db.example.org:5432/bobbin failed")
    assert "canary-pass" not in masked
    assert "db.example.org:5432/bobbin failed" in masked


@pytest.mark.parametrize(
    "text",
    ["the risk-averse plan", "skip", "xoxb", "task-1", "https://example.org/a:b@c", "AKIA", "ghost_town", "12:30@noon"],
)
def test_harmless_words_stay(text: str) -> None:
    assert MASK.text(text) == text


Tree = st.recursive(
    st.sampled_from(BY_VALUE + BY_SHAPE) | st.text() | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(Tree)
def test_nothing_is_left_anywhere_in_a_value(value: Any) -> None:
    masked = json.dumps(MASK.any(value), ensure_ascii=False)
    for secret in BY_VALUE:
        assert secret not in masked
    for secret in BY_SHAPE:
        assert json.dumps(secret)[1:-1] not in masked


@given(Tree)
def test_masking_twice_is_masking_once(value: Any) -> None:
    assert MASK.any(MASK.any(value)) == MASK.any(value)


@given(st.text(st.characters(exclude_characters="•")))
def test_without_secrets_nothing_changes(text: str) -> None:
    if "-" not in text and "_" not in text and "://" not in text and "AKIA" not in text and "eyJ" not in text:
        assert Mask().text(text) == text
