"""A table as lines of monospaced text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """Rows under each other, the first one underlined. East Asian wide characters and emoji count two columns.

    ``right`` says for each column whether it is flush right; missing cells are empty.
    """
    widths = [max(map(cell_len, column)) for column in zip_longest(*rows, fillvalue="")]
    lines = [_line(row, widths, right) for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    cells: list[str] = []
    for cell, width, flush_right in zip_longest(row, widths, right[: len(widths)], fillvalue=None):
        text = cell or ""
        blank = " " * ((width or 0) - cell_len(text))
        cells.append(blank + text if flush_right else text + blank)
    return "  ".join(cells).rstrip()
