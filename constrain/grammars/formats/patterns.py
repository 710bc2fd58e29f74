r"""Regular expressions as a format: ECMA-262 section 22.2.1 with flag `u`, as far as it is regular.

Every accepted text is a valid pattern. Refused though they may be valid:

- groups and lookarounds nested deeper than `MAX_DEPTH`;
- back-references (`\1`, `\k<n>`), `\0`, modifiers such as `(?i:x)`;
- more than one named group, one inside another group, and names beyond ASCII;
- counts `{m,n}` where m has three digits or more, unless n has more digits or, for three, a greater first one; an n
  that begins with 0;
- in a class: an unescaped `-` other than first, last or between two characters; ranges that begin with a character
  beyond ASCII, and ranges between hexadecimal escapes whose order the first digit that is not 0 in both does not
  decide, or of unlike kinds, or that begin with `\uDxxx`;
- `\p{...}` other than general categories, `Any`, `ASCII`, `Assigned`, some binary properties and common scripts.
"""

from __future__ import annotations

from functools import cache

from constrain.grammars.char_classes import GENERAL_CATEGORIES, normalise
from constrain.grammars.regex import parse
from constrain.grammars.regex_tree import char_class
from constrain.ir import Alt, Literal, Node, Repeat, Seq

MAX_DEPTH = 6

_SYNTAX = r"^$\.*+?()[]{}|/"  # IdentityEscape with flag u
_HEX = "0123456789abcdef"
_SHORT_CATEGORIES = (
    "L|Lu|Ll|Lt|LC|Lm|Lo|M|Mn|Mc|Me|N|Nd|Nl|No|P|Pc|Pd|Ps|Pe|Pi|Pf|Po|S|Sm|Sc|Sk|So|Z|Zs|Zl|Zp|C|Cc|Cf|Cs|Co|Cn"
)
_BINARY = "Any|ASCII|Assigned|Alphabetic|Alpha|Lowercase|Lower|Uppercase|Upper|White_Space|space|ASCII_Hex_Digit|AHex"
_BINARY += "|Hex_Digit|Hex|ID_Start|IDS|ID_Continue|IDC|XID_Start|XIDS|XID_Continue|XIDC|Emoji|Emoji_Presentation|EPres"
_BINARY += "|Extended_Pictographic|ExtPict|Ideographic|Ideo|Dash|Math|Quotation_Mark|QMark"
_SCRIPTS = "Arabic|Armenian|Bengali|Bopomofo|Common|Cyrillic|Devanagari|Ethiopic|Georgian|Greek|Gujarati|Gurmukhi|Han"
_SCRIPTS += "|Hangul|Hebrew|Hiragana|Inherited|Kannada|Katakana|Khmer|Lao|Latin|Malayalam|Mongolian|Myanmar|Sinhala"
_SCRIPTS += "|Syriac|Tamil|Telugu|Thaana|Thai|Tibetan"


@cache
def regex() -> Node:
    """Return the patterns that the module's text describes."""
    inner, disjunction = None, _disjunction(None)
    for _ in range(MAX_DEPTH):
        inner, disjunction = disjunction, _disjunction(disjunction)
    assert inner is not None
    name = parse(r"\(\?<[A-Za-z_$][A-Za-z0-9_$]*>", dialect="ecma")
    named = Seq((name, inner, Literal(b")"), _quantifier(), disjunction))
    return Seq((disjunction, Repeat(named, 0, 1)))


def _disjunction(inner: Node | None) -> Node:
    """Return `Disjunction` whose groups hold `inner`, or that has none."""
    atoms, assertions = [_atom()], [parse(r"[\^$]|\\[bB]", dialect="ecma")]
    if inner is not None:
        group = parse(r"\((?:\?:)?", dialect="ecma")
        atoms.append(Seq((group, inner, Literal(b")"))))
        assertions.append(Seq((parse(r"\(\?<?[=!]", dialect="ecma"), inner, Literal(b")"))))
    # With flag u no quantifier may follow an assertion.
    quantified = Seq((Alt(tuple(atoms)), _quantifier()))
    return Repeat(Alt((quantified, *assertions, Literal(b"|"))), 0, None)


@cache
def _atom() -> Node:
    plain = parse(r"[^\^$\\.*+?()\[\]{}|]|\.", dialect="ecma")
    return Alt((plain, _escape(""), parse(r"\\[dDsSwW]", dialect="ecma"), _property(), _class()))


@cache
def _escape(more: str) -> Node:
    """Return the escapes of one character; `more` are others that stand for themselves."""
    listed = "".join("\\" + char for char in _SYNTAX + more)
    code = r"x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|u\{0*(?:(?:10)?[0-9A-Fa-f]{1,4}|[1-9A-Fa-f][0-9A-Fa-f]{4})\}"
    return parse(rf"\\(?:[{listed}fnrtv]|c[A-Za-z]|{code})", dialect="ecma")


@cache
def _property() -> Node:
    categories = "|".join([*_SHORT_CATEGORIES.split("|"), *GENERAL_CATEGORIES])
    named = rf"(?:(?:General_Category|gc)=)?(?:{categories})|(?:Script|sc|Script_Extensions|scx)=(?:{_SCRIPTS})"
    return parse(rf"\\[pP]\{{(?:{named}|{_BINARY})\}}", dialect="ecma")


@cache
def _quantifier() -> Node:
    """Return an optional quantifier; the bounds of `{m,n}` are in order."""
    digit, comma = _digits(0, 9), Literal(b",")
    more, longer = Repeat(digit, 1, None), Seq((_digits(1, 9), Repeat(digit, 2, None)))
    counts: list[Node] = [Seq((more, Repeat(comma, 0, 1)))]
    for low in range(10):
        counts.append(Seq((Literal(b"%d," % low), Alt((_digits(low, 9), Seq((_digits(1, 9), more)))))))
    for tens in range(1, 10):
        same = Literal(b"%d" % tens)
        above: list[Node] = [Seq((_digits(tens + 1, 9), digit))] if tens < 9 else []
        for low in range(10):
            high = Alt((Seq((same, _digits(low, 9))), *above, longer))
            counts.append(Seq((Literal(b"%d%d," % (tens, low)), high)))
        if above:
            counts.append(Seq((same, digit, digit, comma, *above, digit)))
    for digits in range(3, 8):
        first = Seq((_digits(1, 9), Repeat(digit, digits - 1, digits - 1)))
        counts.append(Seq((first, comma, _digits(1, 9), Repeat(digit, digits, None))))
    braced = Seq((Literal(b"{"), Alt(tuple(counts)), Literal(b"}")))
    kind = Alt((parse("[*+?]", dialect="ecma"), braced))
    return Repeat(Seq((kind, Repeat(Literal(b"?"), 0, 1))), 0, 1)


def _digits(low: int, high: int) -> Node:
    return char_class(((0x30 + low, 0x30 + high),))


# Character classes


@cache
def _class() -> Node:
    shorthand = parse(r"\\[dDsSwWb]", dialect="ecma")
    single = Alt((parse(r"[^\\\]\-]", dialect="ecma"), _escape("-"), shorthand, _property()))
    dash = Repeat(Literal(b"-"), 0, 1)
    items = Repeat(Alt((single, _range())), 0, None)
    return Seq((parse(r"\[\^?", dialect="ecma"), dash, items, dash, Literal(b"]")))


@cache
def _range() -> Node:
    """Return `a-b` with a not above b."""
    hexes = "[0-9A-Fa-f]"
    beyond = rf"\\u(?:00[89A-Fa-f]{hexes}|0[1-9A-Fa-f]{hexes}{{2}}|[1-9A-Fa-f]{hexes}{{3}})"
    beyond_ascii = parse(rf"[^\0-\x7F]|{beyond}", dialect="ecma")
    ways = [_escaped_range("x", 2), _escaped_range("u", 4)]
    ways += [
        Seq((_ascii(code, code), Literal(b"-"), Alt((_ascii(code, 0x7E), beyond_ascii)))) for code in range(0x20, 0x7F)
    ]
    return Alt(tuple(ways))


def _ascii(low: int, high: int) -> Node:
    """Return one printable ASCII character of a class, plain or escaped."""
    codes = range(low, high + 1)
    plain = normalise((code, code) for code in codes if chr(code) not in "\\]-")
    escaped = normalise((code, code) for code in codes if chr(code) in _SYNTAX + "-")
    return Alt((char_class(plain), Seq((Literal(b"\\"), char_class(escaped)))))


def _escaped_range(letter: str, digits: int) -> Node:
    r"""Return `\xHH-\xHH` or `\uHHHH-\uHHHH` where the first digit that is not 0 in both is less on the left."""
    ways = []
    for zeros in range(digits):
        rest = f"[0-9A-Fa-f]{{{digits - zeros - 1}}}"
        for digit in range(15):
            if digits == 4 and not zeros and _HEX[digit] == "d":
                continue  # it may be the second half of a surrogate pair, which is one character
            low, above = _HEX[digit], _HEX[digit + 1 :]
            start = rf"\\{letter}{'0' * zeros}"
            ways.append(f"{start}[{low}{low.upper()}]{rest}-{start}[{above}{above.upper()}]{rest}")
    return parse("|".join(ways), dialect="ecma")
