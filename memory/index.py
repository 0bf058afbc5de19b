"""The vector index beside the facts: fast, and never needed. It can be thrown away and made again.

One collection for each workspace and embedder, so that another embedder fills its own and takes
over when it is complete. Only ids and vectors are kept here: who may see what is SQL's business.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from memory.vector import Vector

NEIGHBOURS, BUILD_WIDTH, SEARCH_WIDTH = 16, 100, 200
"""Of the graph that Chroma searches: links of a node, and candidates while building and searching."""
BATCH = 500


class IndexFailed(Exception):
    """The index cannot be used now; the message says why. Nothing is lost: SQL has everything."""


class Index:
    """Blocking; used from one thread. ``where`` is a folder, or the address of a Chroma server."""

    def __init__(self, where: str, embedder: str) -> None:
        """Raises ``IndexFailed`` when another process has the folder, or the library refuses it."""
        self._embedder = hashlib.sha256(embedder.encode()).hexdigest()[:10]
        self._lock: IO[str] | None = None
        self._collections: dict[str, Any] = {}
        if is_address(where):
            self._client = _remote(where)
        else:
            self._lock = locked(where)
            self._client = _persistent(where)

    def put(self, workspace: str, ids: Sequence[int], vectors: Vector) -> None:
        with _Explained():
            for start in range(0, len(ids), BATCH):
                some = [str(one) for one in ids[start : start + BATCH]]
                self._collection(workspace).upsert(ids=some, embeddings=vectors[start : start + BATCH])

    def drop(self, workspace: str, ids: Iterable[int]) -> None:
        wanted = [str(one) for one in ids]
        if wanted:
            with _Explained():
                self._collection(workspace).delete(ids=wanted)

    def nearest(self, workspace: str, vector: Vector, count: int) -> list[int]:
        """Ids, nearest first."""
        with _Explained():
            found = self._collection(workspace).query(query_embeddings=[vector], n_results=count, include=[])
            return [int(one) for one in found["ids"][0]]

    def ids(self, workspace: str) -> set[int]:
        with _Explained():
            return {int(one) for one in self._collection(workspace).get(include=[])["ids"]}

    def workspaces(self) -> set[str]:
        """Those that have a collection of this embedder."""
        with _Explained():
            names = [str(one.name) for one in self._client.list_collections()]
        return {name.split(".")[1] for name in names if name.endswith(f".{self._embedder}")}

    def drop_others(self) -> None:
        """Remove the collections of other embedders."""
        with _Explained():
            for one in self._client.list_collections():
                if one.name.startswith("facts.") and not one.name.endswith(f".{self._embedder}"):
                    self._client.delete_collection(one.name)

    def close(self) -> None:
        self._collections.clear()
        stop = getattr(self._client, "close", None)
        if stop is not None:
            stop()
        if self._lock is not None:
            self._lock.close()

    def _collection(self, workspace: str) -> Any:
        if workspace not in self._collections:
            graph = {
                "space": "cosine",
                "max_neighbors": NEIGHBOURS,
                "ef_construction": BUILD_WIDTH,
                "ef_search": SEARCH_WIDTH,
            }
            self._collections[workspace] = self._client.get_or_create_collection(
                f"facts.{workspace}.{self._embedder}", embedding_function=None, configuration={"hnsw": graph}
            )
        return self._collections[workspace]


class _Explained:
    """Whatever the library raises becomes one kind of error."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # Errors of the native part are not always of class Exception.
        if error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
            raise IndexFailed(f"{type(error).__name__}: {error}") from error


def is_address(where: str) -> bool:
    return where.startswith(("http://", "https://"))


def read_all(folder: str) -> None:
    """Open an index and search every collection: what is broken inside shows here."""
    client = _persistent(folder)
    for one in client.list_collections():
        collection = client.get_collection(one.name, embedding_function=None)
        some = collection.get(limit=1, include=["embeddings"])
        if len(some["ids"]):
            collection.query(query_embeddings=[some["embeddings"][0]], n_results=1, include=[])


def give_back() -> None:
    """Return to the system what building took: glibc keeps it otherwise, 30 MB and more."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def discard(folder: str) -> None:
    """Throw a broken index away; the next one starts empty."""
    path = Path(folder)
    for one in _inside(path):
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one, ignore_errors=True)
        else:
            one.unlink(missing_ok=True)


def _inside(folder: Path) -> Iterator[Path]:
    return (one for one in folder.iterdir() if one.name != "lock") if folder.is_dir() else iter(())


def locked(where: str) -> IO[str]:
    """Hold the folder of an index until the file is closed. Raises ``IndexFailed`` when another process has it."""
    folder = Path(where)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("a+")
    except OSError as error:
        raise IndexFailed(f"{folder} cannot be written ({error.strerror})") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise IndexFailed(f"another process has {folder} open") from error
    return lock


def _persistent(folder: str) -> Any:
    with _Explained():
        import chromadb  # noqa: PLC0415 - 60 MB and a second, off the way to the first answer

        return chromadb.PersistentClient(folder, settings=_settings())


def _remote(address: str) -> Any:
    with _Explained():
        import chromadb  # noqa: PLC0415
        from httpx2 import URL  # noqa: PLC0415

        url = URL(address)
        secure = url.scheme == "https"
        port = url.port or (443 if secure else 8000)
        return chromadb.HttpClient(host=url.host, port=port, ssl=secure, settings=_settings())


def _settings() -> Any:
    from chromadb.config import Settings  # noqa: PLC0415

    return Settings(anonymized_telemetry=False)
