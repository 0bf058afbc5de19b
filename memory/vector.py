"""What a vector is, who makes one, and how it is stored. Loads no numpy, which most starts do not need."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vector: TypeAlias = "NDArray[np.float32]"
"""One row a text, each of length 1."""
Result = TypeVar("Result")


class EmbedderError(Exception):
    """No vectors can be made; the message says what to do."""


class Embedder(Protocol):
    """``name`` changes whenever the vectors do. Calls block; they are made from one thread."""

    name: str

    def passages(self, texts: Sequence[str]) -> Vector: ...
    def query(self, text: str) -> Vector: ...


def packed(vector: Vector) -> bytes:
    """As it is stored: half precision, little-endian."""
    return vector.astype("<f2").tobytes()


def unpacked(stored: Sequence[bytes]) -> Vector:
    import numpy as np  # noqa: PLC0415 - 16 MB and 0.2 s that a start does not need

    return np.stack([np.frombuffer(one, dtype="<f2") for one in stored]).astype(np.float32)


class Worker:
    """One thread in which an embedder, or the vector index, does all its work."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    async def run(self, work: Callable[..., Result], *arguments: Any) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
