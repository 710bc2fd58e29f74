"""Tiny random models and a tiny tokenizer, made here: nothing is downloaded."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(['{"name": "Ada", "age": 36}', "the name of the name", "true false null"] * 50, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )
    fast.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'bad' %}{{ raise_exception('no such role') }}{% endif %}"
        "<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant: {% endif %}"
    )
    return fast


def make(config_class, vocab_size, **changes):
    torch.manual_seed(0)
    common = {
        "vocab_size": vocab_size,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.5,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 2,
        **changes,
    }
    return transformers.AutoModelForCausalLM.from_config(config_class(**common)).eval()


KINDS = ["llama", "gpt2", "sliding", "recurrent"]


@pytest.fixture(scope="session")
def hf_models(tokenizer):
    """Makers of models by kind; wider than the tokenizer, as real ones are."""
    width = len(tokenizer) + 7

    def gpt2():
        torch.manual_seed(0)
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512, "initializer_range": 0.5}
        config = transformers.GPT2Config(vocab_size=width, bos_token_id=0, eos_token_id=1, **sizes)
        return transformers.AutoModelForCausalLM.from_config(config).eval()

    def recurrent():
        if not hasattr(transformers, "Qwen3NextConfig"):
            pytest.skip("this transformers has no Qwen3-Next")
        return make(
            transformers.Qwen3NextConfig,
            width,
            head_dim=8,
            layer_types=["linear_attention", "full_attention"],
            linear_num_key_heads=2,
            linear_num_value_heads=2,
            linear_key_head_dim=8,
            linear_value_head_dim=8,
            num_experts=2,
            num_experts_per_tok=1,
            moe_intermediate_size=16,
            shared_expert_intermediate_size=16,
            mlp_only_layers=[0, 1],
        )

    return {
        "llama": lambda: make(transformers.LlamaConfig, width),
        "gpt2": gpt2,
        "sliding": lambda: make(transformers.MistralConfig, width, sliding_window=6),
        "recurrent": recurrent,
    }


@pytest.fixture(scope="session")
def models(hf_models, tokenizer):
    """Return `Model`s by kind, each made once."""
    from constrain.backends.transformers import from_transformers

    made = {}

    def get(kind):
        if kind not in made:
            made[kind] = from_transformers(hf_models[kind](), tokenizer)
        return made[kind]

    return get
