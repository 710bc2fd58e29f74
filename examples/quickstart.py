"""A valid instance of a pydantic model out of a language model.

Run: python examples/quickstart.py [MODEL]    (a folder or a hub name; without one, SmolLM2 as `make demo` installs it)
"""

import sys

from pydantic import BaseModel

import constrain
from constrain.backends.smollm2 import load_smollm2


class Person(BaseModel):
    name: str
    born: int
    known_for: list[str]


def main() -> None:
    model = constrain.load(sys.argv[1]) if len(sys.argv) > 1 else load_smollm2()
    prompt = [{"role": "user", "content": "Describe Ada Lovelace as JSON with name, born and known_for."}]

    result = constrain.generate(model, prompt, schema=Person, max_tokens=120)
    print(result.text)
    print(repr(result.value))
    report = result.report
    print(f"{len(result.token_ids)} tokens, {report.forced_tokens} forced, {report.model_calls} calls of the model")

    for event in constrain.stream(model, prompt, schema=Person, max_tokens=120, temperature=0.8, seed=1):
        print(event.text, end="", flush=True)
    print()

    print(constrain.generate(model, "The opposite of hot is", choice=[" cold", " warm"]).value)


if __name__ == "__main__":
    main()
