# Values and slopes of the pointwise ops at the edges of f64, worked out with 60 digits or more:
#   python3 tests/ops/truth.py > tests/ops/truth.txt
# needs mpmath 1.3. One line a case: op, arguments, value, slope to each argument, as hexadecimal
# doubles. A slope that a convention decides (at kinks and ties) is left out: "-".
import math
from mpmath import mp, mpf, inf, nan

mp.prec = 4200  # cos(1e308) needs all of pi's digits

one = mpf(1)
log2, log10 = mp.log(2), mp.log(10)


def softplus(x):
    return mp.log1p(mp.exp(x))


def normal(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def sinc(x):
    return one if x == 0 else mp.sin(mp.pi * x) / (mp.pi * x)


def sinc_slope(x):
    return mpf(0) if x == 0 else (mp.cos(mp.pi * x) - sinc(x)) / x


def sigmoid(x):
    return one / (1 + mp.exp(-x))


def mish_slope(x):
    t = mp.tanh(softplus(x))
    return t + x * (1 - t * t) * sigmoid(x)


UNARY = {
    "exp": (mp.exp, mp.exp), "exp2": (lambda x: mpf(2) ** x, lambda x: log2 * mpf(2) ** x),
    "expm1": (mp.expm1, mp.exp), "log": (mp.log, lambda x: 1 / x),
    "log2": (lambda x: mp.log(x) / log2, lambda x: 1 / (x * log2)),
    "log10": (lambda x: mp.log(x) / log10, lambda x: 1 / (x * log10)),
    "log1p": (mp.log1p, lambda x: 1 / (1 + x)),
    "sqrt": (mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x))),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), lambda x: -1 / (2 * x * mp.sqrt(x))),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / (x * x)),
    "square": (lambda x: x * x, lambda x: 2 * x),
    "erf": (mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    "erfc": (mp.erfc, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x)),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), mp.digamma),
    "digamma": (mp.digamma, lambda x: mp.psi(1, x)),
    "sinc": (sinc, sinc_slope),
    "sin": (mp.sin, mp.cos), "cos": (mp.cos, lambda x: -mp.sin(x)),
    "tan": (mp.tan, lambda x: 1 + mp.tan(x) ** 2),
    "asin": (mp.asin, lambda x: 1 / mp.sqrt(1 - x * x)),
    "acos": (mp.acos, lambda x: -1 / mp.sqrt(1 - x * x)),
    "atan": (mp.atan, lambda x: 1 / (1 + x * x)),
    "sinh": (mp.sinh, mp.cosh), "cosh": (mp.cosh, mp.sinh),
    "tanh": (mp.tanh, lambda x: 1 / mp.cosh(x) ** 2),
    "asinh": (mp.asinh, lambda x: 1 / mp.sqrt(1 + x * x)),
    "acosh": (mp.acosh, lambda x: 1 / mp.sqrt(x * x - 1)),
    "atanh": (mp.atanh, lambda x: 1 / (1 - x * x)),
    "sigmoid": (sigmoid, lambda x: sigmoid(x) * sigmoid(-x)),
    "silu": (lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * sigmoid(-x))),
    "gelu": (lambda x: x * normal(x), lambda x: normal(x) + x * density(x)),
    "mish": (lambda x: x * mp.tanh(softplus(x)), mish_slope),
    "softplus": (softplus, sigmoid),
    "logsigmoid": (lambda x: -softplus(-x), lambda x: sigmoid(-x)),
    "softsign": (lambda x: x / (1 + abs(x)), lambda x: 1 / (1 + abs(x)) ** 2),
    "logit": (lambda x: mp.log(x / (1 - x)), lambda x: 1 / (x * (1 - x))),
}
ABOVE = {"log": 0, "log2": 0, "log10": 0, "log1p": -1, "sqrt": 0, "rsqrt": 0, "acosh": 1,
         "logit": 0, "asin": -1, "acos": -1, "atanh": -1}
BELOW = {"logit": 1, "asin": 1, "acos": 1, "atanh": 1}

BINARY = {
    "div": (lambda x, y: x / y, lambda x, y: 1 / y, lambda x, y: -x / (y * y)),
    "pow": (lambda x, y: x ** y, lambda x, y: y * x ** (y - 1), lambda x, y: x ** y * mp.log(x)),
    "atan2": (mp.atan2, lambda x, y: y / (x * x + y * y), lambda x, y: -x / (x * x + y * y)),
    "hypot": (mp.hypot, lambda x, y: x / mp.hypot(x, y), lambda x, y: y / mp.hypot(x, y)),
    "logaddexp": (lambda x, y: mp.log(mp.exp(x) + mp.exp(y)), lambda x, y: sigmoid(x - y),
                  lambda x, y: sigmoid(y - x)),
    "xlogy": (lambda x, y: x * mp.log(y), lambda x, y: mp.log(y), lambda x, y: x / y),
    "floor_divide": (lambda x, y: mp.floor(x / y), None, None),
    "remainder": (lambda x, y: x - mp.floor(x / y) * y, None, None),
}
POSITIVE = {"pow", "xlogy"}

tiny, least, most = 2.0 ** -1022, 5e-324, 1.7976931348623157e308
POINTS = [least, 3 * least, tiny, 1e-300, 1e-154, 1e-30, 1e-10, 1e-5, 0.1, 0.5, 0.75, 1 - 2.0 ** -53,
          1.0, 1 + 2.0 ** -52, 1.5, 2.0, 2.5, 3.0, 10.0, 20.0, 36.0, 100.0, 709.0, 745.0, 1e5, 1e8,
          2.0 ** 53, 1e16, 1e22, 1e154, 1e300, most / 2, most]
PAIRS = [1e-300, 1e-154, 0.1, 1.0, 2.5, 300.0, 1e154, 1e300]


def text(value):
    if value is None:
        return "-"
    try:
        return float(value).hex()
    except OverflowError:
        return "inf" if value > 0 else "-inf"


def unary(name, f, slope):
    near = [-1 - 1e-10, -1 + 1e-10, -2 - 1e-12, -0.5, -1e-17] if "gamma" in name else []
    for size in POINTS + near:
        for x in (size, -size) if size > 0 else (size,):
            if not ABOVE.get(name, -math.inf) < x < BELOW.get(name, math.inf):
                continue
            if "gamma" in name and (abs(x) > 1e22 or x < 0 and x == math.floor(x)):
                continue
            if name in ("sinh", "cosh", "tanh", "erf", "erfc", "mish", "gelu") and abs(x) > 1e5:
                continue
            if name in ("exp", "exp2", "expm1", "sigmoid", "silu", "softplus", "logsigmoid") \
                    and abs(x) > 1e5:
                continue
            print(name, text(x), text(f(mpf(x))), text(slope(mpf(x))))


def binary(name, f, *slopes):
    for a in PAIRS:
        for b in PAIRS:
            for x, y in ((a, b), (-a, b), (a, -b), (-a, -b)):
                if name in POSITIVE and (x < 0 or y < 0 and name == "xlogy"):
                    continue
                if name == "pow" and abs(y * math.log(x) if x > 0 else 0) > 1e6:
                    continue
                if name == "logaddexp" and max(abs(x), abs(y)) > 300:
                    continue
                if name in ("floor_divide", "remainder") and abs(x / y) > 2.0 ** 53:
                    continue
                print(name, text(x), text(y), text(f(mpf(x), mpf(y))),
                      *(text(s and s(mpf(x), mpf(y))) for s in slopes))


for name, (f, slope) in UNARY.items():
    mp.prec = 4200 if name in ("sin", "cos", "tan", "sinc") else 2400
    unary(name, f, slope)
for name, functions in BINARY.items():
    binary(name, *functions)
