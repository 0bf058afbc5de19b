"""The operations of the calculator on exact fractions and floats, each with a bounded result. Pure.

A Fraction is exact; a float comes from roots, logarithms, angles and the constants. Every operation raises
``ZeroDivisionError``, ``OverflowError`` (more than ``DIGIT_LIMIT`` digits, or beyond a float), ``ValueError``
(no real result) or ``TypeError`` (wrong number or kind of values).
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Final, cast

Number = Fraction | float
Operation = Callable[..., Number]

DIGIT_LIMIT: Final = 3_000
"""Decimal digits of a number, above or below the line of a fraction. Python prints at most 4,300."""
_BIT_LIMIT: Final = int(DIGIT_LIMIT * math.log2(10))
_FACTORIAL_LIMIT: Final = 1_000


def bounded(value: object) -> Number:
    """The value as a Number; ``OverflowError`` if it is too large, ``TypeError`` if it is no number."""
    match value:
        case float() if math.isfinite(value):
            return value
        case Fraction() | int() if max(value.numerator.bit_length(), value.denominator.bit_length()) <= _BIT_LIMIT:
            return Fraction(value)
        case float() | Fraction() | int():
            raise OverflowError
        case _:
            raise TypeError


def _checked(operation: Callable[..., object]) -> Operation:
    """Numbers in (lists are opened one level), a bounded number out."""

    def run(*values: object) -> Number:
        flat = [
            item for value in values for item in (cast("list[object]", value) if isinstance(value, list) else [value])
        ]
        if not flat:
            raise TypeError
        return bounded(operation(*map(bounded, flat)))

    return run


def _quotient(left: Number, right: Number) -> Number:
    return left / right


def _whole_quotient(left: Number, right: Number) -> Number:
    return left // right


def power(base: Number, exponent: Number) -> Number:
    """``base ** exponent``, exact if both are fractions and the result is one that floats can find."""
    if not (isinstance(base, Fraction) and isinstance(exponent, Fraction)):
        return math.pow(base, exponent)
    if exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length()) - 1
        if bits * abs(exponent.numerator) > _BIT_LIMIT:
            raise OverflowError
        return base**exponent.numerator
    if exponent == Fraction(1, 2):
        return _square_root(base)
    near = math.pow(base, exponent)
    if max(near, abs(exponent.numerator), exponent.denominator) > 1_000:
        return near
    guess = Fraction(round(near))
    return guess if guess and guess**exponent.denominator == power(base, Fraction(exponent.numerator)) else near


def _square_root(value: Number) -> Number:
    if isinstance(value, float) or value < 0:
        return math.sqrt(value)
    root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return root if root * root == value else math.sqrt(value)


def _natural_logarithm(value: Number) -> float:
    try:
        return math.log(value)
    except OverflowError:
        exact = Fraction(value)
        return math.log(exact.numerator) - math.log(exact.denominator)


def _logarithm(value: Number, base: Number = math.e) -> Number:
    if base == math.e:
        return _natural_logarithm(value)
    result = _natural_logarithm(value) / _natural_logarithm(base)
    whole = Fraction(round(result))
    exact = isinstance(value, Fraction) and isinstance(base, Fraction) and power(base, whole) == value
    return whole if exact else result


def _logarithm_to(base: int) -> Callable[[Number], Number]:
    return lambda value: _logarithm(value, Fraction(base))


def _angle(function: Callable[[float], float]) -> Callable[[Number], float]:
    """Sine or cosine, where a result below the rounding error of the angle is 0: sin(pi) is 0."""

    def run(angle: Number) -> float:
        value = function(float(angle))
        return 0.0 if abs(value) < abs(angle) * 2**-52 else value

    return run


def _tangent(angle: Number) -> float:
    return _angle(math.sin)(angle) / _angle(math.cos)(angle)


def _whole(value: Number) -> int:
    if value != int(value):
        raise ValueError
    return int(value)


def _written(value: Number) -> Fraction:
    """A float as it is shown, so that rounding decides on the digits that people see."""
    return value if isinstance(value, Fraction) else Fraction(f"{value:.15g}")


def _floor(value: Number) -> int:
    return math.floor(_written(value))


def _ceil(value: Number) -> int:
    return math.ceil(_written(value))


def _round(value: Number, digits: Number = 0.0) -> Fraction:
    """Halves go away from zero, as at school."""
    places = _whole(digits)
    if abs(places) > DIGIT_LIMIT:
        raise OverflowError
    scale, exact = Fraction(10) ** places, _written(value)
    size = math.floor(abs(exact) * scale + Fraction(1, 2)) / scale
    return size if exact >= 0 else -size


def _least(*values: Number) -> Number:
    return min(values)


def _greatest(*values: Number) -> Number:
    return max(values)


def _sum(*values: Number) -> Number:
    return sum(values, Fraction(0))


def _mean(*values: Number) -> Number:
    return _sum(*values) / len(values)


def _median(*values: Number) -> Number:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def _factorial(value: Number) -> int:
    if value > _FACTORIAL_LIMIT:
        raise OverflowError
    return math.factorial(_whole(value))


def _greatest_divisor(*values: Number) -> int:
    return math.gcd(*map(_whole, values))


def _least_multiple(*values: Number) -> int:
    return math.lcm(*map(_whole, values))


CONSTANTS: Final = {"pi": math.pi, "e": math.e, "tau": math.tau}

OPERATORS: Final[dict[type, Operation]] = {
    ast.Add: _checked(operator.add),
    ast.Sub: _checked(operator.sub),
    ast.Mult: _checked(operator.mul),
    ast.Div: _checked(_quotient),
    ast.FloorDiv: _checked(_whole_quotient),
    ast.Mod: _checked(operator.mod),
    ast.Pow: _checked(power),
    ast.UAdd: _checked(operator.pos),
    ast.USub: _checked(operator.neg),
}

FUNCTIONS: Final[dict[str, Operation]] = {
    "abs": _checked(abs),
    "round": _checked(_round),
    "floor": _checked(_floor),
    "ceil": _checked(_ceil),
    "sqrt": _checked(_square_root),
    "exp": _checked(math.exp),
    "ln": _checked(_natural_logarithm),
    "log": _checked(_logarithm),
    "log2": _checked(_logarithm_to(2)),
    "log10": _checked(_logarithm_to(10)),
    "sin": _checked(_angle(math.sin)),
    "cos": _checked(_angle(math.cos)),
    "tan": _checked(_tangent),
    "asin": _checked(math.asin),
    "acos": _checked(math.acos),
    "atan": _checked(math.atan),
    "degrees": _checked(math.degrees),
    "radians": _checked(math.radians),
    "min": _checked(_least),
    "max": _checked(_greatest),
    "sum": _checked(_sum),
    "mean": _checked(_mean),
    "median": _checked(_median),
    "factorial": _checked(_factorial),
    "gcd": _checked(_greatest_divisor),
    "lcm": _checked(_least_multiple),
}
