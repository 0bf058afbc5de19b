"""Arithmetic that does not embarrass: exact fractions wherever they go, floats only where they must.

Every literal is read as the decimal that was written, so 0.1 + 0.2 is 0.3 and 1/3*3 is 1. Roots, logarithms,
angles and the constants are floats of 15 significant digits, and their results are marked with ≈.
Every intermediate value is held below a number of digits and every expression below a length, which bounds
the time of a call to well under a second: there is nothing to interrupt.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Final

import simpleeval  # pyright: ignore[reportMissingTypeStubs] - the library has none
from pydantic import Field

from tools.arithmetic import CONSTANTS, DIGIT_LIMIT, FUNCTIONS, OPERATORS, Number, bounded
from tools.base import Arguments, Effect, Output, ToolContext, ToolError, tool
from tools.notation import bad, plain

_ROUNDED: Final = Context(prec=20)
_EXACT: Final = Context(prec=40)
_LINE_LIMIT: Final = 60
_ALLOWED: Final = f"Functions: {', '.join(FUNCTIONS)}. Constants: {', '.join(CONSTANTS)}."


class Expression(Arguments):
    expression: str = Field(description="For example (17.5 + 3) * 2**10, 15% of 80, round(mean(3, 4, 8), 2)")


@tool(Effect.READ, timeout=5.0)
async def calculate(arguments: Expression, context: ToolContext) -> Output:
    """Calculate an expression exactly. Operators: + - * / // % (remainder) ** (power); 15% means 0.15.
    Functions: abs round(x, digits) floor ceil sqrt exp ln log(x, base) log2 log10 sin cos tan asin acos atan
    (radians) degrees radians min max sum mean median factorial gcd lcm. Constants: pi e tau.
    1,234.5 is read as 1234.5, but not between the brackets of a function, where commas separate values.
    round(2.5) is 3. The sign ≈ marks a rounded result.
    """
    given = " ".join(arguments.expression.split()).rstrip(" =?？＝")
    sign, shown = show(evaluate(given))
    return Output(f"{given} {sign} {shown}", f"{_short(given)} · {_short(shown)}")


def evaluate(expression: str) -> Number:
    """The value: a Fraction where it is exact, else a finite float.

    Raises ``ToolError``: bad_expression, unknown_name, division_by_zero, undefined or too_large.
    """
    text = plain(expression)
    try:
        tree = ast.parse(text, mode="eval").body
        return bounded(_evaluator(text).eval(text, tree))
    except simpleeval.NameNotDefined as error:
        raise _unknown(str(error.name)) from error  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - untyped
    except simpleeval.FunctionNotDefined as error:
        raise _unknown(str(error.func_name)) from error  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] - untyped
    except (SyntaxError, simpleeval.InvalidExpression) as error:
        raise bad("It cannot be read.", "Use + - * / // % **, balanced brackets and functions by name.") from error
    except TypeError as error:
        raise bad("A function got no value, too many values, or no number.", _ALLOWED) from error
    except (RecursionError, MemoryError) as error:
        raise bad("It is nested too deeply.", "Split it, or use sum(1, 2, 3) for long sums.") from error
    except ZeroDivisionError as error:
        raise ToolError("division_by_zero", "It divides by zero.", hint="Check the divisor.") from error
    except OverflowError as error:
        message = f"A number in it has more than {DIGIT_LIMIT:,} digits, or more than 308 where it must be rounded."
        raise ToolError("too_large", message, hint="Use smaller numbers, or sums of log10 for the size.") from error
    except ValueError as error:
        hint = "Roots and logarithms need positive numbers; factorial, gcd, lcm and digits need whole ones."
        raise ToolError("undefined", "A function or power has no real result there.", hint=hint) from error


def show(value: Number) -> tuple[str, str]:
    """A sign, = or ≈, and the value in decimal: all digits of what ends within 40, else 20 (a float: 15)."""
    if isinstance(value, float):
        return "≈", f"{value + 0.0:.15g}"
    if value.denominator == 1:
        return "=", str(value.numerator)
    exact, rounded = (
        context.divide(Decimal(value.numerator), Decimal(value.denominator)) for context in (_EXACT, _ROUNDED)
    )
    if Fraction(exact) == value:
        return "=", _decimal(exact)
    fraction = f"{value.numerator}/{value.denominator}"
    return "≈", _decimal(rounded) + (f" (exactly {fraction})" if len(fraction) <= 15 else "")


def _decimal(value: Decimal) -> str:
    value = value.normalize(_EXACT)
    return format(value, "f") if -20 <= value.adjusted() <= 40 else str(value).lower()


def _short(text: str) -> str:
    return text if len(text) <= _LINE_LIMIT else text[: _LINE_LIMIT - 1] + "…"


def _evaluator(text: str) -> Any:
    """An evaluator that knows arithmetic, lists and calls by name; no attribute, index, text or comprehension."""
    evaluator: Any = simpleeval.EvalWithCompoundTypes()
    kinds = (ast.UnaryOp, ast.BinOp, ast.Call, ast.Name, ast.List)
    nodes: dict[type, Callable[..., object]] = {kind: evaluator.nodes[kind] for kind in kinds}
    evaluator.operators, evaluator.functions, evaluator.names = OPERATORS, FUNCTIONS, CONSTANTS
    evaluator.nodes = nodes | {ast.Constant: partial(_literal, text)}
    return evaluator


def _literal(text: str, node: ast.Constant) -> Number:
    """The number as it was written, not as the nearest float."""
    written = ast.get_source_segment(text, node) or ""
    match node.value:
        case bool():
            raise _unknown(written)
        case int():
            return bounded(node.value)
        case float():
            exponent = re.search(r"e([+-]?\d+)$", written, re.IGNORECASE)
            if exponent and abs(int(exponent[1])) > DIGIT_LIMIT:
                raise OverflowError
            return bounded(Fraction(written))
        case _:
            raise _unknown(written)


def _unknown(name: str) -> ToolError:
    return ToolError("unknown_name", f"There is no function or constant named {name}.", hint=_ALLOWED)
