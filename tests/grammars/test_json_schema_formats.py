"""The keyword `format`: own texts, the official suite, other checkers, and what it does beside other keywords."""

import datetime as dt
import ipaddress
import itertools
import json
import random
import re
import uuid
from functools import cache

import idna
import jsonschema
import pytest
from format_texts import TEXTS
from oracles import datasets, ecma

import constrain
from constrain.errors import EmptyLanguageError, GrammarSyntaxError, UnsupportedFeatureError
from constrain.grammars.formats import idn
from constrain.grammars.formats.table import FORMATS

TOKENS = [bytes([byte]) for byte in range(256)] + [b"<end>"]
VOCABULARY = constrain.Vocabulary.from_tokens(TOKENS, eos_token_ids=[256])


def compiled(schema, **options):
    return constrain.compile(constrain.json_schema(schema, **options), VOCABULARY)


@cache
def of_format(name):
    return compiled({"type": "string", "format": name})


def is_of(name, text):
    return of_format(name).accepts(json.dumps(text, ensure_ascii=False).encode())


def takes(schema, *values, **options):
    grammar = compiled(schema, **options)
    return [grammar.accepts(json.dumps(value, ensure_ascii=False).encode()) for value in values]


def test_every_format_of_the_standard_is_there():
    assert set(TEXTS) == set(FORMATS)
    assert len(FORMATS) == 19


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name):
    valid, invalid = TEXTS[name]
    assert [text for text in valid if not is_of(name, text)] == []
    assert [text for text in invalid if is_of(name, text)] == []


# Beside other keywords


@pytest.mark.parametrize("name", TEXTS)
def test_a_format_speaks_of_strings_only(name):
    assert takes({"format": name}, 1, None, [], {}) == [True] * 4


def test_beside_other_keywords():
    date = {"type": "string", "format": "date"}
    assert takes({**date, "pattern": "^2024-02-"}, "2024-02-29", "2024-02-30", "2023-02-01") == [True, False, False]
    assert takes({**date, "enum": ["2024-01-01", "x", 1]}, "2024-01-01", "x", 1) == [True, False, False]
    assert takes({**date, "const": "2024-01-01"}, "2024-01-01", "2024-01-02") == [True, False]
    both = {"anyOf": [date, {"type": "string", "format": "uuid"}, {"type": "null"}]}
    assert takes(both, "2024-01-01", "0" * 8 + "-0000" * 3 + "-" + "0" * 12, None, "x") == [True, True, True, False]
    assert takes({"type": ["string", "integer"], "format": "ipv4"}, "1.2.3.4", 7, "7", None) == [
        True,
        True,
        False,
        False,
    ]
    assert takes({"format": "hostname", "minLength": 3, "maxLength": 4}, "ab", "abc", "a.bc", "ab.cd") == [
        False, True, True, False,
    ]  # fmt: skip
    mail = {"type": "string", "format": "email", "pattern": "@example\\.com$"}
    assert takes(mail, "a@example.com", "a@example.org", "@example.com") == [True, False, False]
    assert takes({"allOf": [{"format": "uri"}, {"format": "iri"}], "type": "string"}, "x:a", "x:é") == [True, False]
    apart = {"oneOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]}
    assert takes(apart, "2024-01-01", "2024-01-01T00:00:00Z", "2024") == [True, True, False]
    keys = {"type": "object", "properties": {"a": date}, "required": ["a"], "additionalProperties": False}
    assert takes(keys, {"a": "2024-01-01"}, {"a": "2024"}) == [True, False]


def test_formats_that_share_texts_are_not_taken_for_disjoint():
    schema = {"oneOf": [{"format": "ipv4", "type": "string"}, {"pattern": "^1", "type": "string"}]}
    vocabulary = constrain.Vocabulary.from_tokens([*TOKENS], eos_token_ids=[256])
    compiled = constrain.compile(constrain.json_schema(schema), vocabulary)
    texts = {"1.2.3.4": False, "2.3.4.5": True, "1": True, "2": False}
    assert {text: compiled.accepts(json.dumps(text).encode()) for text in texts} == texts


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "format": "date", "maxLength": 9},
        {"type": "string", "format": "uuid", "pattern": "g"},
        {"const": "x", "format": "ipv6"},
        {"type": "string", "allOf": [{"format": "ipv4"}, {"format": "hostname"}]},
        {"type": "string", "allOf": [{"format": "email"}, {"format": "uri-template", "maxLength": 2}]},
    ],
)
def test_nothing_is_left(schema):
    with pytest.raises(EmptyLanguageError):
        constrain.json_schema(schema)


def test_spelling():
    escaped = [rb'"2024-01-\u0030\u0031"', rb'"2024\u002d01-01"']
    assert [of_format("date").accepts(text) for text in escaped] == [False, False]
    every = compiled({"type": "string", "format": "date"}, string_spelling="any")
    assert [every.accepts(text) for text in escaped] == [True, True]
    assert of_format("json-pointer").accepts(rb'"/\u0000\n\"\\"')
    assert not of_format("json-pointer").accepts(rb'"\/a"')


def test_annotate():
    report = constrain.json_schema({"format": "date", "type": "string"}, formats="annotate").report
    assert [(item.status, item.note) for item in report if item.keyword == "format"] == [("annotation", "not asserted")]
    assert takes({"format": "date"}, "x", formats="annotate") == [True]


def test_unknown_formats():
    report = constrain.json_schema({"format": "color", "type": "string"}).report
    (item,) = [item for item in report if item.keyword == "format"]
    assert (item.pointer, item.status) == ("#", "annotation")
    assert "'color'" in item.note or '"color"' in item.note
    with pytest.raises(UnsupportedFeatureError, match="unknown_formats='annotate'") as caught:
        constrain.json_schema({"properties": {"a": {"format": "color"}}}, unknown_formats="refuse")
    assert caught.value.where == "#/properties/a/format"
    # A format that is known, or that speaks of a type that is not there, is never refused.
    constrain.json_schema({"format": "date"}, unknown_formats="refuse")
    constrain.json_schema({"format": "int32", "type": "integer"}, unknown_formats="refuse")


def test_a_format_is_a_string():
    with pytest.raises(GrammarSyntaxError, match="#/format must be a string"):
        constrain.json_schema({"format": 1})


def test_what_is_not_exact_is_in_the_report():
    status = {
        name: next(item.status for item in constrain.json_schema({"format": name}).report if item.keyword == "format")
        for name in FORMATS
    }
    inexact = {"hostname", "idn-hostname", "idn-email", "regex", "relative-json-pointer"}
    assert {name for name, found in status.items() if found == "cap"} == inexact
    assert {found for name, found in status.items() if name not in inexact} == {"exact"}


# The official suite

A_LABEL = "whether xn--... is an A-label is not regular"
LONG = "U-labels are short, see `idn`"
LEDGER = {
    (draft, file, description): reason
    for drafts, file, reason, descriptions in [
        (("draft4", "draft6"), "hostname", A_LABEL, ["a valid punycoded IDN hostname"]),
        (("draft7", "draft2019-09", "draft2020-12"), "hostname", A_LABEL, [
            "a valid host name (example.test in Hangul)", "Exceptions that are PVALID, left-to-right chars",
            "Exceptions that are PVALID, right-to-left chars", "MIDDLE DOT with surrounding 'l's",
            "Greek KERAIA followed by Greek", "Hebrew GERESH preceded by Hebrew", "Hebrew GERSHAYIM preceded by Hebrew",
            "KATAKANA MIDDLE DOT with Hiragana", "KATAKANA MIDDLE DOT with Katakana", "KATAKANA MIDDLE DOT with Han",
            "Arabic-Indic digits not mixed with Extended Arabic-Indic digits",
            "Extended Arabic-Indic digits not mixed with Arabic-Indic digits", "ZERO WIDTH JOINER preceded by Virama",
            "ZERO WIDTH NON-JOINER preceded by Virama", "ZERO WIDTH NON-JOINER not preceded by Virama but matches regexp",
        ]),
        (("draft7", "draft2019-09", "draft2020-12"), "idn-hostname", A_LABEL, ["valid Chinese Punycode"]),
        (("draft7", "draft2019-09", "draft2020-12"), "idn-hostname", LONG, [
            f"label too long if separator ignored ({kind})"
            for kind in ("full stop", "ideographic full stop", "fullwidth full stop", "halfwidth ideographic full stop")
        ]),
        (("draft7", "draft2019-09", "draft2020-12"), "idn-hostname", "a neutral character or a digit first", [
            "KATAKANA MIDDLE DOT with Hiragana", "KATAKANA MIDDLE DOT with Katakana", "KATAKANA MIDDLE DOT with Han",
            "Extended Arabic-Indic digits not mixed with Arabic-Indic digits",
        ]),
        (("draft7", "draft2019-09", "draft2020-12"), "idn-hostname", "non-joiners only after a virama", [
            "ZERO WIDTH NON-JOINER not preceded by Virama but matches regexp",
        ]),
        (("draft7", "draft2019-09", "draft2020-12"), "idn-email", "RFC 5890 section 2.3.2.1: a U-label is in NFC", [
            "a domain label that is not in Unicode NFC is valid",
        ]),
        (("draft7", "draft2019-09", "draft2020-12"), "ecmascript-regex", "back-references depend on the groups", [
            "an ECMA 262 named backreference \\k<name>",
        ]),
    ]
    for draft, description in itertools.product(drafts, descriptions)
}  # fmt: skip


def suite():
    folder = datasets.data_folder()
    if folder is None:
        pytest.skip(datasets.MISSING)
    files = sorted((folder / "json-schema-test-suite" / "tests").glob("draft*/optional/format/*.json"))
    assert len(files) > 60
    for file in files:
        for group in json.loads(file.read_text(encoding="utf-8")):
            for test in group["tests"]:
                yield file.parents[2].name, file.stem, group["schema"], test


def test_the_official_suite():
    wrong, schemas = {}, {}
    for draft, file, schema, test in suite():
        key = json.dumps(schema)
        if key not in schemas:
            schemas[key] = compiled(schema)
        if schemas[key].accepts(json.dumps(test["data"], ensure_ascii=False).encode()) != test["valid"]:
            wrong[draft, file, test["description"]] = test["data"], test["valid"]
    assert {key: found for key, found in wrong.items() if key not in LEDGER} == {}
    assert set(LEDGER) <= set(wrong), "the ledger has entries that are no longer needed"
    assert all(valid for _, valid in wrong.values()), "an invalid text is accepted"


# Other checkers


def checker(name, *, also=r"[^\n]*"):
    """Return what jsonschema says of a format, but for texts that do not match `also`: it passes a final newline."""

    def check(text):
        try:
            jsonschema.Draft202012Validator.FORMAT_CHECKER.check(text, name)
        except jsonschema.exceptions.FormatError:
            return False
        return re.fullmatch(also, text) is not None

    return check


def is_date(text):
    if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) is None:
        return False
    year, month, day = map(int, text.split("-"))
    try:
        dt.date(year or 400, month, day)  # `datetime` has no year 0, which is a leap year
    except ValueError:
        return False
    return True


def is_date_time(text):
    found = re.fullmatch(
        r"([0-9-]{10})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))", text
    )
    if found is None or not is_date(found[1]) or found[1][:4] in {"0000", "9999"}:
        return False
    hour, minute, second = int(found[2]), int(found[3]), int(found[4])
    shift = (int(found[7]) * 60 + int(found[8])) * (1 if found[6] == "+" else -1) if found[6] else 0
    if hour > 23 or minute > 59 or second > 60 or (found[6] and (int(found[7]) > 23 or int(found[8]) > 59)):
        return False
    if second < 60:
        return True
    day = dt.date.fromisoformat(found[1])
    utc = dt.datetime.combine(day, dt.time(hour, minute)) - dt.timedelta(minutes=shift)
    return (utc.hour, utc.minute) == (23, 59) and (utc + dt.timedelta(minutes=1)).day == 1


def is_duration(text):
    found = re.fullmatch("P([0-9]+Y)?([0-9]+M)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+S)?)?", text)
    if found is None:
        return re.fullmatch("P[0-9]+W", text) is not None
    days, clock = [part is not None for part in found.groups()[:3]], [part is not None for part in found.groups()[4:]]
    no_gap = all("101" not in "".join(str(int(one)) for one in part) for part in (days, clock))
    return no_gap and (any(clock) if found[4] else any(days))


def is_address(kind):
    def check(text):
        try:
            kind(text)
        except ValueError:
            return False
        return "%" not in text

    return check


def is_uuid(text):
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def is_idn(text):
    try:
        idna.encode(text)
    except (idna.IDNAError, UnicodeError):
        return False
    return True


def is_pattern(text):
    try:
        ecma.search(text, "")
    except ecma.PatternError:
        return False
    return True


NO_LEADING_ZERO = r"(?!.*\[[^\]]*[:.]0[0-9]+\.)(?!.*\[[^\]]*\.0[0-9])[^\n]*"  # rfc3986-validator passes ::01.2.3.4
EXACT = {
    "date": is_date,
    "date-time": is_date_time,
    "duration": is_duration,
    "ipv4": is_address(ipaddress.IPv4Address),
    "ipv6": is_address(ipaddress.IPv6Address),
    "uuid": is_uuid,
    "uri": checker("uri", also=NO_LEADING_ZERO),
    "uri-reference": checker("uri-reference", also=NO_LEADING_ZERO),
    "json-pointer": checker("json-pointer", also=r"(?s:.*)"),
}
# These refuse all that is plainly wrong and pass what we refuse for reasons that the modules list.
LAXER = {"hostname": checker("hostname"), "idn-hostname": is_idn, "regex": is_pattern, "email": checker("email")}


def mutated(name, count, seed):
    """Yield texts near to valid ones."""
    rng = random.Random(f"{name}{seed}")
    known = TEXTS[name][0] + TEXTS[name][1]
    alphabet = sorted(set("".join(known))) + list("09az-.:/@%٠é\u0301")
    for _ in range(count):
        text = rng.choice(known)
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            at, other = rng.randrange(len(text) + 1), rng.choice(known)
            text = rng.choice(
                (
                    text[:at] + rng.choice(alphabet) + text[at:],
                    text[:at] + text[at + 1 :],
                    text[:at] + rng.choice(alphabet) + text[at + 1 :],
                    text[:at] + other[rng.randrange(len(other) + 1) :],
                )
            )
        yield text


@pytest.mark.parametrize("name", EXACT)
def test_against_exact_checkers(name):
    both = 0
    for text in mutated(name, 1500, 0):
        if name == "date-time" and text[:4] in {"0000", "9999"}:
            continue
        assert is_of(name, text) == EXACT[name](text), text
        both += is_of(name, text)
    assert both > 30


@pytest.mark.parametrize("name", LAXER)
def test_what_is_accepted_is_valid(name):
    accepted = [text for text in mutated(name, 2500, 1) if is_of(name, text)]
    assert len(accepted) > 300
    assert [text for text in accepted if not LAXER[name](text)] == []


@pytest.mark.parametrize("sign", "+-")
def test_every_leap_second(sign):
    for hour, minute in itertools.product(range(24), range(60)):
        shift = (hour * 60 + minute) * (1 if sign == "+" else -1)
        local = (24 * 60 - 1 + shift) % (24 * 60)
        text = f"{local // 60:02}:{local % 60:02}:60{sign}{hour:02}:{minute:02}"
        wrong = f"{local // 60:02}:{(local + 1) % 60:02}:60{sign}{hour:02}:{minute:02}"
        assert (is_of("time", text), is_of("time", wrong)) == (True, False), text


# The bound on A-labels


def most_digits(count, total):
    """Return the most digits that `count` numbers with the sum `total` can have in RFC 3492's coding, at any bias.

    Where all thresholds are 26 a number has one digit below 26, and each further digit carries a tenth.
    """
    digits, least, spent = count, 26, 0
    while True:
        step = least - spent
        more = min(count, total // step)
        digits, total = digits + more, total - more * step
        if more < count:
            return digits
        spent, least = least, least * 10 + 26


@pytest.mark.parametrize(("top", "most"), [(idn.NARROW, idn.NARROW_CHARS), (idn.WIDE, idn.WIDE_CHARS)])
def test_a_labels_are_short_enough(top, most):
    worst = 0
    for length in range(1, most + 1):
        for beyond in range(1, length + 1):
            octets = 4 + length - beyond + (length > beyond) + most_digits(beyond, (top - 127) * (length + 1))
            worst = max(worst, octets)
    assert worst <= 62
    assert idn.MOST_LABELS * 63 - 1 <= 253
    rng = random.Random(0)
    for _ in range(300):
        text = "".join(chr(rng.choice((rng.randrange(0x80, top), rng.randrange(0x61, 0x7B)))) for _ in range(most))
        assert len(text.encode("punycode", "surrogatepass")) + 4 <= worst


def test_allowed_characters_are_in_nfc():
    import unicodedata

    sets = idn._sets()
    for ranges in (sets.left, sets.right, sets.inner, sets.nonspacing, sets.virama, *sets.levels):
        for low, high in ranges:
            assert all(unicodedata.is_normalized("NFC", "a" + chr(code)) for code in range(low, high + 1))


# Cost


@pytest.mark.parametrize("name", TEXTS)
def test_states_are_few(name):
    # Equal vocabularies share their lexer.
    vocabulary = constrain.Vocabulary.from_tokens([*TOKENS, f"<{name}>".encode()], eos_token_ids=[256])
    grammar = constrain.compile(constrain.json_schema({"type": "string", "format": name}), vocabulary)
    for text in TEXTS[name][0]:
        assert grammar.accepts(json.dumps(text, ensure_ascii=False).encode())
    assert grammar._tables.machine.lexicon.num_states < 3000
