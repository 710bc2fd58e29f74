"""The machine: interned sets of items over a shared lexer, stepped by bytes, with token masks. See `layout`."""
