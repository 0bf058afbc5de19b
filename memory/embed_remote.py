"""Vectors made elsewhere: an OpenAI-compatible address, Voyage, or the model that Chroma brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx2
import numpy as np

from memory.embed import unit
from memory.vector import EmbedderError, Vector

BATCH = 64
VOYAGE = "https://api.voyageai.com/v1"


class Remote:
    """``url`` ends before ``/embeddings``. ``kinds`` are sent as input_type, where the provider knows it."""

    def __init__(self, url: str, key: str, model: str, *, kinds: bool = False, timeout: float = 20.0) -> None:
        self.name = f"{model}@{httpx2.URL(url).host}"
        self._url, self._model, self._kinds = f"{url.rstrip('/')}/embeddings", model, kinds
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.Client(headers=headers, timeout=timeout, follow_redirects=False)

    def passages(self, texts: Sequence[str]) -> Vector:
        return np.vstack([self._embed(texts[i : i + BATCH], "document") for i in range(0, len(texts), BATCH)])

    def query(self, text: str) -> Vector:
        return self._embed([text], "query")[0]

    def _embed(self, texts: Sequence[str], kind: str) -> Vector:
        body: dict[str, Any] = {"model": self._model, "input": list(texts)}
        if self._kinds:
            body["input_type"] = kind
        try:
            answer = self._client.post(self._url, json=body)
            answer.raise_for_status()
            items: list[dict[str, Any]] = answer.json()["data"]
            rows = [item["embedding"] for item in sorted(items, key=lambda item: int(item["index"]))]
            found = np.asarray(rows, dtype=np.float32)
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise EmbedderError(f"{self._url} made no vectors ({type(error).__name__}: {error})") from error
        if found.ndim != 2 or len(found) != len(texts):
            raise EmbedderError(f"{self._url} answered {len(found)} vectors for {len(texts)} texts")
        return unit(found)


class ChromaDefault:
    """all-MiniLM-L6-v2 through Chroma. It is downloaded at the first use, and knows English only."""

    name = "chroma-default"

    def __init__(self) -> None:
        from chromadb.utils.embedding_functions import DefaultEmbeddingFunction  # noqa: PLC0415 - slow to import

        self._function: Any = DefaultEmbeddingFunction()

    def passages(self, texts: Sequence[str]) -> Vector:
        try:
            return unit(np.asarray(self._function(list(texts)), dtype=np.float32))
        except Exception as error:
            raise EmbedderError(
                f"Chroma's own embedder cannot be used ({error}). Set BOBBIN_EMBEDDER=local."
            ) from error

    def query(self, text: str) -> Vector:
        return self.passages([text])[0]
