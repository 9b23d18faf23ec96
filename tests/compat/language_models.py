"""Small language models with caches of keys and values, random weights: one in plain PyTorch, and those of Hugging
Face's transformers where it is installed."""
import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 1000


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Attention(nn.Module):
    """`write`: how rows come into the cache; `mask`: how it is said what a query sees."""

    def __init__(self, width, heads, groups, capacity, write, mask, window, batch=1):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.write, self.mask, self.window, self.capacity = write, mask, window, capacity
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(batch, groups, capacity, self.size))
        self.register_buffer("triangle", torch.tril(torch.ones(capacity, capacity, dtype=torch.bool)))
        angle = torch.outer(torch.arange(capacity).float(), 10000. ** (-torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def turned(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]
        a, b = x[..., :self.size // 2], x[..., self.size // 2:]
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def put(self, cache, positions, rows):
        if self.write == "index_copy":
            return cache.index_copy_(2, positions, rows)
        cache[:, :, positions] = rows
        return cache

    def seen(self, positions):
        if self.mask == "triangle":
            return self.triangle[positions]
        keys = torch.arange(self.capacity)
        seen = keys <= positions[:, None]
        return seen & (keys > positions[:, None] - self.window) if self.window else seen

    def forward(self, x, positions):
        b, n, _ = x.shape
        q = self.turned(self.q(x).view(b, n, self.heads, self.size).transpose(1, 2), positions)
        k = self.turned(self.k(x).view(b, n, self.groups, self.size).transpose(1, 2), positions)
        v = self.v(x).view(b, n, self.groups, self.size).transpose(1, 2)
        repeat = self.heads // self.groups
        keys = self.put(self.keys, positions, k).repeat_interleave(repeat, 1)
        values = self.put(self.values, positions, v).repeat_interleave(repeat, 1)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=self.seen(positions))
        return self.o(y.transpose(1, 2).reshape(b, n, -1))


class Layer(nn.Module):
    def __init__(self, width, hidden, *attention):
        super().__init__()
        self.attention = Attention(width, *attention)
        self.before, self.behind = Norm(width), Norm(width)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, positions):
        x = x + self.attention(self.before(x), positions)
        y = self.behind(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """forward(tokens [batch, n], positions [n]) gives logits [batch, n, vocabulary], and keeps its caches."""

    def __init__(self, width=128, hidden=352, layers=2, heads=8, groups=2, capacity=260, vocabulary=VOCABULARY,
                 write="index_copy", mask="compare", window=None, batch=1, tied=False):
        super().__init__()
        torch.manual_seed(0)
        self.tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, hidden, heads, groups, capacity, write, mask, window, batch)
                                    for _ in range(layers))
        self.norm = Norm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.tokens.weight

    def forward(self, tokens, positions):
        x = self.tokens(tokens)
        for layer in self.layers:
            x = layer(x, positions)
        return self.head(self.norm(x))


OWN = {
    "llama": {},
    "llama_index_put": {"write": "index_put", "mask": "triangle"},
    "llama_one_group": {"groups": 1, "heads": 4},
    "llama_window": {"window": 40},
    "llama_batch": {"batch": 3},
    "llama_batch_window": {"batch": 2, "window": 40, "write": "index_put"},
    "llama_tied": {"tied": True},
}


def transformers_models():
    """Their name and configuration; empty where transformers is not installed."""
    try:
        import transformers
    except ImportError:
        return {}
    sizes = dict(vocab_size=VOCABULARY, hidden_size=128, intermediate_size=352, num_hidden_layers=2,
                 num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=512)
    return {
        "hf_llama": transformers.LlamaConfig(**sizes),
        "hf_qwen3": transformers.Qwen3Config(**sizes, head_dim=32),
        "hf_gemma3": transformers.Gemma3TextConfig(**{**sizes, "num_hidden_layers": 4}, head_dim=32, sliding_window=64,
                                                   layer_types=["sliding_attention", "full_attention"] * 2,
                                                   query_pre_attn_scalar=32),
        "hf_phi3": transformers.Phi3Config(**sizes, pad_token_id=0, bos_token_id=1, eos_token_id=2),
    }


def exported_by_transformers(configuration, capacity):
    """A program of torch.export of one token, with a static cache."""
    import transformers
    from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM
    torch.manual_seed(0)
    configuration._attn_implementation = "sdpa"
    model = transformers.AutoModelForCausalLM.from_config(configuration).eval()
    kind = "hybrid" if getattr(configuration, "sliding_window", None) and "gemma" in configuration.model_type else "static"
    model.generation_config = transformers.GenerationConfig(
        use_cache=True, cache_implementation=kind, max_length=capacity,
        cache_config={"batch_size": 1, "max_cache_len": capacity})
    made = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=capacity)
    return made.export(input_ids=torch.zeros((1, 1), dtype=torch.long), cache_position=torch.tensor([0]))
