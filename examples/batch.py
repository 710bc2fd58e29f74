"""Several prompts decoded together, each with a constraint of its own, or none.

Run: python examples/batch.py MODEL    (a folder or a hub name; needs the transformers extra)
"""

import sys
from enum import Enum

import constrain
from constrain.decoding.constraint import Wanted
from constrain.decoding.generate import Request


class Mood(Enum):
    GLAD = "glad"
    SAD = "sad"
    ANGRY = "angry"


def main() -> None:
    model = constrain.load(sys.argv[1])
    results = constrain.generate_batch(
        model,
        [
            Request("The mood of 'I lost my keys again' is", Wanted(schema=Mood)),
            Request("The year of the first moon landing: ", Wanted(regex=r"1[0-9]{3}")),
            Request("Is the sea salty? Answer: ", Wanted(choice=["yes", "no"])),
            Request("Once upon a time"),
        ],
        max_tokens=24,
    )
    for result in results:
        print(f"{result.finish_reason:<7} {result.value!r}")


if __name__ == "__main__":
    main()
