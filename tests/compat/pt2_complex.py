"""Complex tensors and Fourier transforms in torch.export's archives."""
import torch
from torch import nn
from torch.export import Dim

from pt2_cases import case, real


class Spectral(nn.Module):
    """A layer of a Fourier neural operator: low frequencies times complex weights, written in place."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.low = nn.Parameter(torch.randn(2, 3, 3, 3, dtype=torch.cfloat, generator=generator))
        self.high = nn.Parameter(torch.randn(2, 3, 3, 3, dtype=torch.cfloat, generator=generator))

    def forward(self, x):
        z = torch.fft.rfft2(x)
        y = torch.zeros(x.shape[0], 3, z.shape[-2], z.shape[-1], dtype=torch.cfloat)
        y[:, :, :3, :3] = torch.einsum("bixy,ioxy->boxy", z[:, :, :3, :3], self.low)
        y[:, :, -3:, :3] = torch.einsum("bixy,ioxy->boxy", z[:, :, -3:, :3], self.high)
        return torch.fft.irfft2(y, s=(x.size(-2), x.size(-1)))


class Rotary(nn.Module):
    """Rotary embeddings as Llama's first code has them: a complex buffer."""

    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(16.), 1 / 100 ** (torch.arange(0, 8, 2) / 8))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned = z * self.turns[: x.shape[1]].view(1, x.shape[1], 1, 4)
        return torch.view_as_real(turned).flatten(3)


class Linear(nn.Module):
    """With complex weights."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(5)
        self.linear = nn.Linear(4, 3, dtype=torch.cfloat)
        with torch.no_grad():
            for weight in self.linear.parameters():
                weight.copy_(torch.randn(weight.shape, dtype=torch.cfloat, generator=generator))

    def forward(self, a, b):
        return torch.view_as_real(self.linear(torch.complex(a, b)))


def complexes():
    fft = torch.fft
    case("complex", "rotary", Rotary(), real(2, 5, 3, 8))
    case("complex", "rotary_open", Rotary(), real(2, 5, 3, 8), dynamic=({1: Dim("n", min=2, max=16)},), others=((real(2, 16, 3, 8),), (real(2, 3, 3, 8),)))
    case("complex", "fnet", lambda x: fft.fft(fft.fft(x, dim=-1), dim=-2).real, real(2, 6, 10))
    case("complex", "spectral", Spectral(), real(2, 2, 8, 10))
    for norm in ("backward", "ortho", "forward"):
        case("complex", f"norm_{norm}", lambda x, norm=norm: (fft.fftn(x, dim=(1, 2), norm=norm).abs(), fft.irfftn(fft.rfftn(x, norm=norm), s=(3, 7), dim=(1, 2), norm=norm)), real(2, 4, 6))
    case("complex", "inverse", lambda x: (fft.ifft2(fft.fft2(x)).real, fft.ifftn(fft.fftn(x)).imag + x), real(3, 4, 5))
    case("complex", "long", lambda x: torch.view_as_real(fft.rfft(x)), real(2, 3000))
    case("complex", "long_inverse", lambda x: fft.irfft(fft.rfft(x), n=1500), real(2, 1500))
    case("complex", "padded", lambda x: (fft.rfft(x, n=12).abs(), fft.irfft(fft.rfft(x, n=6), n=9)), real(2, 8))
    case("complex", "shift", lambda x: (fft.fftshift(fft.fft2(x), dim=(-2, -1)).abs(), fft.ifftshift(x), fft.fftshift(x)), real(3, 4, 5))
    case("complex", "frequencies", lambda x: x * fft.rfftfreq(8) + fft.fftfreq(8, 0.5)[:5] + fft.fftfreq(7)[:5], real(2, 5))
    window = torch.hann_window(16)
    case("complex", "stft", lambda x: torch.stft(x, 16, 4, window=window, return_complex=True).abs() ** 2, real(2, 100))
    case("complex", "stft_open", lambda x: torch.stft(x, 16, 4, window=window, center=False, return_complex=True).abs(), real(100), dynamic=({0: 4 * Dim("n", min=10, max=50)},), others=((real(48),), (real(200),)))
    case("complex", "stft_whole", lambda x: torch.view_as_real(torch.stft(x, 16, 5, 12, normalized=True, onesided=False, return_complex=True)), real(100))
    case("complex", "istft", lambda x: torch.istft(torch.stft(x, 16, 4, window=window, return_complex=True), 16, 4, window=window, length=96), real(2, 100))
    case("complex", "arithmetic", lambda a, b: torch.view_as_real((torch.complex(a, b) * 2j + (1 - 3j) - torch.complex(b, a) / torch.complex(a, b + 3)) * a + b), real(3, 4), real(3, 4))
    case("complex", "functions", lambda a, b: [f(torch.complex(a, b)) for f in (torch.abs, torch.angle, lambda z: z.exp().real, lambda z: z.log().imag, lambda z: z.sqrt().imag, lambda z: z.pow(3).real, lambda z: z.pow(-1.5).real, lambda z: z.sgn().imag, lambda z: z.reciprocal().real, lambda z: z.square().imag)], real(3, 4), real(3, 4))
    case("complex", "conjugate", lambda a, b: (torch.complex(a, b).conj() * torch.complex(b, a)).real + torch.complex(a, b).mH.imag.t(), real(3, 4), real(3, 4))
    case("complex", "products", lambda a, b: torch.view_as_real(torch.complex(a, b) @ torch.complex(b, a).t() + torch.complex(a @ b.t(), a @ b.t())), real(3, 4), real(3, 4))
    case("complex", "linear", Linear(), real(2, 4), real(2, 4))
    case("complex", "moved", lambda a, b: torch.view_as_real(torch.cat([torch.complex(a, b).t().roll(1, 0).flip(1), torch.complex(b, a).t()[1:]]).unsqueeze(0).expand(2, -1, -1).sum(1)), real(3, 4), real(3, 4))
    case("complex", "chosen", lambda a, b: torch.view_as_real(torch.where(a > 0, torch.complex(a, b), a.to(torch.cfloat)).masked_fill(b > 1, 2.)), real(3, 4), real(3, 4))
    case("complex", "double", lambda a: fft.ifft(fft.fft(a.double()) * 1j).imag, real(12))
    case("complex", "input", lambda z: torch.view_as_real(z * z), torch.complex(real(3), real(3)))
    case("complex", "equal", lambda a, b: (torch.complex(a, b) == torch.complex(a, a), torch.complex(a, b) != a), real(3, 4), real(3, 4))
