"""Regions of torch.autocast: cases, and Berth's lists of operators beside what PyTorch registers."""
import pathlib
import re

import torch
from torch import nn
from torch.nn import functional as F

from pt2_cases import case, real

SOURCE = pathlib.Path(__file__).parents[2] / "compiler/import/pt2/autocast.cc"
# They take the widest of their types, as everywhere; index_copy too.
WIDEST = {"cat", "stack", "index_copy"}
# Not registered: what they compute with is.
COMPOSITE = {"linalg_matmul", "linalg_multi_dot", "tensordot", "nll_loss_nd", "_transformer_encoder_layer_fwd", "gru", "gru_cell",
             "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"}


def check_lists():
    """Raises where an operator is registered and not in a list, or the other way."""
    registered = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
    theirs = {name.removeprefix("aten::").split(".")[0] for name in registered if name.startswith("aten::")} - WIDEST
    lists = re.findall(r"std::string_view k\w+\[\] = \{(.*?)\};", SOURCE.read_text(), re.DOTALL)
    ours = {name.split(".")[0] for one in lists for name in re.findall(r'"([^"]+)"', one)}
    missing, unknown = theirs - ours, ours - theirs - COMPOSITE
    if missing or unknown:
        raise AssertionError(f"autocast.cc lacks {sorted(missing)} and has {sorted(unknown)}")


class Region(nn.Module):
    def __init__(self, function, dtype=torch.bfloat16):
        super().__init__()
        self.function, self.dtype = function, dtype

    def forward(self, *args):
        with torch.autocast("cpu", self.dtype):
            return self.function(*args)


def autocast():
    check_lists()
    square, row = real(3, 3), real(3)
    low = square.bfloat16()
    for name, function, *args in (
            ("prelu", F.prelu, square, real(1)), ("inner", torch.inner, square, square), ("inner_rows", torch.inner, row, row),
            ("tensordot", lambda a, b: torch.tensordot(a, b, 1), square, square), ("matmul", torch.linalg.matmul, square, square),
            ("power", lambda a: torch.linalg.matrix_power(a, 3), square), ("power_1", lambda a: torch.matrix_power(a, 1), square),
            ("einsum", lambda a, b: torch.einsum("ij,jk->ik", a, b), square, square),
            ("einsum_outer", lambda a, b: torch.einsum("i,j->ij", a, b), row, row),
            ("einsum_transpose", lambda a: torch.einsum("ij->ji", a), square),
            ("einsum_size_1", lambda a, b: torch.einsum("ij,jk->ik", a, b), real(3, 1), real(1, 3)),
            ("pool", lambda x: F.max_pool3d(x, 2), real(1, 2, 4, 4, 4).bfloat16()),
            ("reflect", lambda x: F.pad(x, (1, 1), mode="reflect"), real(1, 2, 4).bfloat16()),
            ("replicate", lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), real(1, 2, 4, 4).bfloat16()),
            ("reflect_volume", lambda x: F.pad(x, (1,) * 6, mode="reflect"), real(1, 2, 4, 4, 4).bfloat16()),
            ("constant", lambda x: F.pad(x, (1, 1)), low),
            ("fourier", lambda x: torch.fft.irfft2(torch.fft.rfft2(x)), real(4, 4).bfloat16()),
            ("loss", lambda x: F.nll_loss(x, torch.tensor([0, 2, 1])), low), ("conv", F.conv2d, real(1, 2, 4, 4), real(2, 2, 3, 3))):
        case("autocast", name, Region(function), *args)
    case("autocast", "half", Region(torch.mm, torch.float16), square, square)
    case("autocast", "lstm", Region(lambda x, m=nn.LSTM(3, 4): m(x)[0]), square)
