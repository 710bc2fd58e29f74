"""Where everything lies in the flat int32 arrays of a machine. Constants only.

Kernels take a tuple of four one-dimensional int32 arrays, few because every array argument costs time and compile time:
    grammar    rule graphs, interned objects, edges; owned by one compiled grammar
    workspace  scratch space of one running call
    lexicon    lexer states, literals, finite sets, exits; shared by the grammars on a vocabulary
    tokens     the vocabulary's trie
Each begins with a header that holds scalars, where its sections begin (AT_...), and how long they are (CAP_...).

All interned things (sets of items, configurations, register values, sets of marks, texts) are *objects* with one
id space, one hash table and one pool. An object's content is a run of ints in the pool; equal content, equal id.
"""

from __future__ import annotations

import numpy as np

HEADER_SIZE = 32

# All constants are np.int64: numba compiles a function anew for every Python int literal it is called with.

# Sections of `grammar`.
AT_GRAPH, CAP_GRAPH = (np.int64(i) for i in (16, 17))  # rule graphs: node = [is_final, num_edges, (kind, a, b, target) * num_edges]
AT_RULES, CAP_RULES = (np.int64(i) for i in (18, 19))  # start node of each rule, or -1 where the rule has not been expanded
AT_OBJECTS, CAP_OBJECTS = (np.int64(i) for i in (20, 21))  # OBJECT_WIDTH ints each
AT_POOL, CAP_POOL = (np.int64(i) for i in (22, 23))  # contents of objects
AT_HASH, CAP_HASH = (np.int64(i) for i in (24, 25))  # open addressing, power of two, object ids, 0 = free
AT_EDGES, CAP_EDGES = (np.int64(i) for i in (26, 27))  # (lexer state, kernel) pairs of closed kernels

# Sections of `workspace`.
AT_SCRATCH, CAP_SCRATCH = (np.int64(i) for i in (0, 1))  # five regions: items, terminals, calls, kernel being built, small things
AT_WALK, CAP_WALK = (np.int64(i) for i in (2, 3))  # configurations by depth: [count, entered kernel, (lexer state, kernel) * capacity]

# Sections of `lexicon`.
AT_STATES, CAP_STATES = (np.int64(i) for i in (0, 1))  # STATE_WIDTH ints: flags, inside row or -1, offset and count of exits, first bytes (8)
AT_LITERALS, CAP_LITERALS = (np.int64(i) for i in (2, 3))
AT_TRIE, CAP_TRIE = (np.int64(i) for i in (4, 5))
AT_EXITS, CAP_EXITS = (np.int64(i) for i in (6, 7))

STATE_WIDTH = np.int64(12)
S_FIRST = np.int64(4)

# Sections of `tokens`.
AT_NODES, CAP_NODES = (np.int64(i) for i in (0, 1))
AT_ORDER, CAP_ORDER = (np.int64(i) for i in (2, 3))
AT_PATHS, CAP_PATHS = (np.int64(i) for i in (4, 5))

# Scalars in the header of `grammar`.
H_OBJECTS = np.int64(0)  # next object id
H_POOL = np.int64(1)  # next free int of the pool
H_EDGES = np.int64(2)
H_CODE = np.int64(3)  # why the last call stopped early, below
H_ARG = np.int64(4)
H_EXACT = np.int64(5)  # 1: texts of keys that end inside a token are interned; 0: they share the object NEW_TEXT
H_UNSURE = np.int64(6)  # set when sharing NEW_TEXT may have mattered; the caller repeats with H_EXACT = 1
H_VISITED = np.int64(7)  # trie nodes visited, for counted benchmarks
H_RESUME = np.int64(8)  # where the inside walk stopped
H_EXIT_COUNT = np.int64(9)

# Codes: what a call needs before it can be repeated.
OK = np.int64(0)
NEED_RULE = np.int64(1)  # arg: rule
NEED_ROW = np.int64(2)  # arg: lexer state
NEED_INSIDE = np.int64(3)  # arg: lexer state
GROW_OBJECTS = np.int64(4)
GROW_POOL = np.int64(5)
GROW_EDGES = np.int64(6)
GROW_SCRATCH = np.int64(7)
GROW_WALK = np.int64(8)
GROW_EXITS = np.int64(9)

# Objects.
OBJECT_WIDTH = np.int64(7)
O_TAG = np.int64(0)
O_OFFSET = np.int64(1)
O_LENGTH = np.int64(2)
O_A = np.int64(3)  # kernel: offset of its edges, -1 before it is closed
O_B = np.int64(4)  # kernel: number of edges
O_C = np.int64(5)  # kernel: 1 if the grammar may end here
O_FIRST = np.int64(6)  # kernel: the object of the bytes that may come first, 0 before it is asked for
TAG_KERNEL = np.int64(1)  # (node, return kernel, registers) * n, sorted
TAG_CONFIG = np.int64(2)  # (lexer state, kernel) * n, sorted; lexer state 0 = the kernel is entered
TAG_REGISTERS = np.int64(3)  # set, counter 0, counter 1, counter 2
TAG_LEAF = np.int64(4)  # element
TAG_BRANCH = np.int64(5)  # prefix, bit, left, right
TAG_TEXT = np.int64(6)  # parent text, byte
TAG_KEY = np.int64(7)  # expression state, text, escape
TAG_BYTES = np.int64(8)  # eight words, bit b % 32 of word b // 32

DEAD = np.int64(0)
TERMINATED = np.int64(1)
NEW_TEXT = np.int64(2)  # the text of a key that no one has seen
END_NODE_OBJECT = np.int64(3)
FIRST_OBJECT = np.int64(4)
TOP = np.int64(0)  # return kernel of the start rule

# Graph edges.
EDGE_EMPTY = np.int64(0)  # -> target
EDGE_TERMINAL = np.int64(1)  # a: lexer start state, b: 1 for keys
EDGE_CALL = np.int64(2)  # a: rule
EDGE_OP = np.int64(3)  # a: code | slot << 8, b: value or set object
END_NODE = np.int64(0)  # graph offset of the node that is final and has no edges

OP_ADD, OP_LESS, OP_AT_LEAST, OP_MARK, OP_MARKED, OP_UNMARKED, OP_INSERT = (np.int64(i) for i in range(7))
