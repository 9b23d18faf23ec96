"""Language models of well-known shapes with random weights: as programs of torch.export for Berth, from Hugging Face's
transformers, and as .gguf for llama.cpp.

    llama_models.py SHAPE WEIGHTS FOLDER [--layers N]      writes decode.pt2, prefill.pt2 and model.gguf there

WEIGHTS is "bf16"; "8" (Q8_0) or "4" (Q4_0): blocks of 32 weights of a row with a scale, in both forms alike. A model
may be "f32" as well, which ./dev compat language compares with transformers.
"""
import argparse
import itertools
import pathlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CAPACITY = 1024
PROMPT = 512
BLOCK = 32


def configuration(shape, layers=None, words=None):
    """`words`: the size of the vocabulary, where it is not the shape's."""
    import transformers
    common = dict(tie_word_embeddings=True, max_position_embeddings=4096, attn_implementation="sdpa")
    if shape == "llama-1b":
        return transformers.LlamaConfig(vocab_size=words or 128256, hidden_size=2048, intermediate_size=8192, head_dim=64,
                                        num_hidden_layers=layers or 16, num_attention_heads=32, num_key_value_heads=8,
                                        rope_parameters={"rope_type": "default", "rope_theta": 500000.0}, **common)
    if shape == "qwen3-0.6b":
        return transformers.Qwen3Config(vocab_size=words or 151936, hidden_size=1024, intermediate_size=3072, head_dim=128,
                                        num_hidden_layers=layers or 28, num_attention_heads=16, num_key_value_heads=8,
                                        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0}, **common)
    raise SystemExit(f"there is no shape {shape}: llama-1b, qwen3-0.6b")


# No two weights are equal: equal ones would be in a program once, and be read out of the processor's caches.
SEEDS = itertools.count()


def random_numbers(rows, columns, bits):
    """i8, of `bits` bits."""
    low, high = (-127, 128) if bits == 8 else (-8, 8)
    return torch.from_numpy(np.random.default_rng(next(SEEDS)).integers(low, high, (rows, columns), dtype=np.int8))


def scales_of(rows, columns, bits):
    """Such that a row times a vector of unit numbers stays about one; each of them is one of f16."""
    largest = 127 if bits == 8 else 8
    one = np.float16(1.7 / largest / columns ** 0.5)
    noise = np.random.default_rng(next(SEEDS)).uniform(0.5, 1.5, (rows, columns // BLOCK)).astype(np.float16)
    return torch.from_numpy((noise * one).astype(np.float32))


class NarrowLinear(nn.Module):
    def __init__(self, rows, columns, bits):
        super().__init__()
        self.register_buffer("numbers", random_numbers(rows, columns, bits))
        self.register_buffer("scales", scales_of(rows, columns, bits))

    def forward(self, x):
        blocks = self.numbers.to(x.dtype).view(*self.scales.shape, BLOCK)
        return F.linear(x, (blocks * self.scales[..., None]).view(self.numbers.shape))


class NarrowEmbedding(nn.Module):
    """Rows of the head's weight."""

    def __init__(self, head):
        super().__init__()
        self.register_buffer("numbers", head.numbers)
        self.register_buffer("scales", head.scales)

    def forward(self, tokens):
        rows = self.numbers[tokens].to(self.scales.dtype).unflatten(-1, (-1, BLOCK))
        return (rows * self.scales[tokens][..., None]).flatten(-2)


def narrowed(model, bits):
    """Replaces the weights of all products, on the device "meta" until now, and of the embedding."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, NarrowLinear(child.out_features, child.in_features, bits))
    model.model.embed_tokens = NarrowEmbedding(model.lm_head)


def filled(model):
    """Gives memory to what is still on "meta"."""
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if parameter.is_meta:
                norm = parameter.dim() == 1
                made = torch.ones(parameter.shape, dtype=parameter.dtype) if norm else random_numbers(
                    *parameter.shape, 8).to(parameter.dtype).mul_(1.7 / 127 / parameter.shape[1] ** 0.5)
                setattr(module, name, nn.Parameter(made, requires_grad=False))


class Exportable(nn.Module):
    """TorchExportableModuleForDecoderOnlyLM's, with the logits of the last token alone: llama.cpp computes no
    others."""

    def __init__(self, model, batch=1, capacity=CAPACITY):
        super().__init__()
        from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM
        self.inner = TorchExportableModuleForDecoderOnlyLM(model, batch_size=batch, max_cache_len=capacity).model

    def forward(self, input_ids, cache_position):
        cache = self.inner.static_cache
        for layer in cache.layers:
            layer.cumulative_length.copy_(cache_position[0])
        return self.inner.model(input_ids=input_ids, cache=cache, use_cache=True, logits_to_keep=1).logits


def transformers_model(shape, weights, layers=None, words=None):
    import transformers
    config = configuration(shape, layers, words)
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16}.get(weights, torch.float32)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    is_narrow = weights in ("8", "4")
    if is_narrow:
        narrowed(model, int(weights))
    filled(model)
    if not is_narrow:
        model.lm_head.weight = model.model.embed_tokens.weight
    # What is computed from the configuration was on "meta" too.
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
    model.generation_config = transformers.GenerationConfig(
        use_cache=True, cache_implementation="static", max_length=CAPACITY,
        cache_config={"batch_size": 1, "max_cache_len": CAPACITY})
    return model


def export_both(model, folder, prompt, batch=1, capacity=CAPACITY):
    """Writes decode.pt2, of a token, and prefill.pt2, of `prompt` tokens."""
    with torch.no_grad():
        module = Exportable(model, batch, capacity)
        for name, count in (("decode", 1), ("prefill", prompt)):
            example = torch.zeros((batch, count), dtype=torch.long), torch.arange(count)
            torch.export.save(torch.export.export(module, example, strict=True), folder / f"{name}.pt2")


def gguf_blocks(rows, columns, weights):
    """Random weights in the form of llama.cpp's files, and their type."""
    import gguf
    if weights == "bf16":
        numbers = random_numbers(rows, columns, 8).float().mul_(1.7 / 127 / columns ** 0.5)
        return numbers.bfloat16().view(torch.uint8).numpy(), gguf.GGMLQuantizationType.BF16
    bits = int(weights)
    numbers = random_numbers(rows, columns, bits).numpy().reshape(rows, -1, BLOCK)
    if bits == 4:
        low, high = (numbers[..., :BLOCK // 2] + 8).astype(np.uint8), (numbers[..., BLOCK // 2:] + 8).astype(np.uint8)
        numbers = low | high << 4
    scales = scales_of(rows, columns, bits).numpy().astype(np.float16)[..., None].view(np.uint8)
    return (np.concatenate([scales, numbers.view(np.uint8)], -1).reshape(rows, -1),
            gguf.GGMLQuantizationType.Q8_0 if bits == 8 else gguf.GGMLQuantizationType.Q4_0)


def write_gguf(shape, weights, path, layers=None):
    import gguf
    c = configuration(shape, layers)
    qwen = shape.startswith("qwen3")
    writer = gguf.GGUFWriter(str(path), "qwen3" if qwen else "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(c.hidden_size)
    writer.add_block_count(c.num_hidden_layers)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_attention_heads)
    writer.add_head_count_kv(c.num_key_value_heads)
    writer.add_key_length(c.head_dim)
    writer.add_value_length(c.head_dim)
    writer.add_rope_dimension_count(c.head_dim)
    writer.add_rope_freq_base(c.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_vocab_size(c.vocab_size)
    writer.add_tokenizer_model("no_vocab")

    def product(name, rows, columns):
        blocks, kind = gguf_blocks(rows, columns, weights)
        writer.add_tensor(name, blocks, raw_dtype=kind)

    def ones(name, size):
        writer.add_tensor(name, np.ones(size, np.float32))

    queries, keys = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    product("token_embd.weight", c.vocab_size, c.hidden_size)
    ones("output_norm.weight", c.hidden_size)
    for i in range(c.num_hidden_layers):
        ones(f"blk.{i}.attn_norm.weight", c.hidden_size)
        ones(f"blk.{i}.ffn_norm.weight", c.hidden_size)
        if qwen:
            ones(f"blk.{i}.attn_q_norm.weight", c.head_dim)
            ones(f"blk.{i}.attn_k_norm.weight", c.head_dim)
        product(f"blk.{i}.attn_q.weight", queries, c.hidden_size)
        product(f"blk.{i}.attn_k.weight", keys, c.hidden_size)
        product(f"blk.{i}.attn_v.weight", keys, c.hidden_size)
        product(f"blk.{i}.attn_output.weight", c.hidden_size, queries)
        product(f"blk.{i}.ffn_gate.weight", c.intermediate_size, c.hidden_size)
        product(f"blk.{i}.ffn_up.weight", c.intermediate_size, c.hidden_size)
        product(f"blk.{i}.ffn_down.weight", c.hidden_size, c.intermediate_size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def weights_of_a_token(shape, layers=None):
    """How many numbers of weights a token reads: all products, the head included."""
    c = configuration(shape, layers)
    queries, keys = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    layer = c.hidden_size * (2 * queries + 2 * keys + 3 * c.intermediate_size)
    return c.num_hidden_layers * layer + c.vocab_size * c.hidden_size


def main():
    cli = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cli.add_argument("shape")
    cli.add_argument("weights", choices=["bf16", "8", "4"])
    cli.add_argument("folder", type=pathlib.Path)
    cli.add_argument("--layers", type=int)
    args = cli.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    export_both(transformers_model(args.shape, args.weights, args.layers), args.folder, PROMPT)
    write_gguf(args.shape, args.weights, args.folder / "model.gguf", args.layers)


if __name__ == "__main__":
    main()
