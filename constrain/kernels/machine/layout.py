"""Where everything lies in the flat int32 arrays of a machine. Constants only.

Kernels take a tuple of four one-dimensional int32 arrays, few because every array argument costs time and compile time:
    grammar    rule graphs, interned objects, edges; owned by one compiled grammar
    workspace  scratch space of one running call
    lexicon    lexer states, literals, finite sets, exits; shared by the grammars on a vocabulary
    tokens     the vocabulary's trie
Each begins with a header that holds scalars, where its sections begin (AT_...), how long they are (CAP_...), and, last,
its own length.

All interned things (sets of items, configurations, register values, sets of marks, texts) are *objects* with one
id space, one hash table and one pool. An object's content is a run of ints in the pool; equal content, equal id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER_SIZE = 32

# In the header of every table: its length.
H_LENGTH = 31

# All constants are np.int64: numba compiles a function anew for every Python int literal it is called with.
int64 = cast("Callable[[int], int]", np.int64)

# Sections of `grammar`.
# rule graphs: node = [is_final, num_edges, (kind, a, b, target) * num_edges]
AT_GRAPH = int64(16)
CAP_GRAPH = int64(17)
# start node of each rule, or -1 where the rule has not been expanded
AT_RULES = int64(18)
CAP_RULES = int64(19)
# OBJECT_WIDTH ints each
AT_OBJECTS = int64(20)
CAP_OBJECTS = int64(21)
# contents of objects
AT_POOL = int64(22)
CAP_POOL = int64(23)
# open addressing, power of two, object ids, 0 = free
AT_HASH = int64(24)
CAP_HASH = int64(25)
# (lexer state, kernel) pairs of closed kernels
AT_EDGES = int64(26)
CAP_EDGES = int64(27)

# Sections of `workspace`.
# configurations by depth: [count, entered kernel, (lexer state, kernel) * H_PAIRS]
AT_WALK = int64(0)
CAP_WALK = int64(1)
# five regions: items, terminals, calls, kernel being built, small things; last, so that growing it moves nothing else
AT_SCRATCH = int64(2)
CAP_SCRATCH = int64(3)

# Sections of `lexicon`.
# STATE_WIDTH ints: flags, inside row or -1, offset and count of exits, first bytes (8), S_FLOOR, S_NEAR
AT_STATES = int64(0)
CAP_STATES = int64(1)
AT_LITERALS = int64(2)
CAP_LITERALS = int64(3)
AT_TRIE = int64(4)
CAP_TRIE = int64(5)
AT_EXITS = int64(6)
CAP_EXITS = int64(7)
# (lexer state, ABSOLUTE + count, or change of the count) for entries of `delta` from LINK on
AT_LINKS = int64(8)
CAP_LINKS = int64(9)

STATE_WIDTH = int64(14)
S_FIRST = int64(4)
S_FLOOR = int64(12)  # the least count of a shape
S_NEAR = int64(13)  # the entry of `delta` for one less, -1 before it is asked for

# Lexer states, and entries of `delta`.
LINK = int64(1 << 23)
LITERAL = int64(1 << 24)
TRIE = int64(1 << 26)
KEY = int64(1 << 28)
COUNT = int64(1 << 29)
ABSOLUTE = int64(1 << 24)

# Sections of `tokens`.
AT_NODES = int64(0)
CAP_NODES = int64(1)
AT_ORDER = int64(2)
CAP_ORDER = int64(3)
AT_PATHS = int64(4)
CAP_PATHS = int64(5)
AT_ENDS = int64(6)
CAP_ENDS = int64(7)

# Scalars in the header of `grammar`.
H_OBJECTS = int64(0)  # next object id
H_POOL = int64(1)  # next free int of the pool
H_EDGES = int64(2)
H_CODE = int64(3)  # why the last call stopped early, below
H_ARG = int64(4)
H_EXACT = int64(5)  # 1: texts of keys that end inside a token are interned; 0: they share the object NEW_TEXT
H_UNSURE = int64(6)  # set when sharing NEW_TEXT may have mattered; the caller repeats with H_EXACT = 1
H_VISITED = int64(7)  # trie nodes visited, for counted benchmarks
H_RESUME = int64(8)  # where the inside walk stopped
H_EXIT_COUNT = int64(9)

H_NUM_ROWS = int64(10)  # rows of the inside rows at hand
H_READ = int64(11)  # where `advance` goes on after a NEED, 0: at the beginning
H_READ_STATE = int64(12)  # and from which state

# In the header of `workspace`.
H_PAIRS = int64(30)  # pairs that a configuration may have

# In the header of `tokens`.
H_WORDS = int64(30)  # words of a mask

# Codes: what a call needs before it can be repeated.
OK = int64(0)
NEED_RULE = int64(1)  # arg: rule
NEED_ROW = int64(2)  # arg: lexer state
NEED_INSIDE = int64(3)  # arg: lexer state
GROW_OBJECTS = int64(4)
GROW_POOL = int64(5)
GROW_EDGES = int64(6)
GROW_SCRATCH = int64(7)
GROW_WALK = int64(8)
GROW_EXITS = int64(9)
NEED_NEAR = int64(10)  # arg: lexer state of a shape

# Objects.
OBJECT_WIDTH = int64(7)
O_TAG = int64(0)
O_OFFSET = int64(1)
O_LENGTH = int64(2)
O_A = int64(3)  # kernel: offset of its edges, -1 before it is closed
O_B = int64(4)  # kernel: number of edges
O_C = int64(5)  # kernel: 1 if the grammar may end here
O_FIRST = int64(6)  # kernel: the object of the bytes that may come first, 0 before it is asked for
TAG_KERNEL = int64(1)  # (node, return kernel, registers) * n, sorted
TAG_CONFIG = int64(2)  # (lexer state, kernel) * n, sorted; lexer state 0 = the kernel is entered
TAG_REGISTERS = int64(3)  # set, counter 0, counter 1, counter 2
TAG_LEAF = int64(4)  # element
TAG_BRANCH = int64(5)  # prefix, bit, left, right
TAG_TEXT = int64(6)  # parent text, byte
TAG_KEY = int64(7)  # expression state, text, escape
TAG_BYTES = int64(8)  # eight words, bit b % 32 of word b // 32
TAG_COUNT = int64(9)  # lexer state of a shape, count

DEAD = int64(0)
TERMINATED = int64(1)
NEW_TEXT = int64(2)  # the text of a key that no one has seen
END_NODE_OBJECT = int64(3)
FIRST_OBJECT = int64(4)
TOP = int64(0)  # return kernel of the start rule

# Graph edges.
EDGE_EMPTY = int64(0)  # -> target
EDGE_TERMINAL = int64(1)  # a: lexer start state, b: 1 for keys
EDGE_CALL = int64(2)  # a: rule
EDGE_OP = int64(3)  # a: code | slot << 8, b: value or set object
END_NODE = int64(0)  # graph offset of the node that is final and has no edges

OP_ADD, OP_LESS, OP_AT_LEAST, OP_MARK, OP_MARKED, OP_UNMARKED, OP_INSERT = (int64(i) for i in range(7))
