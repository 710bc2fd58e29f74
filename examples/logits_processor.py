"""A constraint inside transformers' own `model.generate`: beam search here, but sampling and batches work the same.

Run: python examples/logits_processor.py MODEL    (a folder or a hub name; needs the transformers extra)
"""

import sys

from transformers import AutoModelForCausalLM, AutoTokenizer

import constrain


def main() -> None:
    hf_model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
    tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
    # The wrapped model knows how wide the logits are and which tokens end an answer.
    vocabulary = constrain.from_transformers(hf_model, tokenizer).vocabulary
    compiled = constrain.compile(constrain.regex(r"[A-Z][a-z]{2,12}, the capital of [A-Z][a-z]{3,12}\."), vocabulary)

    inputs = tokenizer("Complete: ", return_tensors="pt")
    output = hf_model.generate(
        **inputs,
        max_new_tokens=30,
        num_beams=3,
        do_sample=False,
        logits_processor=[constrain.LogitsProcessor(compiled)],
    )
    print(tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))


if __name__ == "__main__":
    main()
