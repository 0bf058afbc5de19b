"""Where texts of a language lie in e5's space: the mean of neutral sentences, kept in memory/centres.npy.

Run as ``python -m bench.centres`` after a change of the model or the sentences; a test compares.
Shape (2, 2, 384), float16: English or Chinese, passage or query.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bench.neutral import CHINESE, ENGLISH
from memory.embed import Pair
from memory.vector import Vector

PLACE = Path(__file__).parent.parent / "memory" / "centres.npy"


def centres(pair: Pair) -> Vector:
    return np.stack(
        [
            np.stack([np.mean(pair.uncentred(texts, query=query), axis=0) for query in (False, True)])
            for texts in (ENGLISH, CHINESE)
        ]
    )


def main() -> None:
    if not PLACE.exists():
        np.save(PLACE, np.zeros((2, 2, 384), dtype=np.float16))
    np.save(PLACE, centres(Pair()).astype(np.float16))


if __name__ == "__main__":
    main()
