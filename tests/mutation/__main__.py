"""``make mutation``: would the tests notice a fault? Prints a table, and each fault that none of them saw.

``make mutation MODULES="tools/policy.py memory/steps.py"`` tries only these.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.mutants import Mutant, mutants
from tests.mutation.trial import Verdict, prepare

ROOT = Path(__file__).parents[2]


def tests(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/{folder}/test_{name}.py" for name in names)


@dataclass(frozen=True, slots=True)
class Target:
    """A module, and the tests that speak of it: the quick ones first, for the first that fails ends a trial."""

    module: str
    tests: Sequence[str]


TARGETS = (
    Target("tools/policy.py", tests("bot", "policy_table")),
    Target("bot/approvals.py", tests("bot", "approvals", "authorize")),
    Target("memory/steps.py", tests("memory", "steps", "decisions", "state")),
    Target("memory/state.py", tests("memory", "steps", "decisions", "state")),
    Target("memory/compaction.py", tests("memory", "compaction", "clearing")),
    Target("memory/context.py", tests("memory", "context", "reading")),
)
"""The laws, which walk through all of it, are left out: they take long, and what they notice is hard to read."""


@dataclass(frozen=True, slots=True)
class Result:
    module: str
    tried: Sequence[tuple[Mutant, Verdict]]
    seconds: float

    @property
    def survivors(self) -> list[Mutant]:
        return [mutant for mutant, verdict in self.tried if verdict == "survived"]

    @property
    def row(self) -> str:
        killed = len(self.tried) - len(self.survivors)
        late = sum(verdict == "timed out" for _, verdict in self.tried)
        figures = (
            len(self.tried),
            f"{killed} ({late} by time)",
            f"{100 * killed // max(1, len(self.tried))} %",  # never rounded up to all of them
            f"{self.seconds:.0f} s",
        )
        return f"| `{self.module}` | {' | '.join(map(str, figures))} |"


def attempt(target: Target, folder: Path) -> Result:
    began = time.monotonic()
    bench = prepare(ROOT, folder, target.module, target.tests)
    tried = list[tuple[Mutant, Verdict]]()
    for mutant in mutants((ROOT / target.module).read_text(encoding="utf-8")):
        verdict = bench.run(mutant.source)
        tried.append((mutant, verdict))
        if verdict == "survived":
            print(f"{target.module} {mutant}", flush=True)
    return Result(target.module, tried, time.monotonic() - began)


def main() -> None:
    wanted = set(sys.argv[1:])
    if unknown := wanted - {target.module for target in TARGETS}:
        sys.exit(f"no tests are known for {', '.join(sorted(unknown))}; name them in {Path(__file__).name}")
    os.environ["HYPOTHESIS_PROFILE"] = "mutation"
    memory = Path("/dev/shm")
    rows = ["| Module | Mutants | Killed | Score | Time |", "|:--|--:|--:|--:|--:|"]
    with tempfile.TemporaryDirectory(prefix="mutation-", dir=memory if memory.is_dir() else None) as folder:
        for target in TARGETS:
            if not wanted or target.module in wanted:
                rows.append(attempt(target, Path(folder)).row)
    print("\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
