"""Llama-1B's and Qwen3-0.6B's widths and heads, random weights, against transformers at every one of 256 tokens.

Four cases of few layers and words, whose bits are alike, are in `./dev compat language`; the others in `./dev nightly
language-models`, those of full size too: `./dev compat language 'llama-1b_*'
'qwen3-0.6b_*'`. bench/llama_models.py makes the models and exports them, with a static cache, as a program of a token
and one of a prompt. transformers computes all tokens at once, without that cache.

What is computed in f32 has to be what transformers gives in f32. What is computed in 16 bits has to be as near to that
as transformers in them, for each token as near as it is for its worst. Keys and values are compared as well.
"""
import gc
import itertools
import pathlib
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from drivers import difference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import llama_models  # noqa: E402

CAPACITY = 260
TOKENS = 256
PROMPT = 96
WORDS = 1000
LAYERS = {"llama-1b": 1, "qwen3-0.6b": 2}
BATCHES = {("llama-1b", "8"): 3, ("qwen3-0.6b", "bf16"): 2}
HALVES = ("bf16", "f16")
QUICK = {"llama-1b_bf16", "qwen3-0.6b_f16", "qwen3-0.6b_4", "qwen3-0.6b_bf16_batch"}  # a quarter of a minute each
NEAR = 1.25  # times the error of transformers in 16 bits
NEAR_IN_BYTES = 2  # the same where activations are rounded to 8


class Case:
    def __init__(self, shape, weights, batch=1, whole=False):
        self.shape, self.weights, self.batch = shape, weights, batch
        self.layers, self.words = (None, None) if whole else (LAYERS[shape], WORDS)
        self.name = f"{shape}_{weights}" + ("_batch" if batch > 1 else "") + ("_whole" if whole else "")

    def model(self):
        llama_models.SEEDS = itertools.count()
        return llama_models.transformers_model(self.shape, self.weights, self.layers, self.words)

    def tokens(self):
        words = llama_models.configuration(self.shape, self.layers, self.words).vocab_size
        return np.random.default_rng(1).integers(0, words, (self.batch, TOKENS))


def shape_cases():
    """By name; empty where transformers is not installed."""
    try:
        import transformers  # noqa: F401
    except ImportError:
        return {}
    cases = [Case(shape, weights) for shape in LAYERS for weights in ("f32", *HALVES, "8", "4")]
    cases += [Case(*which, batch) for which, batch in BATCHES.items()]
    cases += [Case(shape, weights, whole=True) for shape in LAYERS for weights in ("bf16", "8", "4")]
    return {case.name: case for case in cases}


class WideLinear(nn.Module):
    """A weight of 16 bits that is widened as it is read: all of them in f32 would not fit beside others."""

    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return F.linear(x, self.weight.float())


class WideEmbedding(WideLinear):
    def forward(self, tokens):
        return F.embedding(tokens, self.weight).float()


def weight_of(module):
    """In bf16, where its weight has few bits."""
    blocks = module.numbers.view(*module.scales.shape, llama_models.BLOCK) * module.scales[..., None]
    return nn.Parameter(blocks.view(module.numbers.shape).bfloat16(), requires_grad=False)


def replaced(model, kinds, others):
    """Modules of a class in `kinds` become what it has there; those that hold no others go through `others`."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) in kinds:
                setattr(module, name, kinds[type(child)](child))
            elif not list(child.children()):
                others(child)


def to_f32(model):
    """A model of 16 bits computes in f32 from now on, with the same weights."""
    replaced(model, {nn.Linear: lambda m: WideLinear(m.weight), nn.Embedding: lambda m: WideEmbedding(m.weight)},
             nn.Module.float)


def to_bf16(model):
    """A model of weights of few bits computes in bf16 from now on, with its weights rounded to that."""
    def linear(module):
        made = nn.Linear(1, 1, bias=False, device="meta")
        made.weight = weight_of(module)
        return made

    def embedding(module):
        return nn.Embedding.from_pretrained(weight_of(module))

    replaced(model, {llama_models.NarrowLinear: linear, llama_models.NarrowEmbedding: embedding}, nn.Module.bfloat16)


def given_by(model, tokens):
    """Logits [batch, tokens, words], then keys and values [batch, heads, tokens, size] of each layer, as f32."""
    with torch.no_grad():
        out = model(input_ids=torch.from_numpy(tokens), use_cache=True)
    layers = out.past_key_values.layers
    return [out.logits.float().numpy()] + [x.float().numpy() for one in layers for x in (one.keys, one.values)]


def errors(got, want):
    """The root mean square of what differs, for each of the tokens, dimension -2."""
    squares = ((got - want) ** 2).mean(axis=-1)
    return np.sqrt(squares.reshape(-1, squares.shape[-1]).max(axis=0))


def wanted(model, case):
    """What transformers gives in f32, and the largest errors of what it gives in 16 bits, as given_by() has them."""
    rough = None
    if case.weights in HALVES:
        rough = given_by(model, case.tokens())
        to_f32(model)
    exact = given_by(model, case.tokens())
    if case.weights in ("8", "4"):
        to_bf16(model)
        rough = given_by(model, case.tokens())
    return exact, None if rough is None else [float(errors(r, e).max()) for r, e in zip(rough, exact)]


def as_f32(array):
    return array if isinstance(array, np.ndarray) else array.float32()


class Run:
    """Logits of the tokens that have some, [batch, 1, words] each, and caches: as the program has them in the end."""

    def __init__(self, program, case, prompt):
        arenas = program.shared_arenas()
        decode, prefill = (program.method(name, threads=2, arenas=arenas) for name in ("decode", "prefill"))
        tokens, self.logits = case.tokens(), {}
        if prompt:
            self.logits[prompt - 1] = as_f32(prefill(tokens[:, :prompt], np.arange(prompt))[0])
        for at in range(prompt, TOKENS):
            self.logits[at] = as_f32(decode(tokens[:, at:at + 1], np.array([at]))[0])
        states = decode.get_state()
        layers = sum("key_cache_" in name for name in states)
        self.caches = [as_f32(next(state for name, state in states.items() if name.endswith(f"{kind}_cache_{i}")))
                       for i in range(layers) for kind in ("key", "value")]


def compare(run, exact, allowed, near):
    """None, or what differs. `allowed`: errors, as wanted() gives them, `near` times of which pass; None for f32."""
    def problem_of(what, got, want, error):
        if error is None:
            problem = difference([got], [want])
        else:
            most = float(errors(got, want).max())
            problem = f"errs by {most:.3g}, transformers by {error:.3g}" if not most <= near * error else None
        return f"{what}: {problem}" if problem else None

    errors_of = allowed or [None] * len(exact)
    for at, logits in run.logits.items():
        problem = problem_of(f"token {at}", logits, exact[0][:, at:at + 1], errors_of[0])
        if problem:
            return problem
    if len(run.caches) != len(exact) - 1:
        return f"{len(run.caches)} caches instead of {len(exact) - 1}"
    for i, cache in enumerate(run.caches):
        problem = problem_of(f"cache {i}", cache[:, :, :TOKENS], exact[i + 1], errors_of[i + 1])
        if problem or cache[:, :, TOKENS:].any():
            return problem or f"cache {i}: rows behind the last token are written"
    return None


def check_shape(berth, package, case, work):
    """`package`: the folder of the Python package berth."""
    if not (package / "berth").exists():
        return "there is no Python package: ./dev test builds it"
    sys.path.insert(0, str(package))
    import berth as module
    model = case.model()
    llama_models.export_both(model, work, PROMPT, case.batch, CAPACITY)
    exact, allowed = wanted(model, case)
    del model
    gc.collect()
    runs = [("f32", "float")]
    if case.weights not in ("f32", *HALVES):
        # Of all layers each takes minutes.
        runs += [("bf16", "float")] if case.layers is None else [("bf16", "float"), ("bf16", "int8")]
    for precision, activations in runs:
        program = work / f"{precision}.pte"
        berth.call("compile", f"prefill={work / 'prefill.pt2'}", f"decode={work / 'decode.pt2'}", "--share-state",
                   "-o", program, "--target", "cpu", "--precision", precision, "--activations", activations,
                   timeout=1200)
        loaded = module.load(program)
        for prompt in (0, PROMPT):
            of_16_bits = case.weights in HALVES or precision == "bf16"
            near = NEAR_IN_BYTES if activations == "int8" else NEAR
            problem = compare(Run(loaded, case, prompt), exact, allowed if of_16_bits else None, near)
            if problem:
                return f"{precision}, activations in {activations}, a prompt of {prompt}: {problem}"
        del loaded
        program.unlink()
    return None
