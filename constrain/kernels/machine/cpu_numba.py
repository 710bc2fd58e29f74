"""The machine in compiled code: closing sets of items, stepping configurations by bytes, masks.

Every function works on the flat tables that `layout.py` describes. The readable definition of what it computes is
`reference.py`; tests hold the two equal. Return values: an object id or a count >= 0; FAIL where something is
impossible; NEED where the caller must grow a table or expand a rule or row (code and argument in the header) and call
again, which is always safe, since tables only ever grow and work in progress lives in scratch space.

Read in this order: _intern, sets and registers, _close, _feed and _step, the entry points at the end.
All jitted callees stay in this file: numba's cache does not notice changes in other files.

Numba compiles every function together with all that it calls, to machine code, before it compiles a caller. With one
chain of calls a dozen deep that is a dozen times the same work (measured: 28 s). So the functions in `_STAGES`, whose
names end in `_body`, are compiled on their own and called by symbol; `link` provides the symbols.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba import carray, cfunc, config, njit, types
from numba.extending import intrinsic

from constrain.kernels.machine.layout import (
    ABSOLUTE,
    AT_EDGES,
    AT_ENDS,
    AT_EXITS,
    AT_FRAMES,
    AT_GRAPH,
    AT_HASH,
    AT_LINKS,
    AT_LITERALS,
    AT_NODES,
    AT_OBJECTS,
    AT_ORDER,
    AT_PATHS,
    AT_POOL,
    AT_RULES,
    AT_SCRATCH,
    AT_STACK,
    AT_STATES,
    AT_TRIE,
    AT_WALK,
    CAP_EDGES,
    CAP_ENDS,
    CAP_EXITS,
    CAP_HASH,
    CAP_LINKS,
    CAP_OBJECTS,
    CAP_POOL,
    CAP_SCRATCH,
    CAP_WALK,
    COUNT,
    DEAD,
    EDGE_CALL,
    EDGE_EMPTY,
    EDGE_TERMINAL,
    END_NODE,
    GROW_EDGES,
    GROW_EXITS,
    GROW_OBJECTS,
    GROW_POOL,
    GROW_SCRATCH,
    GROW_WALK,
    H_ARG,
    H_CODE,
    H_EDGES,
    H_EXACT,
    H_EXIT_COUNT,
    H_LENGTH,
    H_NUM_ROWS,
    H_OBJECTS,
    H_PAIRS,
    H_POOL,
    H_READ,
    H_READ_STATE,
    H_RESUME,
    H_SLOTS,
    H_UNSURE,
    H_VISITED,
    H_WORDS,
    KEY,
    LINK,
    LITERAL,
    MANY_READINGS,
    NEED_INSIDE,
    NEED_NEAR,
    NEED_ROW,
    NEED_RULE,
    NEW_TEXT,
    O_A,
    O_B,
    O_C,
    O_FIRST,
    O_LENGTH,
    O_OFFSET,
    O_TAG,
    OBJECT_WIDTH,
    OP_ADD,
    OP_AT_LEAST,
    OP_INSERT,
    OP_LESS,
    OP_MARK,
    OP_MARKED,
    OP_UNMARKED,
    S_FIRST,
    S_FLOOR,
    S_NEAR,
    STATE_WIDTH,
    TAG_BRANCH,
    TAG_BYTES,
    TAG_CONFIG,
    TAG_COUNT,
    TAG_KERNEL,
    TAG_KEY,
    TAG_LEAF,
    TAG_REGISTERS,
    TAG_TEXT,
    TERMINATED,
    TOP,
    TRIE,
    WIDE,
    int64,
)

FAIL = int64(-1)
NEED = int64(-2)
# Callees get no wrapper to be called from Python: that alone saves most of the one-time compilation.
_inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
LEX_END = int64(1)
ACCEPTS = int64(1)
CONTINUES = int64(2)
NEW_ELEMENT = int64(2 * NEW_TEXT + 1)
# Regions of SCRATCH, each a fifth of it.
ITEMS, TERMS, CALLS, BUILD, SMALL = (int64(i) for i in range(5))
ZERO, ONE = int64(0), int64(1)
# In SMALL: the hash table of items begins here, and is used for more than FEW items (a power of two).
SLOTS = int64(128)
FEW = int64(16)
FIRST_WORDS = int64(8)
YES = ONE
# Escapes of a key being read: mode | value << 4.
START, PLAIN, BACKSLASH, HEX, HEX_LAST, WANT_BACKSLASH, WANT_U, LOW, LOW_LAST = (
    int64(i) for i in (0, 1, 2, 3, 6, 7, 8, 9, 12)
)


# Callees take addresses, not arrays: an array is seven machine words in every call, and six of them made a call cost
# more than its work (measured: 0.19 us for an exit that does nothing, 45 s of compilation). Without the JIT, an
# "address" is the array itself.
if config.DISABLE_JIT:

    def _address(array: Any) -> Any:
        return array.reshape(-1)

    def _table(address: Any) -> Any:
        return address

    def _int32(address: Any) -> Any:
        return address

    def _uint8(address: Any) -> Any:
        return address

    def _row(address: Any, words: Any, index: Any) -> Any:
        return address[words * index : words * (index + 1)]

    def _at(address: Any, index: Any) -> Any:
        return address[index:]

else:

    @intrinsic
    def _as_int32(_: Any, address: Any) -> Any:  # pragma: no cover  compiled
        return types.CPointer(types.int32)(types.int64), lambda _c, b, s, a: b.inttoptr(
            a[0], _c.get_value_type(s.return_type)
        )

    @intrinsic
    def _as_uint8(_: Any, address: Any) -> Any:  # pragma: no cover  compiled
        return types.CPointer(types.uint8)(types.int64), lambda _c, b, s, a: b.inttoptr(
            a[0], _c.get_value_type(s.return_type)
        )

    @njit(inline="always")
    def _address(array: Any) -> Any:
        return np.int64(array.ctypes.data)

    if config.BOUNDSCHECK:  # a table begins with its length; of other arrays checks know nothing

        @njit(inline="always")
        def _table(address: Any) -> Any:
            return carray(_as_int32(address), (np.int64(carray(_as_int32(address), (32,))[H_LENGTH]),))

        @njit(inline="always")
        def _int32(address: Any) -> Any:
            return carray(_as_int32(address), (1 << 31,))

        @njit(inline="always")
        def _uint8(address: Any) -> Any:
            return carray(_as_uint8(address), (1 << 31,))

    else:  # a bare pointer compiles in a third less time than an array
        _table = _int32 = _as_int32
        _uint8 = _as_uint8

    @njit(inline="always")
    def _row(address: Any, words: Any, index: Any) -> Any:
        return address + 4 * words * index

    @njit(inline="always")
    def _at(address: Any, index: Any) -> Any:
        return address + 4 * index


@_inner
def _need(mp: Any, code: Any, argument: Any) -> Any:
    M = _table(mp)
    M[H_CODE] = code
    M[H_ARG] = argument
    return NEED


def _intern_body(mp: Any, tag: Any, pointer: Any, offset: Any, count: Any, create: Any) -> Any:
    """Return the object with this content; FAIL if there is none and `create` is false."""
    M = _table(mp)
    buffer = _int32(pointer)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    table = np.int64(M[AT_HASH])
    mask = np.int64(M[CAP_HASH]) - 1
    h = tag * 40503 + count
    for i in range(offset, offset + count):
        h = ((h ^ np.int64(buffer[i])) * 1540483477) & 0x3FFFFFFFFFFFFFFF
        h = (h ^ (h >> 17)) & 0x7FFFFFFF
    slot = (h ^ (h >> 9)) & mask
    while M[table + slot] != 0:
        found = np.int64(M[table + slot])
        base = found * OBJECT_WIDTH
        if M[objects + base + O_TAG] == tag and M[objects + base + O_LENGTH] == count:
            start = np.int64(M[objects + base + O_OFFSET])
            same = True
            for i in range(count):
                if M[pool + start + i] != buffer[offset + i]:
                    same = False
                    break
            if same:
                return found
        slot = (slot + 1) & mask
    if create == 0:
        return FAIL
    new = np.int64(M[H_OBJECTS])
    if (new + 1) * OBJECT_WIDTH > np.int64(M[CAP_OBJECTS]) or 2 * new > np.int64(M[CAP_HASH]):
        return _need(mp, GROW_OBJECTS, new)
    top = np.int64(M[H_POOL])
    if top + count > np.int64(M[CAP_POOL]):
        return _need(mp, GROW_POOL, count)
    for i in range(count):
        M[pool + top + i] = buffer[offset + i]
    M[H_POOL] = top + count
    M[H_OBJECTS] = new + 1
    base = new * OBJECT_WIDTH
    M[objects + base + O_TAG] = tag
    M[objects + base + O_OFFSET] = top
    M[objects + base + O_LENGTH] = count
    M[objects + base + O_A] = -1
    M[objects + base + O_B] = 0
    M[objects + base + O_C] = 0
    M[objects + base + O_FIRST] = 0
    M[table + slot] = new
    return new


@_inner
def _intern_small(
    mp: Any, wp: Any, lp: Any, vp: Any, tag: Any, a: Any, b: Any, c: Any, d: Any, count: Any, create: Any
) -> Any:
    W = _table(wp)
    scratch = np.int64(W[AT_SCRATCH])
    at = SMALL * (np.int64(W[CAP_SCRATCH]) // 5)
    W[scratch + at] = a
    W[scratch + at + 1] = b
    W[scratch + at + 2] = c
    W[scratch + at + 3] = d
    return _intern(mp, tag, wp, scratch + at, count, create)


@_inner
def _contains(mp: Any, wp: Any, lp: Any, vp: Any, tree: Any, element: Any) -> Any:
    """Is `element` in the set `tree` (0 is the empty set; hash-consed little-endian Patricia tree)?"""
    M = _table(mp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    while tree != 0:
        base = tree * OBJECT_WIDTH
        at = M[objects + base + O_OFFSET]
        if M[objects + base + O_TAG] == TAG_LEAF:
            return M[pool + at] == element
        bit = M[pool + at + 1]
        if (element & (bit - 1)) != M[pool + at]:
            return False
        tree = np.int64(M[pool + at + 2]) if (element & bit) == 0 else np.int64(M[pool + at + 3])
    return False


@_inner
def _insert(mp: Any, wp: Any, lp: Any, vp: Any, tree: Any, element: Any) -> Any:
    """Return the set with `element` added."""
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    scratch = np.int64(W[AT_SCRATCH])
    path = SMALL * (np.int64(W[CAP_SCRATCH]) // 5) + 8
    depth = ZERO
    made = _intern_small(mp, wp, lp, vp, TAG_LEAF, element, ZERO, ZERO, ZERO, ONE, YES)
    if made < 0:
        return made
    while tree != 0:
        base = tree * OBJECT_WIDTH
        at = M[objects + base + O_OFFSET]
        prefix = np.int64(M[pool + at])
        if M[objects + base + O_TAG] == TAG_LEAF:
            if prefix == element:
                return np.int64(W[scratch + path]) if depth > 0 else tree
            differ = prefix ^ element
        else:
            bit = np.int64(M[pool + at + 1])
            if (element & (bit - 1)) == prefix:
                W[scratch + path + depth] = tree
                depth += 1
                tree = np.int64(M[pool + at + 2]) if (element & bit) == 0 else np.int64(M[pool + at + 3])
                continue
            differ = (element & (bit - 1)) ^ prefix
        low = differ & -differ
        if (element & low) == 0:
            made = _intern_small(mp, wp, lp, vp, TAG_BRANCH, element & (low - 1), low, made, tree, np.int64(4), YES)
        else:
            made = _intern_small(mp, wp, lp, vp, TAG_BRANCH, element & (low - 1), low, tree, made, np.int64(4), YES)
        if made < 0:
            return made
        break
    return _rebuild(mp, wp, lp, vp, path, depth, made, element)


@_inner
def _rebuild(mp: Any, wp: Any, lp: Any, vp: Any, path: Any, depth: Any, made: Any, element: Any) -> Any:
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    scratch = np.int64(W[AT_SCRATCH])
    while depth > 0:
        depth -= 1
        at = M[objects + np.int64(W[scratch + path + depth]) * OBJECT_WIDTH + O_OFFSET]
        prefix, bit = np.int64(M[pool + at]), np.int64(M[pool + at + 1])
        if (element & bit) == 0:
            made = _intern_small(
                mp, wp, lp, vp, TAG_BRANCH, prefix, bit, made, np.int64(M[pool + at + 3]), np.int64(4), YES
            )
        else:
            made = _intern_small(
                mp, wp, lp, vp, TAG_BRANCH, prefix, bit, np.int64(M[pool + at + 2]), made, np.int64(4), YES
            )
        if made < 0:
            return made
    return made


@_inner
def _with_registers(mp: Any, wp: Any, lp: Any, vp: Any, tree: Any, c0: Any, c1: Any, c2: Any) -> Any:
    if tree == 0 and c0 == 0 and c1 == 0 and c2 == 0:
        return 0
    return _intern_small(mp, wp, lp, vp, TAG_REGISTERS, tree, c0, c1, c2, np.int64(4), YES)


@_inner
def _apply(mp: Any, wp: Any, lp: Any, vp: Any, operation: Any, value: Any, registers: Any) -> Any:
    """Return the registers after an operation, FAIL if it forbids going on."""
    M = _table(mp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    code, slot = operation & 255, operation >> 8
    tree, c0, c1, c2 = ZERO, ZERO, ZERO, ZERO
    if registers != 0:
        at = M[objects + registers * OBJECT_WIDTH + O_OFFSET]
        tree, c0, c1, c2 = (
            np.int64(M[pool + at]),
            np.int64(M[pool + at + 1]),
            np.int64(M[pool + at + 2]),
            np.int64(M[pool + at + 3]),
        )
    counter = c0 if slot == 0 else (c1 if slot == 1 else c2)
    if code == OP_LESS:
        return registers if counter < value else FAIL
    if code == OP_AT_LEAST:
        return registers if counter >= value else FAIL
    if code == OP_MARKED:
        return registers if _contains(mp, wp, lp, vp, tree, 2 * value) else FAIL
    if code == OP_UNMARKED:
        return FAIL if _contains(mp, wp, lp, vp, tree, 2 * value) else registers
    if code == OP_ADD:
        counter += value
        if slot == 0:
            c0 = counter
        elif slot == 1:
            c1 = counter
        else:
            c2 = counter
    elif code == OP_MARK:
        if _contains(mp, wp, lp, vp, tree, 2 * value):
            return FAIL
        tree = _insert(mp, wp, lp, vp, tree, 2 * value)
        if tree < 0:
            return tree
    elif code == OP_INSERT:
        # Front ends insert once, when the rule is entered; `value` is the whole set, made in advance.
        tree = value
    return _with_registers(mp, wp, lp, vp, tree, c0, c1, c2)


@_inner
def _less(pointer: Any, a: Any, b: Any, width: Any) -> Any:
    buffer = _int32(pointer)
    for i in range(width):
        if buffer[a + i] != buffer[b + i]:
            return buffer[a + i] < buffer[b + i]
    return False


def _sort_body(pointer: Any, offset: Any, count: Any, width: Any) -> Any:
    """Sort `count` records of `width` ints lexicographically (shell sort: no extra room; most are short or sorted)."""
    buffer = _int32(pointer)
    gap = ONE
    i = ONE
    while i < count and not _less(pointer, offset + i * width, offset + (i - 1) * width, width):
        i += 1
    if i >= count:
        return ZERO
    while 3 * gap < count:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, count):
            j = i
            while j >= gap and _less(pointer, offset + j * width, offset + (j - gap) * width, width):
                for k in range(width):
                    a, b = offset + j * width + k, offset + (j - gap) * width + k
                    swap = buffer[a]
                    buffer[a] = buffer[b]
                    buffer[b] = swap
                j -= gap
        gap //= 3
    return ZERO


@_inner
def _unique(pointer: Any, offset: Any, count: Any, width: Any) -> Any:
    """Drop repeated records of a sorted run; return how many are left."""
    buffer = _int32(pointer)
    kept = ZERO
    for i in range(count):
        same = kept > 0
        if same:
            for k in range(width):
                if buffer[offset + i * width + k] != buffer[offset + (kept - 1) * width + k]:
                    same = False
                    break
        if not same:
            for k in range(width):
                buffer[offset + kept * width + k] = buffer[offset + i * width + k]
            kept += 1
    return kept


@_inner
def _build(mp: Any, wp: Any, lp: Any, vp: Any, count: Any, node: Any, kernel: Any, registers: Any, shorten: Any) -> Any:
    """Append an item to the kernel being built; an item that can only return is replaced by what it returns to."""
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    graph = np.int64(M[AT_GRAPH])
    scratch = np.int64(W[AT_SCRATCH])
    room = np.int64(W[CAP_SCRATCH]) // 5
    start = BUILD * room
    if shorten != 0 and M[graph + node] == 1 and M[graph + node + 1] == 0:
        if kernel != TOP:
            base = kernel * OBJECT_WIDTH
            at, items = np.int64(M[objects + base + O_OFFSET]), np.int64(M[objects + base + O_LENGTH])
            if 3 * count + items > room:
                return _need(mp, GROW_SCRATCH, items)
            for i in range(items):
                W[scratch + start + 3 * count + i] = M[pool + at + i]
            return count + items // 3
        node, registers = END_NODE, ZERO
    if 3 * count + 3 > room:
        return _need(mp, GROW_SCRATCH, np.int64(3))
    W[scratch + start + 3 * count] = node
    W[scratch + start + 3 * count + 1] = kernel
    W[scratch + start + 3 * count + 2] = registers
    return count + 1


def _built_body(mp: Any, wp: Any, lp: Any, vp: Any, count: Any) -> Any:
    """Intern the kernel that was built."""
    W = _table(wp)
    scratch = np.int64(W[AT_SCRATCH])
    start = BUILD * (np.int64(W[CAP_SCRATCH]) // 5)
    _sort(wp, scratch + start, count, np.int64(3))
    count = _unique(wp, scratch + start, count, np.int64(3))
    return _intern(mp, TAG_KERNEL, wp, scratch + start, 3 * count, YES)


@_inner
def _union(mp: Any, wp: Any, lp: Any, vp: Any, first: Any, second: Any) -> Any:
    """Return the kernel with the items of both."""
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    scratch = np.int64(W[AT_SCRATCH])
    if first == second or second == 0:
        return first
    if first == 0:
        return second
    room = np.int64(W[CAP_SCRATCH]) // 5
    count = ZERO
    for which in range(2):
        base = (first if which == 0 else second) * OBJECT_WIDTH
        at, items = np.int64(M[objects + base + O_OFFSET]), np.int64(M[objects + base + O_LENGTH])
        if count + items > room:
            return _need(mp, GROW_SCRATCH, items)
        for i in range(items):
            W[scratch + BUILD * room + count + i] = M[pool + at + i]
        count += items
    return _built(mp, wp, lp, vp, count // 3)


def _capture_body(mp: Any, wp: Any, lp: Any, vp: Any, kernel: Any, element: Any) -> Any:
    """Return the kernel after a key with this text, 0 if its text may not come (again)."""
    M = _table(mp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    base = kernel * OBJECT_WIDTH
    at, items = np.int64(M[objects + base + O_OFFSET]), np.int64(M[objects + base + O_LENGTH])
    count = ZERO
    for i in range(0, items, 3):
        registers = np.int64(M[pool + at + i + 2])
        tree, c0, c1, c2 = ZERO, ZERO, ZERO, ZERO
        if registers != 0:
            where = M[objects + registers * OBJECT_WIDTH + O_OFFSET]
            tree, c0, c1, c2 = (
                np.int64(M[pool + where]),
                np.int64(M[pool + where + 1]),
                np.int64(M[pool + where + 2]),
                np.int64(M[pool + where + 3]),
            )
        if _contains(mp, wp, lp, vp, tree, NEW_ELEMENT):
            M[H_UNSURE] = 1
        if _contains(mp, wp, lp, vp, tree, element):
            continue
        tree = _insert(mp, wp, lp, vp, tree, element)
        if tree < 0:
            return tree
        registers = _with_registers(mp, wp, lp, vp, tree, c0, c1, c2)
        if registers < 0:
            return registers
        count = _build(
            mp, wp, lp, vp, count, np.int64(M[pool + at + i]), np.int64(M[pool + at + i + 1]), registers, YES
        )
        if count < 0:
            return count
    return _built(mp, wp, lp, vp, count) if count > 0 else 0


@_inner
def _push_item(mp: Any, wp: Any, lp: Any, vp: Any, count: Any, node: Any, kernel: Any, registers: Any) -> Any:
    """Append an item to those of the kernel being closed, unless it is there; return how many there are."""
    W = _table(wp)
    scratch = np.int64(W[AT_SCRATCH])
    room = np.int64(W[CAP_SCRATCH]) // 5
    slot = ZERO
    if count < FEW:
        for i in range(0, 3 * count, 3):
            if W[scratch + i] == node and W[scratch + i + 1] == kernel and W[scratch + i + 2] == registers:
                return count
    else:
        table = scratch + SMALL * room + SLOTS
        slots = np.int64(W[H_SLOTS])
        slot = _item_slot(node, kernel, registers) & slots
        while W[table + slot] != 0:
            at = scratch + 3 * (np.int64(W[table + slot]) - 1)
            if W[at] == node and W[at + 1] == kernel and W[at + 2] == registers:
                return count
            slot = (slot + 1) & slots
        W[table + slot] = count + 1
    if 3 * count + 3 > room:
        return _need(mp, GROW_SCRATCH, np.int64(3))
    W[scratch + 3 * count] = node
    W[scratch + 3 * count + 1] = kernel
    W[scratch + 3 * count + 2] = registers
    count += 1
    if count >= FEW and count & (count - 1) == 0:
        return _hash_items(mp, wp, count)
    return count


@_inner
def _item_slot(node: Any, kernel: Any, registers: Any) -> Any:
    h = (node * 1540483477) ^ (kernel * 668265263) ^ (registers * 374761393)
    h = (h ^ (h >> 17)) & 0x7FFFFFFF
    return h ^ (h >> 9)


@_inner
def _hash_items(mp: Any, wp: Any, count: Any) -> Any:
    """Fill the hash table of items anew, with four slots for each; return how many there are."""
    W = _table(wp)
    scratch = np.int64(W[AT_SCRATCH])
    room = np.int64(W[CAP_SCRATCH]) // 5
    if SLOTS + 4 * count > room:
        return _need(mp, GROW_SCRATCH, 4 * count)
    slots = 4 * count - 1
    W[H_SLOTS] = slots
    table = scratch + SMALL * room + SLOTS
    for i in range(4 * count):
        W[table + i] = 0
    for i in range(count):
        at = scratch + 3 * i
        slot = _item_slot(np.int64(W[at]), np.int64(W[at + 1]), np.int64(W[at + 2])) & slots
        while W[table + slot] != 0:
            slot = (slot + 1) & slots
        W[table + slot] = i + 1
    return count


@_inner
def _push_kernel(mp: Any, wp: Any, lp: Any, vp: Any, count: Any, kernel: Any) -> Any:
    M = _table(mp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    base = kernel * OBJECT_WIDTH
    at, items = np.int64(M[objects + base + O_OFFSET]), np.int64(M[objects + base + O_LENGTH])
    for i in range(at, at + items, 3):
        count = _push_item(
            mp, wp, lp, vp, count, np.int64(M[pool + i]), np.int64(M[pool + i + 1]), np.int64(M[pool + i + 2])
        )
        if count < 0:
            return count
    return count


@_inner
def _push_record(
    mp: Any, wp: Any, lp: Any, vp: Any, region: Any, count: Any, a: Any, b: Any, c: Any, d: Any, e: Any
) -> Any:
    W = _table(wp)
    scratch = np.int64(W[AT_SCRATCH])
    room = np.int64(W[CAP_SCRATCH]) // 5
    if 5 * count + 5 > room:
        return _need(mp, GROW_SCRATCH, np.int64(5))
    at = region * room + 5 * count
    W[scratch + at] = a
    W[scratch + at + 1] = b
    W[scratch + at + 2] = c
    W[scratch + at + 3] = d
    W[scratch + at + 4] = e
    return count + 1


def _close_body(mp: Any, wp: Any, lp: Any, vp: Any, kernel: Any) -> Any:
    """Make the edges of a kernel: which terminals may come next and which kernel follows each.

    Items that call the same rule share one return kernel. A rule called again later in the same closure, from items
    not seen before, gets a second return kernel; that is exact, only less shared.
    """
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    graph = np.int64(M[AT_GRAPH])
    rules = np.int64(M[AT_RULES])
    scratch = np.int64(W[AT_SCRATCH])
    if M[objects + kernel * OBJECT_WIDTH + O_A] >= 0:
        return 0
    room = np.int64(W[CAP_SCRATCH]) // 5
    items = _push_kernel(mp, wp, lp, vp, ZERO, kernel)
    if items < 0:
        return items
    terms, calls, done, accepting = ZERO, ZERO, ZERO, ZERO
    while True:
        while done < items:
            node, back, registers = (
                np.int64(W[scratch + 3 * done]),
                np.int64(W[scratch + 3 * done + 1]),
                np.int64(W[scratch + 3 * done + 2]),
            )
            done += 1
            if M[graph + node] == 1:
                if back == TOP:
                    accepting = ONE
                else:
                    items = _push_kernel(mp, wp, lp, vp, items, back)
                    if items < 0:
                        return items
            for e in range(M[graph + node + 1]):
                at = node + 2 + 4 * e
                kind, a, b, target = (
                    np.int64(M[graph + at]),
                    np.int64(M[graph + at + 1]),
                    np.int64(M[graph + at + 2]),
                    np.int64(M[graph + at + 3]),
                )
                if kind == EDGE_EMPTY:
                    items = _push_item(mp, wp, lp, vp, items, target, back, registers)
                elif kind == EDGE_TERMINAL:
                    terms = _push_record(mp, wp, lp, vp, TERMS, terms, a, b, target, back, registers)
                elif kind == EDGE_CALL:
                    calls = _push_record(mp, wp, lp, vp, CALLS, calls, a, ZERO, target, back, registers)
                else:
                    after = _apply(mp, wp, lp, vp, a, b, registers)
                    if after == NEED:
                        return after
                    if after >= 0:
                        items = _push_item(mp, wp, lp, vp, items, target, back, after)
                if items < 0 or terms < 0 or calls < 0:
                    return NEED
        rule = np.int64(-1)
        count = ZERO
        for i in range(calls):
            at = CALLS * room + 5 * i
            if W[scratch + at + 1] == 0 and (rule < 0 or W[scratch + at] == rule):
                rule = np.int64(W[scratch + at])
                W[scratch + at + 1] = 1
                count = _build(
                    mp,
                    wp,
                    lp,
                    vp,
                    count,
                    np.int64(W[scratch + at + 2]),
                    np.int64(W[scratch + at + 3]),
                    np.int64(W[scratch + at + 4]),
                    YES,
                )
                if count < 0:
                    return count
        if rule < 0:
            break
        if M[rules + rule] < 0:
            return _need(mp, NEED_RULE, rule)
        back = _built(mp, wp, lp, vp, count)
        if back < 0:
            return back
        items = _push_item(mp, wp, lp, vp, items, np.int64(M[rules + rule]), back, ZERO)
        if items < 0:
            return items
    return _write_edges(mp, wp, lp, vp, kernel, terms, accepting)


@_inner
def _write_edges(mp: Any, wp: Any, lp: Any, vp: Any, kernel: Any, terms: Any, accepting: Any) -> Any:
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    edges = np.int64(M[AT_EDGES])
    scratch = np.int64(W[AT_SCRATCH])
    room = np.int64(W[CAP_SCRATCH]) // 5
    start = TERMS * room
    _sort(wp, scratch + start, terms, np.int64(5))
    first = np.int64(M[H_EDGES])
    if first + 2 * terms > np.int64(M[CAP_EDGES]):
        return _need(mp, GROW_EDGES, 2 * terms)
    made, i = ZERO, ZERO
    while i < terms:
        at = start + 5 * i
        state, is_key = np.int64(W[scratch + at]), np.int64(W[scratch + at + 1])
        count = ZERO
        while i < terms and W[scratch + start + 5 * i] == state and W[scratch + start + 5 * i + 1] == is_key:
            at = start + 5 * i
            count = _build(
                mp,
                wp,
                lp,
                vp,
                count,
                np.int64(W[scratch + at + 2]),
                np.int64(W[scratch + at + 3]),
                np.int64(W[scratch + at + 4]),
                ONE - is_key,
            )
            if count < 0:
                return count
            i += 1
        target = _built(mp, wp, lp, vp, count)
        if target < 0:
            return target
        if is_key:
            key = _intern_small(mp, wp, lp, vp, TAG_KEY, state, ZERO, START, ZERO, np.int64(3), YES)
            if key < 0:
                return key
            state = KEY + key
        M[edges + first + 2 * made] = state
        M[edges + first + 2 * made + 1] = target
        made += 1
    M[H_EDGES] = first + 2 * made
    base = kernel * OBJECT_WIDTH
    M[objects + base + O_B] = made
    M[objects + base + O_C] = accepting
    M[objects + base + O_A] = first
    return 0


@_inner
def _child(pointer: Any, nodes: Any, node: Any, byte: Any) -> Any:
    """Return the child by `byte` of a node of the trie at `nodes` in `array`, 0 if there is none."""
    array = _int32(pointer)
    child, end = node + 1, np.int64(array[nodes + 4 * node + 2])
    while child < end:
        here = array[nodes + 4 * child]
        if here >= byte:
            return child if here == byte else 0
        child = np.int64(array[nodes + 4 * child + 2])
    return 0


@_inner
def _follow(mp: Any, wp: Any, lp: Any, vp: Any, link: Any, count: Any) -> Any:
    """Return the lexer state of an entry of `delta` that counts: a shape with its count, written out when it is low."""
    L = _table(lp)
    at = np.int64(L[AT_LINKS]) + 2 * (link - LINK)
    shape, action = np.int64(L[at]), np.int64(L[at + 1])
    count = action - ABSOLUTE if action >= ABSOLUTE else count + action
    of_shape = np.int64(L[AT_STATES]) + STATE_WIDTH * shape
    if count < L[of_shape + S_FLOOR]:
        near = np.int64(L[of_shape + S_NEAR])
        if near < 0:
            return _need(mp, NEED_NEAR, shape)
        if near < LINK:
            return near
        if 2 * (near - LINK) >= L[CAP_LINKS]:
            return _need(mp, NEED_ROW, shape)
        at = np.int64(L[AT_LINKS]) + 2 * (near - LINK)
        shape, count = np.int64(L[at]), np.int64(L[at + 1]) - ABSOLUTE
    counted = _intern_small(mp, wp, lp, vp, TAG_COUNT, shape, count, ZERO, ZERO, np.int64(2), YES)
    return counted if counted < 0 else COUNT + counted


@_inner
def _content(mp: Any, identity: Any) -> Any:
    """Return where in the table of the grammar an object's content lies."""
    M = _table(mp)
    return np.int64(M[AT_POOL]) + np.int64(M[np.int64(M[AT_OBJECTS]) + identity * OBJECT_WIDTH + O_OFFSET])


@_inner
def _uncounted(mp: Any, state: Any) -> Any:
    """Return the shape of a counted state, any other state as it is."""
    return state if state < COUNT else np.int64(_table(mp)[_content(mp, state - COUNT)])


@_inner
def _lex(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, state: Any, byte: Any) -> Any:
    """Return the lexer state after a byte (0: dead), for all states but keys."""
    M = _table(mp)
    L = _table(lp)
    D = _int32(dp)
    literals = np.int64(L[AT_LITERALS])
    trie = np.int64(L[AT_TRIE])
    count = ZERO
    if state >= COUNT:
        where = _content(mp, state - COUNT)
        state, count = np.int64(M[where]), np.int64(M[where + 1])
    if state < LITERAL:
        after = np.int64(D[256 * state + byte])
        # Another thread may have made a link in tables that are larger than the ones at hand; NEED fetches those.
        if after < 0 or (after >= LINK and 2 * (after - LINK) >= L[CAP_LINKS]):
            return _need(mp, NEED_ROW, state)
        return after if after < LINK else _follow(mp, wp, lp, vp, after, count)
    if state < TRIE:
        at = state - LITERAL
        if L[literals + at] != byte:
            return 0
        return state + 1 if L[literals + at + 1] >= 0 else LEX_END
    child = _child(lp, trie, state - TRIE, byte)
    return TRIE + child if child else 0


@_inner
def _flags(mp: Any, wp: Any, lp: Any, vp: Any, state: Any) -> Any:
    L = _table(lp)
    states = np.int64(L[AT_STATES])
    trie = np.int64(L[AT_TRIE])
    state = _uncounted(mp, state)
    if state < LITERAL:
        return L[states + STATE_WIDTH * state]
    if state < TRIE:
        return CONTINUES
    node = state - TRIE
    ends = ACCEPTS if L[trie + 4 * node + 7] > L[trie + 4 * node + 3] else 0
    return ends | (CONTINUES if L[trie + 4 * node + 2] > node + 1 else 0)


@_inner
def _append_byte(mp: Any, wp: Any, lp: Any, vp: Any, text: Any, byte: Any, create: Any) -> Any:
    """Return text + byte; FAIL for a text that no one has interned, when `create` is false."""
    return (
        FAIL if text == FAIL else _intern_small(mp, wp, lp, vp, TAG_TEXT, text, byte, ZERO, ZERO, np.int64(2), create)
    )


@_inner
def _append_char(mp: Any, wp: Any, lp: Any, vp: Any, text: Any, code: Any, create: Any) -> Any:
    if code < 0x80:
        return _append_byte(mp, wp, lp, vp, text, code, create)
    if code < 0x800:
        text = _append_byte(mp, wp, lp, vp, text, 0xC0 | (code >> 6), create)
    else:
        if code < 0x10000:
            text = _append_byte(mp, wp, lp, vp, text, 0xE0 | (code >> 12), create)
        else:
            text = _append_byte(mp, wp, lp, vp, text, 0xF0 | (code >> 18), create)
            if text == NEED:
                return text
            text = _append_byte(mp, wp, lp, vp, text, 0x80 | ((code >> 12) & 63), create)
        if text == NEED:
            return text
        text = _append_byte(mp, wp, lp, vp, text, 0x80 | ((code >> 6) & 63), create)
    if text == NEED:
        return text
    return _append_byte(mp, wp, lp, vp, text, 0x80 | (code & 63), create)


@_inner
def _decode(mp: Any, wp: Any, lp: Any, vp: Any, text: Any, escape: Any, byte: Any, create: Any) -> Any:
    """Return (text, escape) after one more byte of a JSON string literal, which the lexer has found to be right."""
    mode, value = escape & 15, escape >> 4
    if mode == PLAIN:
        if byte == 92:
            return text, BACKSLASH
        return (text if byte == 34 else _append_byte(mp, wp, lp, vp, text, byte, create)), PLAIN
    if mode == START:
        return text, PLAIN
    if mode == BACKSLASH:
        if byte == 117:
            return text, HEX
        code = byte
        if byte == 98:
            code = 8
        elif byte == 102:
            code = 12
        elif byte == 110:
            code = 10
        elif byte == 114:
            code = 13
        elif byte == 116:
            code = 9
        return _append_byte(mp, wp, lp, vp, text, code, create), PLAIN
    if mode == WANT_BACKSLASH or mode == WANT_U:
        return text, (mode + 1) | (value << 4)
    digit = byte - 48 if byte < 58 else (byte | 32) - 87
    value = value * 16 + digit
    if mode == HEX_LAST:
        if 0xD800 <= value < 0xDC00:
            return text, WANT_BACKSLASH | ((value - 0xD800) << 4)
        return _append_char(mp, wp, lp, vp, text, value, create), PLAIN
    if mode == LOW_LAST:
        code = 0x10000 + ((value >> 16) << 10) + ((value & 0xFFFF) - 0xDC00)
        return _append_char(mp, wp, lp, vp, text, code, create), PLAIN
    return text, (mode + 1) | (value << 4)


@_inner
def _enter(mp: Any, wp: Any, lp: Any, vp: Any, at: Any, kernel: Any) -> Any:
    """Add a kernel to those entered in the frame at `at`."""
    W = _table(wp)
    walk = np.int64(W[AT_WALK])
    both = _union(mp, wp, lp, vp, np.int64(W[walk + at + 1]), kernel)
    if both > 0:
        W[walk + at + 1] = both
    return both


@_inner
def _feed(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, state: Any, kernel: Any, byte: Any, at: Any) -> Any:
    """Advance one pair by one byte and add what comes of it to the frame at `at`."""
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    walk = np.int64(W[AT_WALK])
    if KEY <= state < COUNT:
        where = M[objects + (state - KEY) * OBJECT_WIDTH + O_OFFSET]
        inner, text, escape = np.int64(M[pool + where]), np.int64(M[pool + where + 1]), np.int64(M[pool + where + 2])
        inner = _lex(mp, wp, lp, vp, dp, inner, byte)
        if inner <= 0:
            return inner
        text, escape = _decode(mp, wp, lp, vp, text, escape, byte, YES)
        if text < 0:
            return text
        if _flags(mp, wp, lp, vp, inner) & ACCEPTS:
            kernel = _capture(mp, wp, lp, vp, kernel, 2 * text + 1)
            return _enter(mp, wp, lp, vp, at, kernel) if kernel > 0 else kernel
        state = _intern_small(mp, wp, lp, vp, TAG_KEY, inner, text, escape, ZERO, np.int64(3), YES)
        if state < 0:
            return state
        state += KEY
    else:
        state = _lex(mp, wp, lp, vp, dp, state, byte)
        if state <= 0:
            return state
        flags = _flags(mp, wp, lp, vp, state)
        if flags & ACCEPTS:
            status = _enter(mp, wp, lp, vp, at, kernel)
            if status < 0:
                return status
        if not flags & CONTINUES:
            return 0
    count = np.int64(W[walk + at])
    if count >= W[H_PAIRS]:
        return _need(mp, MANY_READINGS, ZERO)
    if at + 4 + 2 * count + FIRST_WORDS > W[CAP_WALK]:
        return _need(mp, GROW_WALK, ZERO)
    W[walk + at + 2 + 2 * count] = state
    W[walk + at + 3 + 2 * count] = kernel
    W[walk + at] = count + 1
    return 0


def _step_body(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, source: Any, target: Any, byte: Any) -> Any:
    """Advance the configuration in frame `source` by a byte into frame `target`; 0: nothing is left, 1: else.

    The target begins where the source ends.
    """
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    edges = np.int64(M[AT_EDGES])
    walk = np.int64(W[AT_WALK])
    frames = np.int64(W[AT_FRAMES])
    at = np.int64(W[frames + source])
    to = at + 2 + 2 * np.int64(W[walk + at])
    if W[walk + at] > WIDE:
        to += FIRST_WORDS
    if to + 2 + FIRST_WORDS > W[CAP_WALK]:
        return _need(mp, GROW_WALK, ZERO)
    W[frames + target] = to
    W[walk + to] = 0
    W[walk + to + 1] = 0
    entered = np.int64(W[walk + at + 1])
    if entered:
        status = _close(mp, wp, lp, vp, entered)
        if status < 0:
            return status
        first, count = (
            np.int64(M[objects + entered * OBJECT_WIDTH + O_A]),
            np.int64(M[objects + entered * OBJECT_WIDTH + O_B]),
        )
        for i in range(first, first + 2 * count, 2):
            status = _feed(mp, wp, lp, vp, dp, np.int64(M[edges + i]), np.int64(M[edges + i + 1]), byte, to)
            if status < 0:
                return status
    for i in range(at + 2, at + 2 + 2 * np.int64(W[walk + at]), 2):
        status = _feed(mp, wp, lp, vp, dp, np.int64(W[walk + i]), np.int64(W[walk + i + 1]), byte, to)
        if status < 0:
            return status
    if W[walk + to] > 1:
        status = _merge_pairs(mp, wp, lp, vp, to)
        if status < 0:
            return status
    return 1 if W[walk + to] > 0 or W[walk + to + 1] > 0 else 0


@_inner
def _merge_pairs(mp: Any, wp: Any, lp: Any, vp: Any, at: Any) -> Any:
    """Sort the pairs of a frame and unite the kernels of equal lexer states."""
    W = _table(wp)
    walk = np.int64(W[AT_WALK])
    count = np.int64(W[walk + at])
    _sort(wp, walk + at + 2, count, np.int64(2))
    kept = ZERO
    for i in range(count):
        state, kernel = np.int64(W[walk + at + 2 + 2 * i]), np.int64(W[walk + at + 3 + 2 * i])
        if kept > 0 and W[walk + at + 2 * kept] == state:
            kernel = _union(mp, wp, lp, vp, np.int64(W[walk + at + 1 + 2 * kept]), kernel)
            if kernel < 0:
                return kernel
            W[walk + at + 1 + 2 * kept] = kernel
        else:
            W[walk + at + 2 + 2 * kept] = state
            W[walk + at + 3 + 2 * kept] = kernel
            kept += 1
    W[walk + at] = kept
    return 0


@_inner
def _load(mp: Any, wp: Any, lp: Any, vp: Any, state: Any) -> Any:
    """Put the configuration of a state into frame 0; 0, or NEED."""
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    walk = np.int64(W[AT_WALK])
    base = state * OBJECT_WIDTH
    at, length = np.int64(M[objects + base + O_OFFSET]), np.int64(M[objects + base + O_LENGTH])
    if length + 2 + FIRST_WORDS > W[CAP_WALK]:
        return _need(mp, GROW_WALK, ZERO)
    W[np.int64(W[AT_FRAMES])] = 0
    W[walk + 1] = 0
    count = ZERO
    for i in range(at, at + length, 2):
        if M[pool + i] == 0:
            W[walk + 1] = M[pool + i + 1]
        else:
            W[walk + 2 + 2 * count] = M[pool + i]
            W[walk + 3 + 2 * count] = M[pool + i + 1]
            count += 1
    W[walk] = count
    return ZERO


@_inner
def _move_down(wp: Any) -> Any:
    """Copy frame 1 over frame 0."""
    W = _table(wp)
    walk = np.int64(W[AT_WALK])
    at = walk + np.int64(W[np.int64(W[AT_FRAMES]) + 1])
    for i in range(2 + 2 * np.int64(W[at])):
        W[walk + i] = W[at + i]


@_inner
def _store(mp: Any, wp: Any, lp: Any, vp: Any) -> Any:
    """Intern the configuration of frame 0."""
    W = _table(wp)
    scratch = np.int64(W[AT_SCRATCH])
    walk = np.int64(W[AT_WALK])
    room = np.int64(W[CAP_SCRATCH]) // 5
    start = BUILD * room
    length = ZERO
    if 2 * np.int64(W[walk]) + 2 > room:
        return _need(mp, GROW_SCRATCH, np.int64(2))
    if W[walk + 1]:
        W[scratch + start] = 0
        W[scratch + start + 1] = W[walk + 1]
        length = 2
    for i in range(2 * np.int64(W[walk])):
        W[scratch + start + length + i] = W[walk + 2 + i]
    return _intern(mp, TAG_CONFIG, wp, scratch + start, length + 2 * np.int64(W[walk]), YES)


@_inner
def _set_tokens(mp: Any, wp: Any, lp: Any, vp: Any, node: Any, op: Any) -> Any:
    """Set the bits of the tokens that end at a node of the vocabulary's trie."""
    V = _table(vp)
    O = _int32(op)
    nodes = np.int64(V[AT_NODES])
    order = np.int64(V[AT_ORDER])
    for i in range(V[nodes + 4 * node + 3], V[nodes + 4 * node + 7]):
        token = np.int64(V[order + i])
        O[token >> 5] |= np.int32(1) << np.int32(token & 31)


@_inner
def _add_first(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, state: Any, at: Any) -> Any:
    """Add the bytes that a terminal may begin with to the eight words of scratch at `at`."""
    M = _table(mp)
    W = _table(wp)
    L = _table(lp)
    D = _int32(dp)
    states = np.int64(L[AT_STATES])
    literals = np.int64(L[AT_LITERALS])
    trie = np.int64(L[AT_TRIE])
    if KEY <= state < COUNT:
        state = np.int64(M[_content(mp, state - KEY)])
    state = _uncounted(mp, state)
    if state < LITERAL:
        if D[256 * state] < 0:
            return _need(mp, NEED_ROW, state)
        for w in range(8):
            W[at + w] |= L[states + STATE_WIDTH * state + S_FIRST + w]
    elif state < TRIE:
        byte = np.int64(L[literals + state - LITERAL])
        W[at + (byte >> 5)] |= np.int32(1) << np.int32(byte & 31)
    else:
        child = state - TRIE + 1
        end = np.int64(L[trie + 4 * (child - 1) + 2])
        while child < end:
            byte = np.int64(L[trie + 4 * child])
            W[at + (byte >> 5)] |= np.int32(1) << np.int32(byte & 31)
            child = np.int64(L[trie + 4 * child + 2])
    return ZERO


@_inner
def _first_bytes(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, kernel: Any) -> Any:
    """Return where in the pool the eight words lie that say which bytes may follow when `kernel` is entered."""
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    edges = np.int64(M[AT_EDGES])
    base = objects + kernel * OBJECT_WIDTH
    found = np.int64(M[base + O_FIRST])
    if found == 0:
        status = _close(mp, wp, lp, vp, kernel)
        if status < 0:
            return status
        at = np.int64(W[AT_SCRATCH]) + BUILD * (np.int64(W[CAP_SCRATCH]) // 5)
        for w in range(8):
            W[at + w] = 0
        first, count = np.int64(M[base + O_A]), np.int64(M[base + O_B])
        for e in range(first, first + 2 * count, 2):
            status = _add_first(mp, wp, lp, vp, dp, np.int64(M[edges + e]), at)
            if status < 0:
                return status
        found = _intern(mp, TAG_BYTES, wp, at, np.int64(8), YES)
        if found < 0:
            return found
        M[base + O_FIRST] = found
    return pool + np.int64(M[objects + found * OBJECT_WIDTH + O_OFFSET])


def _exit_body(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, node: Any, kernel: Any, op: Any) -> Any:
    """A terminal ends at a node of the vocabulary's trie: walk the tokens below it from `kernel`."""
    M = _table(mp)
    W = _table(wp)
    V = _table(vp)
    nodes = np.int64(V[AT_NODES])
    end = np.int64(V[nodes + 4 * node + 2])
    if end == node + 1:
        return ZERO
    allowed = _first_bytes(mp, wp, lp, vp, dp, kernel)
    if allowed < 0:
        return allowed
    walk = np.int64(W[AT_WALK])
    i = node + 1
    while i < end:
        byte = np.int64(V[nodes + 4 * i])
        after = np.int64(V[nodes + 4 * i + 2])
        if (M[allowed + (byte >> 5)] >> (byte & 31)) & 1:
            W[walk] = 0
            W[walk + 1] = kernel
            status = _descend(mp, wp, lp, vp, dp, i, op)
            if status < 0:
                return status
        i = after
    return ZERO


@_inner
def _descend(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, node: Any, op: Any) -> Any:
    """Walk the subtree of a node, itself included, from the configuration in frame 0."""
    M = _table(mp)
    W = _table(wp)
    V = _table(vp)
    walk = np.int64(W[AT_WALK])
    frames = np.int64(W[AT_FRAMES])
    nodes = np.int64(V[AT_NODES])
    base = np.int64(V[nodes + 4 * node + 1]) - 1
    i, end = node, np.int64(V[nodes + 4 * node + 2])
    while i < end:
        depth = np.int64(V[nodes + 4 * i + 1]) - base
        byte = np.int64(V[nodes + 4 * i])
        at = walk + np.int64(W[frames + depth - 1])
        if W[at] > WIDE and (W[at + 2 + 2 * np.int64(W[at]) + (byte >> 5)] >> (byte & 31)) & 1 == 0:
            i = np.int64(V[nodes + 4 * i + 2])
            continue
        M[H_VISITED] += 1
        status = _step(mp, wp, lp, vp, dp, depth - 1, depth, byte)
        if status < 0:
            return status
        if status == 0:
            i = np.int64(V[nodes + 4 * i + 2])
            continue
        _set_tokens(mp, wp, lp, vp, i, op)
        at = walk + np.int64(W[frames + depth])
        if W[at] > WIDE:
            status = _first_of_frame(mp, wp, lp, vp, dp, at)
            if status < 0:
                return status
        i += 1
    return ZERO


@_inner
def _first_of_frame(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, at: Any) -> Any:
    """Write behind the many pairs of the frame at `at` of the workspace which bytes may come next; 0, or NEED."""
    M = _table(mp)
    W = _table(wp)
    count, entered = np.int64(W[at]), np.int64(W[at + 1])
    words = at + 2 + 2 * count
    allowed = _first_bytes(mp, wp, lp, vp, dp, entered) if entered else ZERO
    if allowed < 0:
        return allowed
    for w in range(FIRST_WORDS):
        W[words + w] = M[allowed + w] if entered else 0
    for i in range(count):
        status = _add_first(mp, wp, lp, vp, dp, np.int64(W[at + 2 + 2 * i]), words)
        if status < 0:
            return status
    return ZERO


@_inner
def _literal_mask(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, state: Any, kernel: Any, op: Any) -> Any:
    M = _table(mp)
    L = _table(lp)
    V = _table(vp)
    literals = np.int64(L[AT_LITERALS])
    nodes = np.int64(V[AT_NODES])
    at, node = state - LITERAL, ZERO
    while L[literals + at] >= 0:
        node = _child(vp, nodes, node, np.int64(L[literals + at]))
        M[H_VISITED] += 1
        if node == 0:
            return 0
        _set_tokens(mp, wp, lp, vp, node, op)
        at += 1
    return _exit(mp, wp, lp, vp, dp, node, kernel, op)


@_inner
def _trie_mask(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, state: Any, kernel: Any, op: Any) -> Any:
    """Descend the vocabulary's trie and the trie of a finite set side by side."""
    M = _table(mp)
    W = _table(wp)
    L = _table(lp)
    V = _table(vp)
    stack = np.int64(W[AT_STACK])
    trie = np.int64(L[AT_TRIE])
    nodes = np.int64(V[AT_NODES])
    W[stack] = state - TRIE
    i, end = ONE, np.int64(V[nodes + 2])
    while i < end:
        depth = np.int64(V[nodes + 4 * i + 1])
        M[H_VISITED] += 1
        child = _child(lp, trie, np.int64(W[stack + depth - 1]), np.int64(V[nodes + 4 * i]))
        if child == 0:
            i = np.int64(V[nodes + 4 * i + 2])
            continue
        _set_tokens(mp, wp, lp, vp, i, op)
        W[stack + depth] = child
        if L[trie + 4 * child + 7] > L[trie + 4 * child + 3]:
            status = _exit(mp, wp, lp, vp, dp, i, kernel, op)
            if status < 0:
                return status
        i += 1
    return 0


@_inner
def _inside_mask(mp: Any, wp: Any, lp: Any, vp: Any, state: Any, rp: Any, op: Any) -> Any:
    """Unite the inside row of an expression's state with the mask; NEED if it has not been made.

    Another thread may have made it in tables that are larger than the ones at hand; NEED fetches those.
    """
    M = _table(mp)
    L = _table(lp)
    V = _table(vp)
    states = np.int64(L[AT_STATES])
    index = np.int64(L[states + STATE_WIDTH * state + 1])
    if (
        index < 0
        or index >= M[H_NUM_ROWS]
        or L[states + STATE_WIDTH * state + 2] + L[states + STATE_WIDTH * state + 3] > L[CAP_EXITS]
    ):
        return _need(mp, NEED_INSIDE, state)
    words = np.int64(V[H_WORDS])
    R = _int32(_row(rp, words, index))
    O = _int32(op)
    for i in range(words):
        O[i] |= R[i]
    return 0


@_inner
def _key_mask(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, bp: Any, rp: Any, state: Any, kernel: Any, op: Any) -> Any:
    """Mask of a key being read: its text decides at each exit whether it may end there."""
    M = _table(mp)
    L = _table(lp)
    V = _table(vp)
    B = _uint8(bp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    states = np.int64(L[AT_STATES])
    exits = np.int64(L[AT_EXITS])
    nodes = np.int64(V[AT_NODES])
    paths = np.int64(V[AT_PATHS])
    where = M[objects + (state - KEY) * OBJECT_WIDTH + O_OFFSET]
    inner, start_text, start_escape = (
        np.int64(M[pool + where]),
        np.int64(M[pool + where + 1]),
        np.int64(M[pool + where + 2]),
    )
    inner = _uncounted(mp, inner)
    status = _inside_mask(mp, wp, lp, vp, inner, rp, op)
    if status < 0:
        return status
    create = np.int64(M[H_EXACT])
    fresh = np.int64(-1)
    first, count = np.int64(L[states + STATE_WIDTH * inner + 2]), np.int64(L[states + STATE_WIDTH * inner + 3])
    for i in range(first, first + count):
        node = np.int64(L[exits + i])
        text, escape = start_text, start_escape
        at = np.int64(V[paths + node])
        for j in range(at, at + np.int64(V[nodes + 4 * node + 1])):
            text, escape = _decode(mp, wp, lp, vp, text, escape, np.int64(B[j]), create)
            if text == NEED:
                return NEED
        if text == FAIL:
            if fresh < 0:
                fresh = _capture(mp, wp, lp, vp, kernel, NEW_ELEMENT)
                if fresh < 0:
                    return fresh
            after = fresh
        else:
            after = _capture(mp, wp, lp, vp, kernel, 2 * text + 1)
            if after < 0:
                return after
        if after == 0:
            continue
        _set_tokens(mp, wp, lp, vp, node, op)
        status = _exit(mp, wp, lp, vp, dp, node, after, op)
        if status < 0:
            return status
    return 0


def _pair_mask_body(
    mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, bp: Any, rp: Any, state: Any, kernel: Any, op: Any
) -> Any:
    """Add to a mask the tokens that a pair (lexer state, kernel) allows."""
    L = _table(lp)
    states = np.int64(L[AT_STATES])
    exits = np.int64(L[AT_EXITS])
    state = _uncounted(mp, state)
    if state < LITERAL:
        status = _inside_mask(mp, wp, lp, vp, state, rp, op)
        if status < 0:
            return status
        first, count = np.int64(L[states + STATE_WIDTH * state + 2]), np.int64(L[states + STATE_WIDTH * state + 3])
        for i in range(first, first + count):
            node = np.int64(L[exits + i])
            _set_tokens(mp, wp, lp, vp, node, op)
            status = _exit(mp, wp, lp, vp, dp, node, kernel, op)
            if status < 0:
                return status
        return 0
    if state >= KEY:
        return _key_mask(mp, wp, lp, vp, dp, bp, rp, state, kernel, op)
    if state < TRIE:
        return _literal_mask(mp, wp, lp, vp, dp, state, kernel, op)
    return _trie_mask(mp, wp, lp, vp, dp, state, kernel, op)


# Operations


@_inner
def _fill_pairs(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, bp: Any, rp: Any, state: Any, op: Any) -> Any:
    """Add to a mask the tokens that each pair of a configuration allows; 1 if the text may end here, 0, or NEED."""
    M = _table(mp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    edges = np.int64(M[AT_EDGES])
    base = objects + state * OBJECT_WIDTH
    at, end = np.int64(M[base + O_OFFSET]), np.int64(M[base + O_OFFSET]) + np.int64(M[base + O_LENGTH])
    # The pairs of the entered kernel are its edges, and come first.
    entered = np.int64(M[pool + at + 1]) if M[pool + at] == 0 else ZERO
    accepting, e, last = ZERO, ZERO, ZERO
    if entered:
        status = _close(mp, wp, lp, vp, entered)
        if status < 0:
            return status
        where = objects + entered * OBJECT_WIDTH
        e, last, accepting = np.int64(M[where + O_A]), 2 * np.int64(M[where + O_B]), np.int64(M[where + O_C])
        last += e
        at += 2
    while e < last or at < end:
        if e < last:
            lexer, kernel = np.int64(M[edges + e]), np.int64(M[edges + e + 1])
            e += 2
        else:
            lexer, kernel = np.int64(M[pool + at]), np.int64(M[pool + at + 1])
            at += 2
        status = _pair_mask(mp, wp, lp, vp, dp, bp, rp, lexer, kernel, op)
        if status < 0:
            return status
    return accepting


@_inner
def _op_fill(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, bp: Any, rp: Any, state: Any, op: Any) -> Any:
    """Write the mask of a state, end tokens included, into a row (wide enough). 0, or NEED."""
    M = _table(mp)
    V = _table(vp)
    O = _int32(op)
    accepting = ONE if state == TERMINATED else ZERO
    M[H_EXACT] = 0
    for exact in range(2):
        for i in range(V[H_WORDS]):
            O[i] = 0
        if state <= TERMINATED:
            break
        M[H_UNSURE] = 0
        accepting = _fill_pairs(mp, wp, lp, vp, dp, bp, rp, state, op)
        if accepting < 0:
            return accepting
        # Some key that no one has interned could have been one that is there already: intern them all.
        if M[H_UNSURE] == 0 or exact == 1:
            break
        M[H_EXACT] = 1
    M[H_EXACT] = 0
    if accepting:
        for i in range(V[AT_ENDS], V[AT_ENDS] + V[CAP_ENDS]):
            O[V[i] >> 5] |= np.int32(1) << np.int32(V[i] & 31)
    return ZERO


@_inner
def _op_fill_many(
    mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, bp: Any, rp: Any, states: Any, count: Any, out: Any, width: Any
) -> Any:
    """Write the masks of `count` states into rows 0, 1, ... of `out`. NEED goes on at H_RESUME."""
    M = _table(mp)
    S = _int32(states)
    for i in range(np.int64(M[H_RESUME]), count):
        status = _op_fill(mp, wp, lp, vp, dp, bp, rp, np.int64(S[i]), _row(out, width, i))
        if status < 0:
            M[H_RESUME] = i
            return status
    return ZERO


@_inner
def _op_advance(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, data: Any, start: Any, stop: Any, state: Any) -> Any:
    """Return the state after data[start:stop], DEAD if there is none, or NEED, after which it goes on at H_READ."""
    M = _table(mp)
    if M[H_READ] > 0:
        start, state = np.int64(M[H_READ]), np.int64(M[H_READ_STATE])
    status = _load(mp, wp, lp, vp, state)
    if status < 0:
        return status
    for i in range(start, stop):
        status = _step(mp, wp, lp, vp, dp, ZERO, ONE, np.int64(data[i]))
        if status == 0:
            M[H_READ] = 0
            return DEAD
        if status < 0:
            code, argument = M[H_CODE], M[H_ARG]
            if i > start:
                so_far = _store(mp, wp, lp, vp)
                if so_far > 0:
                    M[H_READ] = i
                    M[H_READ_STATE] = so_far
            M[H_CODE] = code
            M[H_ARG] = argument
            return NEED
        _move_down(wp)
    after = _store(mp, wp, lp, vp)
    if after > 0:
        M[H_READ] = 0
    return after


@_inner
def _op_accepting(mp: Any, wp: Any, lp: Any, vp: Any, state: Any) -> Any:
    """Return 1 if the text may end in this state, 0 if not, or NEED."""
    M = _table(mp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    base = state * OBJECT_WIDTH
    at = np.int64(M[objects + base + O_OFFSET])
    if M[pool + at] != 0:
        return 0
    kernel = np.int64(M[pool + at + 1])
    status = _close(mp, wp, lp, vp, kernel)
    return status if status < 0 else np.int64(M[objects + kernel * OBJECT_WIDTH + O_C])


@_inner
def _op_next_bytes(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, state: Any, at: Any) -> Any:
    """Write into the workspace at `at` which of 256 bytes may come next (1 or 0); return how many, or NEED.

    The bytes are those that some terminal goes on with; where a key is being read, its text has a say too.
    """
    M = _table(mp)
    W = _table(wp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    first = np.int64(W[AT_SCRATCH]) + BUILD * (np.int64(W[CAP_SCRATCH]) // 5)
    where, length = (
        np.int64(M[objects + state * OBJECT_WIDTH + O_OFFSET]),
        np.int64(M[objects + state * OBJECT_WIDTH + O_LENGTH]),
    )
    entered = ZERO
    if M[pool + where] == 0:
        entered = _first_bytes(mp, wp, lp, vp, dp, np.int64(M[pool + where + 1]))
        if entered < 0:
            return entered
    for w in range(8):
        W[first + w] = M[entered + w] if entered else 0
    is_key = False
    for i in range(where, where + length, 2):
        lexer = np.int64(M[pool + i])
        if lexer != 0:
            is_key = is_key or KEY <= lexer < COUNT
            status = _add_first(mp, wp, lp, vp, dp, lexer, first)
            if status < 0:
                return status
    for byte in range(256):
        W[at + byte] = (W[first + (byte >> 5)] >> (byte & 31)) & 1
    found = ZERO
    for byte in range(256):
        if W[at + byte] and is_key:
            status = _load(mp, wp, lp, vp, state)
            if status >= 0:
                status = _step(mp, wp, lp, vp, dp, ZERO, ONE, byte)
            if status < 0:
                return status
            W[at + byte] = status
        found += W[at + byte]
    return found


@_inner
def _op_inside(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, state: Any, rp: Any, index: Any) -> Any:
    """Write the inside row of an expression's state: tokens after which its terminal can still go on.

    The trie nodes at which the terminal may end, and below which tokens go on, are appended to the exits from
    H_EXIT_COUNT on. Goes on where it stopped (H_RESUME) after a NEED.
    """
    M = _table(mp)
    W = _table(wp)
    L = _table(lp)
    V = _table(vp)
    D = _int32(dp)
    row = _row(rp, np.int64(V[H_WORDS]), index)
    walk = np.int64(W[AT_WALK])
    states = np.int64(L[AT_STATES])
    nodes = np.int64(V[AT_NODES])
    links = np.int64(L[AT_LINKS])
    exits = np.int64(L[AT_EXITS])
    i, end = np.int64(M[H_RESUME]), np.int64(V[nodes + 2])
    W[walk] = state
    while i < end:
        depth = np.int64(V[nodes + 4 * i + 1])
        before = np.int64(W[walk + depth - 1])
        after = np.int64(D[256 * before + V[nodes + 4 * i]])
        if after < 0:
            M[H_RESUME] = i
            return _need(mp, NEED_ROW, before)
        if after == 0:
            i = np.int64(V[nodes + 4 * i + 2])
            continue
        if after >= LINK:
            # A count is as good as any other: what is far ends in no token.
            after = np.int64(L[links + 2 * (after - LINK)])
        W[walk + depth] = after
        flags = L[states + STATE_WIDTH * after]
        if flags & ACCEPTS:
            count = np.int64(M[H_EXIT_COUNT])
            if count == L[CAP_EXITS]:
                M[H_RESUME] = i
                return _need(mp, GROW_EXITS, ZERO)
            L[exits + count] = i
            M[H_EXIT_COUNT] = count + 1
        if flags & CONTINUES:
            _set_tokens(mp, wp, lp, vp, i, row)
            i += 1
        else:
            i = np.int64(V[nodes + 4 * i + 2])
    return 0


@_inner
def _op_add_text(mp: Any, wp: Any, lp: Any, vp: Any, data: Any, tree: Any) -> Any:
    """Return the set `tree` with the text `data` added, or NEED."""
    text = ZERO
    for i in range(len(data)):
        text = _append_byte(mp, wp, lp, vp, text, np.int64(data[i]), YES)
        if text < 0:
            return text
    return _insert(mp, wp, lp, vp, tree, 2 * text + 1)


@_inner
def _op_rehash(mp: Any, wp: Any, lp: Any, vp: Any) -> Any:
    """Fill an empty, larger hash table with all objects."""
    M = _table(mp)
    objects = np.int64(M[AT_OBJECTS])
    pool = np.int64(M[AT_POOL])
    table = np.int64(M[AT_HASH])
    mask = np.int64(M[CAP_HASH]) - 1
    for new in range(1, M[H_OBJECTS]):
        base = new * OBJECT_WIDTH
        tag, count, start = (
            np.int64(M[objects + base + O_TAG]),
            np.int64(M[objects + base + O_LENGTH]),
            np.int64(M[objects + base + O_OFFSET]),
        )
        if tag == 0:
            continue
        h = tag * 40503 + count
        for i in range(start, start + count):
            h = ((h ^ np.int64(M[pool + i])) * 1540483477) & 0x3FFFFFFFFFFFFFFF
            h = (h ^ (h >> 17)) & 0x7FFFFFFF
        slot = (h ^ (h >> 9)) & mask
        while M[table + slot] != 0:
            slot = (slot + 1) & mask
        M[table + slot] = new
    return 0


@_inner
def _op_successors(mp: Any, wp: Any, lp: Any, vp: Any, dp: Any, data: Any, state: Any, at: Any, op: Any) -> Any:
    """Advance `state` over many tokens and write the states into O[0], O[1], ...; NEED stops at H_RESUME.

    `data` holds the tokens one after another; O holds at `at` their ends.
    """
    M = _table(mp)
    O = _int32(op)
    start = ZERO if M[H_RESUME] == 0 else np.int64(O[at + M[H_RESUME] - 1])
    for i in range(np.int64(M[H_RESUME]), at):
        stop = np.int64(O[at + i])
        after = _op_advance(mp, wp, lp, vp, dp, data, start, stop, state)
        if after < 0:
            M[H_RESUME] = i
            return after
        O[i] = after
        start = stop
    return 0


# Numbers of the operations that `run` knows.
ADVANCE, FILL, ACCEPTING, NEXT_BYTES, INSIDE, INTERN, ADD_TEXT, REHASH, CLOSE, SUCCESSORS = range(10)


_ADDRESS = types.int64
# What is called by symbol: name, function, how many arguments. Each calls only the ones before it.
_STAGES = (
    ("intern", _intern_body, 6),
    ("sort", _sort_body, 4),
    ("built", _built_body, 5),
    ("close", _close_body, 5),
    ("capture", _capture_body, 6),
    ("step", _step_body, 8),
    ("exit", _exit_body, 8),
    ("pair_mask", _pair_mask_body, 10),
)
_linked: dict[str, Any] = {}
_intern: Any
_sort: Any
_built: Any
_close: Any
_capture: Any
_step: Any
_exit: Any
_pair_mask: Any
if config.DISABLE_JIT:
    _intern, _sort, _built, _close, _capture, _step, _exit, _pair_mask = (body for _, body, _ in _STAGES)
else:
    _intern, _sort, _built, _close, _capture, _step, _exit, _pair_mask = (
        types.ExternalFunction(f"constrain_{name}", _ADDRESS(*[_ADDRESS] * arity)) for name, _, arity in _STAGES
    )


def link() -> None:
    """Compile what is called by symbol, or load it from numba's cache; to be called once before `run`."""
    if config.DISABLE_JIT:
        return
    for name, body, arity in _STAGES:
        if name not in _linked:
            made = cfunc(_ADDRESS(*[_ADDRESS] * arity), cache=True)(body)
            llvm.add_symbol(f"constrain_{name}", made.address)
            _linked[name] = made


@njit(cache=True, nogil=True)
def run(
    M: Any,
    W: Any,
    L: Any,
    V: Any,
    delta: Any,
    rows: Any,
    out: Any,
    blob: Any,
    data: Any,
    op: Any,
    a: Any,
    b: Any,
    c: Any,
) -> Any:
    """Do one operation. One entry point for all, so that numba compiles and links the callees once.

    Args:
        M, W, L, V: int32 arrays of the grammar, the workspace, the lexicon and the tokens; see `layout`.
        delta: int32[states, 256], lexer transitions.
        rows: int32[rows, words], inside rows.
        out: int32[batch, words], where masks go.
        blob: uint8, bytes of the vocabulary trie's paths.
        data: uint8, text to advance over.
        op: which operation; a, b, c: its numbers, see below.
    Returns:
        The operation's result, or NEED.
    """
    M[H_NUM_ROWS] = rows.shape[0]
    mp, wp, lp, vp, dp = _address(M), _address(W), _address(L), _address(V), _address(delta)
    if op == ADVANCE:  # over data[a:b] from state c
        return _op_advance(mp, wp, lp, vp, dp, data, a, b, c)
    if op == FILL:  # the masks of the a states that lie in the workspace at b, into the rows of out
        bp, rp = _address(blob), _address(rows)
        return _op_fill_many(mp, wp, lp, vp, dp, bp, rp, _at(wp, b), a, _address(out), np.int64(out.shape[1]))
    if op == ACCEPTING:  # state a
        return _op_accepting(mp, wp, lp, vp, a)
    if op == NEXT_BYTES:  # of state a, into the workspace at b
        return _op_next_bytes(mp, wp, lp, vp, dp, a, b)
    if op == INSIDE:  # row b of expression state a
        return _op_inside(mp, wp, lp, vp, dp, a, _address(rows), b)
    if op == INTERN:  # an object with tag a whose content of c ints is in the workspace at b
        return _intern(mp, a, wp, b, c, YES)
    if op == ADD_TEXT:  # data to the set a
        return _op_add_text(mp, wp, lp, vp, data, a)
    if op == SUCCESSORS:  # of state a over the b tokens in data, whose ends are in out[0, b:]
        return _op_successors(mp, wp, lp, vp, dp, data, a, b, _address(out))
    if op == REHASH:
        return _op_rehash(mp, wp, lp, vp)
    return _close(mp, wp, lp, vp, a)  # kernel a
