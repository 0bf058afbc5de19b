"""Small faults, one at a time: every version of a module in which a single thing is wrong. Pure.

What is never touched, since no test could see it: annotations, decorators, docstrings, unions of types at the top.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast


@dataclass(frozen=True, slots=True)
class Mutant:
    """``scope`` is the function or class in which the fault lies, ``source`` the whole module with it."""

    line: int
    scope: str
    was: str
    now: str
    source: str

    def __str__(self) -> str:
        where = f" in {self.scope}" if self.scope else ""
        return f"line {self.line}{where}: {self.was}  ->  {self.now}"


@dataclass(frozen=True, slots=True)
class Site:
    """A node of the tree, where it hangs, and how to hang another one there."""

    node: ast.AST
    scope: str
    line: int
    put: Callable[[ast.AST], None]


def mutants(source: str, within: Collection[str] = ()) -> list[Mutant]:
    """All mutants of a module, or of the functions that are named. No two of them say the same."""
    tree = ast.parse(source)
    told = {ast.unparse(tree)}
    found = list[Mutant]()
    for site in _sites(tree, Site(tree, "", 0, lambda _: None)):
        if within and site.scope.rpartition(".")[2] not in within:
            continue
        for changed in _changes(site):
            site.put(changed)
            text = ast.unparse(tree)
            site.put(site.node)
            if text not in told:
                told.add(text)
                found.append(Mutant(site.line, site.scope, _short(site.node), _short(changed), text))
    return found


def _short(node: ast.AST) -> str:
    """The first line of a statement says enough."""
    return ast.unparse(node).strip().partition("\n")[0]


# -- where -----------------------------------------------------------------------------------------

UNSEEN = {"annotation", "returns", "decorator_list", "bases", "type_comment"}
GENERIC = {"dict", "list", "set", "tuple", "frozenset", "deque"}


def _sites(node: ast.AST, at: Site) -> Iterator[Site]:
    """The nodes below a node in which a fault can be seen, in the order of the text."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        at = replace(at, scope=f"{at.scope}.{node.name}".lstrip("."))
    for name, value in ast.iter_fields(node):
        if name in UNSEEN or (isinstance(node, ast.Subscript) and name == "slice" and _names_type(node.value)):
            continue
        many = isinstance(value, list)
        for index, child in enumerate(cast("list[object]", value) if many else [value]):
            if isinstance(child, ast.AST) and not _says_nothing(child) and not _idle(node, index, child):
                put = _hook(node, name, index if many else None)
                site = Site(child, at.scope, getattr(child, "lineno", at.line), put)
                yield site
                yield from _sites(child, site)


def _hook(parent: ast.AST, name: str, index: int | None) -> Callable[[ast.AST], None]:
    if index is None:
        return lambda node: setattr(parent, name, node)
    return lambda node: getattr(parent, name).__setitem__(index, node)


def _names_type(node: ast.expr) -> bool:
    """Whether a name is that of a type, by how it is written."""
    match node:
        case ast.Name(id=name):
            return name[0].isupper() or name in GENERIC
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _names_type(left) and _names_type(right)
        case _:
            return False


def _says_nothing(node: ast.AST) -> bool:
    """Docstrings and imports."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            return True
        case _:
            return False


def _idle(parent: ast.AST, index: int, child: ast.AST) -> bool:
    """Whether a case does nothing and no case behind it does more: without it all would be the same."""
    return (
        isinstance(parent, ast.Match)
        and isinstance(child, ast.match_case)
        and all(isinstance(case.body[0], ast.Pass) for case in parent.cases[index:])
    )


# -- what ------------------------------------------------------------------------------------------

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}


def _changes(site: Site) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    match site.node:
        case ast.stmt() as statement:
            yield from _statement(statement)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right) as union if _names_type(union):
            yield from (left, right) if site.scope else ()
        case ast.expr() as expression:
            yield from _expression(expression)
        case ast.match_case() as case:
            yield _with(case, guard=ast.Constant(False))
            yield _with(case, guard=None)
        case ast.MatchOr(patterns=patterns):
            yield from (_with(site.node, patterns=_without(patterns, one)) for one in range(len(patterns)))
        case ast.MatchSingleton(value=bool(value)):
            yield ast.MatchSingleton(value=not value)
        case ast.comprehension(ifs=conditions):
            yield from (_with(site.node, ifs=_without(conditions, one)) for one in range(len(conditions)))
        case _:
            pass


def _statement(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Expr() | ast.Return() | ast.Raise() | ast.Continue() | ast.Break() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[target]) if not isinstance(target, ast.Name):
            yield ast.Pass()
        case ast.AugAssign(op=operator):
            yield ast.Pass()
            if (other := OPERATORS.get(type(operator))) is not None:
                yield _with(node, op=other())
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case _:
            pass


def _expression(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=value):
            yield from _constant(value)
        case ast.BinOp(op=operator) if (other := OPERATORS.get(type(operator))) is not None:
            yield _with(node, op=other())
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            yield _with(node, func=ast.Name(CALLED[name]))
        case ast.Call(func=ast.Name(id="reversed"), args=[argument]):
            yield argument
        case _:
            yield from _condition(node)


def _constant(value: object) -> Iterator[ast.Constant]:
    match value:
        case bool():
            yield ast.Constant(not value)
        case int() | float():
            yield ast.Constant(value + 1)
        case str():
            yield ast.Constant(f"{value}x")
        case _:
            pass


def _condition(node: ast.expr) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=operators):
            for one, operator in enumerate(operators):
                for other in COMPARED[type(operator)]:
                    yield _with(node, ops=[*operators[:one], other(), *operators[one + 1 :]])
        case ast.BoolOp(op=operator, values=values):
            yield _with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
            yield from (_with(node, values=_without(values, one)) for one in range(len(values)))
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.IfExp(body=body, orelse=orelse):
            yield _with(node, body=orelse, orelse=body)
        case _:
            pass


def _with(node: ast.AST, **fields: Any) -> ast.AST:
    """The same node with other fields. A boolean expression of one operand is the operand."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    match changed:
        case ast.BoolOp(values=[single]) | ast.MatchOr(patterns=[single]):
            return single
        case _:
            return changed


def _without(items: Sequence[Any], one: int) -> list[Any]:
    return [*items[:one], *items[one + 1 :]]
