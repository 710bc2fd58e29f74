"""Rule graphs and their passes: the words of a grammar, to a length, before and after.

Both sides are least fixpoints over sets of words: `Words` reads the IR, `GraphWords` the graphs. Neither knows of
items, kernels or left recursion.
"""

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from constrain import ir
from constrain.automata import graph as graphs
from constrain.automata.components import strongly_connected
from constrain.automata.left_recursion import left_calls
from constrain.errors import EmptyLanguageError, LimitExceededError
from constrain.limits import DEFAULT_LIMITS, Limits

LONGEST = 4
LEAVES = st.sampled_from([b"", b"a", b"b", b"ab"]).map(ir.Literal) | st.sampled_from(
    [ir.ByteClass(0), ir.ByteClass(1 << 97 | 1 << 98)]
)
NAMES = ("p", "q", "r")


def concatenated(first, second, longest=LONGEST):
    return {a + b for a in first for b in second if len(a) + len(b) <= longest}


def words(node, rules, longest=LONGEST):
    """Return the words of a node, given those of the rules."""
    if isinstance(node, ir.Literal):
        return {node.data} if len(node.data) <= longest else set()
    if isinstance(node, ir.ByteClass):
        return {bytes((byte,)) for byte in range(256) if node.mask >> byte & 1}
    if isinstance(node, ir.Lexeme):
        return words(node.pattern, rules, longest)
    if isinstance(node, ir.Ref):
        return rules[node.name]
    if isinstance(node, ir.Alt):
        return set().union(*(words(part, rules, longest) for part in node.parts))
    if isinstance(node, ir.Seq):
        out = {b""}
        for part in node.parts:
            out = concatenated(out, words(part, rules, longest), longest)
        return out
    body = words(node.body, rules, longest)
    here = {b""}
    for _ in range(node.minimum):
        here = concatenated(here, body, longest)
    out = set(here)
    # A round adds nothing new once it has been tried as often as words are long.
    for _ in range(longest + 1 if node.maximum is None else node.maximum - node.minimum):
        here = concatenated(here, body, longest)
        out |= here
    return out


def grammar_words(grammar, longest=LONGEST):
    rules = {name: set() for name in grammar.rules}
    while True:
        after = {name: words(node, rules, longest) for name, node in grammar.rules.items()}
        if after == rules:
            return words(grammar.start, rules, longest), rules
        rules = after


def has_empty(node):
    found = words(node, {})
    return b"" in found, bool(found - {b""})


def graph_words(graph, rules, longest=LONGEST):
    """Return the words of a graph, given those of the rules; register 0 counts."""
    out, seen, work = set(), {(graph.start, 0, b"")}, [(graph.start, 0, b"")]
    while work:
        node, count, word = work.pop()
        if node in graph.finals:
            out.add(word)
        for edge in graph.edges[node]:
            nexts = [(edge.target, count, word)]
            if edge.kind == graphs.TERMINAL:
                nexts = [(edge.target, count, word + more) for more in words(edge.label, {}, longest) - {b""}]
            elif edge.kind == graphs.CALL:
                nexts = [(edge.target, count, word + more) for more in rules.get(edge.label, ())]
            elif edge.kind == graphs.OP:
                operation = edge.label
                if operation.code == ir.ADD:
                    nexts = [(edge.target, count + operation.value, word)]
                elif operation.code == ir.LESS:
                    nexts = nexts if count < operation.value else []
                else:
                    assert operation.code == ir.AT_LEAST
                    nexts = nexts if count >= operation.value else []
            for one in nexts:
                if len(one[2]) <= longest and one not in seen:
                    seen.add(one)
                    work.append(one)
    return out


def all_graph_words(made, longest=LONGEST):
    rules = {name: set() for name in made}
    while True:
        after = {name: graph_words(graph, rules, longest) for name, graph in made.items()}
        if after == rules:
            return rules
        rules = after


def rule_set(grammar, limits=DEFAULT_LIMITS):
    ir.verify(grammar)
    return graphs.RuleSet(grammar, graphs.GraphBuilder(has_empty, limits))


def assert_fit_for_the_machine(made):
    """What the passes promise: no empty text but the start's, no left recursion, nothing dead."""
    for name, graph in made.items():
        may_be_empty = b"" in graph_words(graph, {}, longest=0)
        assert name == graphs.START or not may_be_empty, f"{name} may be empty"
        reached, work = {graph.start}, [graph.start]
        while work:
            for edge in graph.edges[work.pop()]:
                if edge.target not in reached:
                    reached.add(edge.target)
                    work.append(edge.target)
        alive = graphs._alive(graph, set(made), set())
        assert reached <= alive
        assert all(edge.label in made for edges in graph.edges for edge in edges if edge.kind == graphs.CALL)
    calls = {name: left_calls(graph) for name, graph in made.items()}
    for component in strongly_connected(calls):
        assert len(component) == 1, f"left recursion through {component}"
        assert component[0] not in calls[component[0]], f"left recursion in {component}"


def nodes(names):
    return st.recursive(
        LEAVES | st.sampled_from(names).map(ir.Ref),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: ir.Seq(tuple(parts))),
            st.lists(inner, min_size=1, max_size=3).map(lambda parts: ir.Alt(tuple(parts))),
            st.tuples(inner, st.integers(0, 2), st.none() | st.integers(0, 2)).map(
                lambda t: ir.Repeat(t[0], t[1], None if t[2] is None else t[1] + t[2])
            ),
        ),
        max_leaves=6,
    )


GRAMMARS = st.fixed_dictionaries({name: nodes(NAMES) for name in NAMES}).map(
    lambda rules: ir.Grammar(ir.Ref("p"), rules)
)


@settings(max_examples=250)
@given(GRAMMARS)
def test_the_passes_keep_the_language(grammar):
    start, rules = grammar_words(grammar)
    try:
        made = rule_set(grammar).graphs
    except EmptyLanguageError:
        assert not start
        return
    assert_fit_for_the_machine(made)
    after = all_graph_words(made)
    assert after[graphs.START] == start
    for name in rules:
        # Rules other than the start lose the empty text; rules without a member are gone.
        assert after.get(name, set()) == rules[name] - {b""}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # E = E "a" | "b"
        (ir.Alt((ir.Seq((ir.Ref("p"), ir.Literal(b"a"))), ir.Literal(b"b"))), {b"b", b"ba", b"baa", b"baaa"}),
        # E = E E | "a"
        (ir.Alt((ir.Seq((ir.Ref("p"), ir.Ref("p"))), ir.Literal(b"a"))), {b"a" * n for n in range(1, 5)}),
        # E = E E | "a" | ""
        (ir.Alt((ir.Seq((ir.Ref("p"), ir.Ref("p"))), ir.Literal(b"a"), ir.Literal(b""))), {b"a" * n for n in range(5)}),
        # E = E | "a"
        (ir.Alt((ir.Ref("p"), ir.Literal(b"a"))), {b"a"}),
        # E = ""? E "a" | "b": left recursion hidden behind a nullable
        (ir.Alt((ir.Seq((ir.optional(ir.Literal(b"b")), ir.Ref("p"), ir.Literal(b"a"))), ir.Literal(b"b"))), {b"b", b"ba", b"bba", b"baa", b"bbaa", b"baaa"}),
    ],
    ids=["direct", "ambiguous", "nullable", "unit", "hidden"],
)  # fmt: skip
def test_left_recursion(body, expected):
    grammar = ir.Grammar(ir.Ref("p"), {"p": body})
    made = rule_set(grammar).graphs
    assert_fit_for_the_machine(made)
    assert all_graph_words(made)[graphs.START] == expected == grammar_words(grammar)[0]


def test_mutual_left_recursion():
    rules = {
        "p": ir.Alt((ir.Seq((ir.Ref("q"), ir.Literal(b"a"))), ir.Literal(b"b"))),
        "q": ir.Alt((ir.Seq((ir.Ref("p"), ir.Literal(b"b"))), ir.Literal(b"a"))),
    }
    grammar = ir.Grammar(ir.Ref("p"), rules)
    made = rule_set(grammar).graphs
    assert_fit_for_the_machine(made)
    assert all_graph_words(made)[graphs.START] == grammar_words(grammar)[0] == {b"b", b"aa", b"bba", b"aaba"}


@settings(max_examples=60)
@given(st.integers(0, 12), st.integers(0, 6), st.booleans(), st.sampled_from([b"a", b"aa", b""]), st.booleans())
def test_counted_repeats(low, more, bounded, body, optional):
    assume(low + more > graphs.UNROLL)
    part = ir.optional(ir.Literal(body)) if optional else ir.Literal(body)
    node = ir.Repeat(ir.Alt((part, ir.Ref("q"))), low, low + more if bounded else None)
    grammar = ir.Grammar(node, {"q": ir.Literal(b"aaa")})
    longest = 40
    made = rule_set(grammar).graphs
    assert_fit_for_the_machine(made)
    if low > graphs.UNROLL or bounded:
        assert any(isinstance(name, graphs.Counted) for name in made)
    assert all_graph_words(made, longest)[graphs.START] == grammar_words(grammar, longest)[0]


def test_rules_without_a_member_go_and_the_guilty_one_is_named():
    rules = {"p": ir.Alt((ir.Literal(b"a"), ir.Ref("q"))), "q": ir.Seq((ir.Literal(b"b"), ir.Ref("q")))}
    made = rule_set(ir.Grammar(ir.Ref("p"), rules)).graphs
    assert set(made) == {graphs.START, "p"}
    with pytest.raises(EmptyLanguageError, match="nothing satisfies q: no finite text matches it"):
        rule_set(ir.Grammar(ir.Ref("q"), {"q": rules["q"]}))


def test_only_the_empty_text():
    made = rule_set(ir.Grammar(ir.Ref("p"), {"p": ir.optional(ir.Ref("p"))})).graphs
    assert all_graph_words(made)[graphs.START] == {b""}


def test_rules_of_later_are_made_alone():
    grammar = ir.Grammar(ir.Ref("later"), {}, expand=lambda _: ir.Literal(b"a"))
    rules = rule_set(grammar)
    assert set(rules.graphs) == {graphs.START}
    counted = ir.Repeat(ir.Alt((ir.Literal(b"a"), ir.Ref("other"))), 20, 30)
    added = rules.later("later", counted)
    assert len(added) == 3
    assert set(rules.graphs) == {graphs.START}
    found = all_graph_words({**added, "other": graphs.RuleGraph([[]], 0, set())}, 32)["later"]
    assert found == {b"a" * n for n in range(20, 31)}


def test_limits_are_named():
    with pytest.raises(LimitExceededError) as caught:
        rule_set(
            ir.Grammar(ir.Repeat(ir.Alt((ir.Literal(b"a"), ir.Ref("p"))), 0, 11), {"p": ir.Literal(b"b")}),
            Limits(max_repeat=10),
        )
    assert caught.value.limit == "max_repeat"


def test_words_themselves():
    """The oracle on a grammar that can be read off."""
    balanced = ir.Alt((ir.Literal(b""), ir.Seq((ir.Literal(b"a"), ir.Ref("p"), ir.Literal(b"b"), ir.Ref("p")))))
    found, _ = grammar_words(ir.Grammar(ir.Ref("p"), {"p": balanced}))
    assert found == {b"", b"ab", b"abab", b"aabb"}
    every = {bytes(word) for size in range(3) for word in itertools.product(b"ab", repeat=size)}
    assert words(ir.Repeat(ir.ByteClass(1 << 97 | 1 << 98), 0, 2), {}) == every


def test_long_chains_of_rules_take_no_quadratic_time():
    """Nullable and productive only through the last rule; 20,000 passes over 20,000 rules would take minutes."""
    size = 20_000
    rules = {i: ir.Ref(i + 1) for i in range(size)}
    rules[size] = ir.optional(ir.Literal(b"a"))
    made = rule_set(ir.Grammar(ir.Ref(0), rules)).graphs
    assert len(made) == size + 2


def test_left_recursion_counts_towards_the_size():
    names = range(30)
    rules = {i: ir.Alt((ir.Literal(b"a"), *(ir.Seq((ir.Ref(j), ir.Literal(b"b"))) for j in names))) for i in names}
    grammar = ir.Grammar(ir.Ref(0), rules)
    rule_set(grammar)
    with pytest.raises(LimitExceededError) as caught:
        rule_set(grammar, Limits(max_regex_size=1_000))
    assert (caught.value.limit, caught.value.value) == ("max_regex_size", 1_000)
