"""That the faults are there, one at a time, and that a trial tells a test which notices from one which does not."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.mutants import mutants

SOURCE = '''
"""A module."""
from __future__ import annotations

LIMIT: int = 3


class Box:
    """A box."""

    @property
    def full(self) -> "bool":
        """Whether it is."""
        return self.size >= LIMIT and not self.open


def pick(box: Box | None, kind: Literal["a"]) -> dict[str, "Box"]:
    match kind:
        case "a" | "b" if box:
            box.count += 1
        case _:
            pass
    return min(x for x in box if x)
'''
EXPECTED = {
    "3 -> 4",
    "return self.size >= LIMIT and (not self.open) -> pass",
    "self.size >= LIMIT and (not self.open) -> self.size >= LIMIT or not self.open",
    "self.size >= LIMIT and (not self.open) -> self.size >= LIMIT",
    "self.size >= LIMIT and (not self.open) -> not self.open",
    "self.size >= LIMIT -> self.size > LIMIT",
    "self.size >= LIMIT -> self.size < LIMIT",
    "not self.open -> self.open",
    "case 'a' | 'b' if box: -> case 'a' | 'b' if False:",
    "case 'a' | 'b' if box: -> case 'a' | 'b':",
    "'a' | 'b' -> 'b'",
    "'a' | 'b' -> 'a'",
    "'a' -> 'ax'",
    "'b' -> 'bx'",
    "box.count += 1 -> pass",
    "box.count += 1 -> box.count -= 1",
    "1 -> 2",
    "return min((x for x in box if x)) -> pass",
    "min((x for x in box if x)) -> max((x for x in box if x))",
    "for x in box if x -> for x in box",
}


def test_every_small_fault_is_made_and_nothing_is_touched_that_no_test_could_see() -> None:
    assert {f"{one.was} -> {one.now}" for one in mutants(SOURCE)} == EXPECTED


def test_each_mutant_is_another_program_that_compiles() -> None:
    sources = [one.source for one in mutants(SOURCE)]
    assert len({*sources, ast.unparse(ast.parse(SOURCE))}) == len(sources) + 1
    for source in sources:
        compile(source, "mutant", "exec")


def test_the_faults_of_one_function_can_be_had_alone() -> None:
    assert {one.scope for one in mutants(SOURCE)} == {"", "Box.full", "pick"}
    assert {one.scope for one in mutants(SOURCE, within={"full"})} == {"Box.full"}
    assert str(mutants(SOURCE, within={"full"})[-1]) == "line 14 in Box.full: not self.open  ->  self.open"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A module whose test knows that 2 is small, and nothing else."""
    files = {
        "root/tools/__init__.py": "",
        "root/tools/sizes.py": "def small(number: int) -> bool:\n    return number < 3\n",
        "root/pyproject.toml": "[tool.pytest.ini_options]\n",
        "root/test_sizes.py": "from tools.sizes import small\n\ndef test_it():\n    assert small(2)\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "root"


TRY_ALL = """
import sys
from pathlib import Path
from tests.mutation.mutants import mutants
from tests.mutation.trial import prepare

root, scratch = map(Path, sys.argv[1:])
bench = prepare(root, scratch, "tools/sizes.py", ["test_sizes.py"])
for one in mutants((root / "tools/sizes.py").read_text()):
    print(f"{one.was} -> {one.now}:", bench.run(one.source))
print("endless:", bench.run("def small(number):\\n    while True: pass\\n"))
"""


def tried(project: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own, since it divides itself, which one with threads should not."""
    command = [sys.executable, "-c", TRY_ALL, str(project), str(project.parent / "scratch")]
    return subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)


def test_a_trial_tells_what_is_noticed_from_what_is_not(project: Path) -> None:
    source = (project / "tools/sizes.py").read_text()
    assert tried(project).stdout.splitlines() == [
        "return number < 3 -> pass: killed",
        "number < 3 -> number <= 3: survived",
        "number < 3 -> number >= 3: killed",
        "3 -> 4: survived",
        "endless: timed out",
    ]
    assert (project / "tools/sizes.py").read_text() == source, "the tree itself is never touched"


@pytest.mark.parametrize("test", ["def test_it(): assert False", "def test_it(): pass"])
def test_tests_that_fail_anyway_or_do_not_reach_the_module_measure_nothing(project: Path, test: str) -> None:
    (project / "test_sizes.py").write_text(test)
    ended = tried(project)
    assert (ended.stdout, ended.returncode) == ("", 1)
    assert "UnmeasurableError" in ended.stderr
