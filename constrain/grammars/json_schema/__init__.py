"""JSON Schema as a constraint; see `docs/json_schema.md`.

Read in this order: `shapes` (what a schema denotes), `algebra` (unions, conjunctions, recursion), `keywords` (from a
schema's text to the algebra), `nodes` (from the algebra to IR rules), `api` (the public function).
"""

from constrain.grammars.json_schema.api import json_schema

__all__ = ["json_schema"]
