"""The formats of JSON Schema as regular nodes over code points; `table` names them."""
