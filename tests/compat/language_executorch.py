"""Small language models with ExecuTorch's operators on caches (executorch.extension.llm.custom_ops), random weights:
its own Llama, with rings and attention sinks too, and one whose attention is one of these operators, or a ring of them.
PyTorch runs them with ExecuTorch's library."""
import contextlib
import io

import torch
from torch import nn

from language_models import VOCABULARY, Attention, Llama

CAPACITY = 260
LONGEST = 63
SINKS = 4  # positions that stay while a window of the last ones goes on
WINDOW = 32


class CacheAttention(Attention):
    """Caches [1, rows, groups, features]; `operator`: "sdpa_with_kv_cache", or "ring", a window of rows that are
    reused."""

    operator = "sdpa_with_kv_cache"

    def __init__(self, *arguments):
        super().__init__(*arguments)
        rows = self.capacity if self.window is None else self.window
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, rows, self.groups, self.size))

    def forward(self, x, positions):
        n = x.shape[1]
        q = self.turned(self.q(x).view(1, n, self.heads, self.size).transpose(1, 2), positions).transpose(1, 2)
        k = self.turned(self.k(x).view(1, n, self.groups, self.size).transpose(1, 2), positions).transpose(1, 2)
        v = self.v(x).view(1, n, self.groups, self.size)
        y = self.in_ring(q, k, v, positions) if self.window else self.in_cache(q, k, v, positions)
        return self.o(y.reshape(1, n, -1))

    def in_cache(self, q, k, v, positions):
        start = positions[0].item()
        torch._check(start >= 0)
        torch._check(start < self.capacity)
        return torch.ops.llama.sdpa_with_kv_cache(q, k, v, self.keys, self.values, start, q.shape[1], None, 0.0, True)

    def in_ring(self, q, k, v, positions):
        places = (positions % self.window)[None]
        torch.ops.llama.update_cache_with_indices(k, self.keys, 0, places)
        torch.ops.llama.update_cache_with_indices(v, self.values, 0, places)
        # The position whose row lies in each place, below 0 where none does yet.
        held = positions[:, None] - (positions[:, None] - torch.arange(self.window)) % self.window
        mask = torch.where(held >= 0, 0.0, -float("inf"))
        return torch.ops.llama.custom_sdpa(q, self.keys, self.values, 0, mask, 0.0, False)


def with_operators(window=None):
    import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401 registers them
    model = Llama(capacity=CAPACITY, window=window)
    for layer in model.layers:
        old = layer.attention
        layer.attention = CacheAttention(old.heads * old.size, old.heads, old.groups, CAPACITY, None, None, window)
    return model.eval()


class OwnLlama(nn.Module):
    """ExecuTorch's Llama with its caches and its attention: forward(tokens [1, n], positions [1]) gives the last
    logits.

    With `sinks` (0: none) a window of the last tokens lies in a ring behind them, as
    `export_llama --use_attention_sink` has it. `custom`: caches and attention are ExecuTorch's operators."""

    def __init__(self, dynamic, sinks=None, custom=True):
        super().__init__()
        from executorch.examples.models.llama.llama_transformer import construct_transformer
        from executorch.examples.models.llama.model_args import ModelArgs
        from executorch.examples.models.llama.source_transformation.custom_kv_cache import (
            replace_kv_cache_with_custom_kv_cache)
        from executorch.examples.models.llama.source_transformation.sdpa import replace_sdpa_with_custom_op
        torch.manual_seed(0)
        model = construct_transformer(ModelArgs(
            dim=128, n_layers=2, n_heads=8, n_kv_heads=2, vocab_size=VOCABULARY, hidden_dim=352, max_seq_len=LONGEST + 1,
            max_context_len=CAPACITY, use_kv_cache=True, use_sdpa_with_kv_cache_op=True, enable_dynamic_shape=dynamic))
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.randn_like(p) * 0.05 if p.dim() > 1 else torch.rand_like(p) + 0.5)
        if sinks is not None:
            from executorch.examples.models.llama.source_transformation.attention_sink import enable_attention_sink
            model = enable_attention_sink(model, model.params, sinks, WINDOW)
        if custom:
            model = replace_kv_cache_with_custom_kv_cache(replace_sdpa_with_custom_op(model))
        self.model = model.eval()

    def forward(self, tokens, positions):
        return self.model(tokens, {"input_pos": positions})


def executorch_models():
    """Their names: the model, whether its number of tokens is open, and whether it takes the first position alone.
    Empty where ExecuTorch is not installed."""
    try:
        import executorch.examples.models.llama.llama_transformer  # noqa: F401
        import executorch.extension.llm.custom_ops.custom_ops  # noqa: F401
    except ImportError:
        return {}
    return {
        "et_llama": (lambda: OwnLlama(False), False, True),
        "et_llama_prefill": (lambda: OwnLlama(True), True, True),
        "et_sdpa_with_kv_cache": (with_operators, False, False),
        "et_ring": (lambda: with_operators(window=32), False, False),
        "et_ring_llama": (lambda: OwnLlama(True, sinks=0), True, True),
        "et_sinks": (lambda: OwnLlama(False, sinks=SINKS), False, True),
        "et_sinks_prefill": (lambda: OwnLlama(True, sinks=SINKS), True, True),
        "et_sinks_plain": (lambda: OwnLlama(False, sinks=SINKS, custom=False), False, True),
        "et_sinks_plain_prefill": (lambda: OwnLlama(True, sinks=SINKS, custom=False), True, True),
    }


def has_an_end(name):
    """Whether a step behind the cache's last row is refused. A ring has none."""
    return "ring" not in name and "sinks" not in name


def export_both(model, is_open, work):
    """Writes model.pt2 and model.pte, as ExecuTorch's export_llama exports them."""
    from executorch.exir import EdgeCompileConfig, to_edge
    dynamic = ({1: torch.export.Dim("n", min=1, max=LONGEST)}, {0: 1}) if is_open else None
    example = torch.zeros((1, 3 if is_open else 1), dtype=torch.long), torch.tensor([0])
    with torch.no_grad(), torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH]):
        program = torch.export.export(model, example, dynamic_shapes=dynamic, strict=True)
    torch.export.save(program, work / "model.pt2")
    with contextlib.redirect_stderr(io.StringIO()), torch.no_grad():
        edge = to_edge(program, compile_config=EdgeCompileConfig(_check_ir_validity=False))
        (work / "model.pte").write_bytes(edge.to_executorch().buffer)


def goes_on(name):
    """Whether positions behind CAPACITY are taken: the small Llama's table ends there."""
    return not has_an_end(name) and name != "et_ring"
