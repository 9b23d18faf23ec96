#include "compiler/import/pt2/autocast.h"

#include <algorithm>

#include "compiler/import/lowering/einsum.h"

namespace berth::pt2 {
namespace {

enum class Reads {
  kNarrow,   // floats of the region's type
  kWide,     // f32
  kRefused,  // some of what it computes on the way is narrow
};

using Decide = std::optional<Reads> (*)(NodeContext& n);

// Within each of them are products, and where there are none floats stay.

std::optional<Reads> einsum(NodeContext& n) {
  const ValueList inputs = n.tensors("tensors");
  if (!n.ok() || !lowering::einsum_contracts(n, n.text("equation", ""), inputs)) return std::nullopt;
  return inputs.size() > 2 ? Reads::kRefused : Reads::kNarrow;
}

std::optional<Reads> inner(NodeContext& n) {
  const int a = n.rank(n.tensor("self"));
  const int b = n.rank(n.tensor("other"));
  if (a == 0 || b == 0 || (a == 1 && b == 1)) return std::nullopt;
  return Reads::kNarrow;
}

std::optional<Reads> matrix_power(NodeContext& n) {
  if (n.integer("n", 1) < 2) return std::nullopt;
  return Reads::kNarrow;
}

// pad is reflection_pad1d and the like, of which the one for volumes is not in the list.
std::optional<Reads> pad(NodeContext& n) {
  const std::string mode = n.text("mode", "constant");
  constexpr size_t kEnds = 2;
  const size_t dims = n.dims("pad").size() / kEnds;
  if (mode == "replicate" || (mode == "reflect" && dims < 3)) return Reads::kWide;
  return std::nullopt;
}

// clang-format off
// einsum and others are there by what they compute with; convolution is not: conv2d becomes it below autocast.
constexpr std::string_view kNarrow[] = {
    "_addmm_activation", "_convolution.deprecated", "_native_multi_head_attention", "addbmm", "addmm", "baddbmm",
    "bmm", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "linalg_matmul", "linalg_multi_dot", "linalg_vecdot", "linear", "matmul", "mm", "prelu",
    "scaled_dot_product_attention", "tensordot"};
constexpr std::string_view kWide[] = {
    "_grid_sampler_2d_cpu_fallback", "_lu_with_info", "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky_inverse", "cholesky_solve",
    "cosine_embedding_loss", "cross_entropy_loss", "ctc_loss", "fake_quantize_per_tensor_affine.default", "fft_fft",
    "fft_fft2", "fft_fftn", "fft_hfft", "fft_ifft", "fft_ifft2", "fft_ifftn", "fft_ihfft", "fft_irfft", "fft_irfft2",
    "fft_irfftn", "fft_rfft", "fft_rfft2", "fft_rfftn", "fractional_max_pool2d", "fractional_max_pool3d", "geqrf",
    "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "hinge_embedding_loss", "huber_loss", "inverse", "kl_div",
    "l1_loss", "linalg_cholesky", "linalg_cholesky_ex", "linalg_cond", "linalg_eig", "linalg_eigh", "linalg_eigvals",
    "linalg_eigvalsh", "linalg_householder_product", "linalg_inv", "linalg_inv_ex", "linalg_lstsq",
    "linalg_matrix_rank", "linalg_matrix_sqrth", "linalg_qr", "linalg_solve", "linalg_svd", "linalg_svdvals",
    "linalg_tensorinv", "linalg_tensorsolve", "lu_solve", "margin_ranking_loss", "max_pool3d", "max_unpool2d",
    "max_unpool3d", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_margin_loss_forward",
    "nanquantile", "nll_loss", "nll_loss2d", "nll_loss_nd", "orgqr", "ormqr", "pinverse", "poisson_nll_loss", "polar", "prod",
    "quantile", "reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d", "replication_pad3d",
    "smooth_l1_loss", "soft_margin_loss", "stft", "svd", "trace", "triangular_solve", "triplet_margin_loss",
    "view_as_complex"};
constexpr std::string_view kRefused[] = {
    "_transformer_encoder_layer_fwd", "gru", "gru_cell", "lstm", "lstm_cell", "mkldnn_rnn_layer", "rnn_relu",
    "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"};
// clang-format on

struct Row {
  std::string_view name;
  Decide decide;
};
constexpr Row kByArguments[] = {{"einsum", einsum},
                                {"inner", inner},
                                {"linalg_matrix_power", matrix_power},
                                {"matrix_power", matrix_power},
                                {"pad", pad}};

template <size_t count>
constexpr bool sorted(const std::string_view (&names)[count]) {
  for (size_t i = 1; i < count; ++i) {
    if (names[i - 1] >= names[i]) return false;
  }
  return true;
}
static_assert(sorted(kNarrow) && sorted(kWide) && sorted(kRefused));

/// Whether `names` has "prod.dim_int", or "prod" for every overload.
template <size_t count>
bool lists(const std::string_view (&names)[count], std::string_view op) {
  return std::binary_search(std::begin(names), std::end(names), op) ||
         std::binary_search(std::begin(names), std::end(names), op.substr(0, op.find('.')));
}

std::optional<Reads> reads_of(NodeContext& n, std::string_view op) {
  if (lists(kNarrow, op)) return Reads::kNarrow;
  if (lists(kWide, op)) return Reads::kWide;
  if (lists(kRefused, op)) return Reads::kRefused;
  for (const Row& row : kByArguments) {
    if (row.name == op.substr(0, op.find('.'))) return row.decide(n);
  }
  return std::nullopt;
}

}  // namespace

void apply_autocast(NodeContext& n) {
  if (!n.state().autocast.has_value()) return;
  std::string space;
  const std::string name = operator_name(n.node().target, &space);
  const std::optional<Reads> reads = space == "aten" ? reads_of(n, name) : std::nullopt;
  if (!n.ok() || !reads.has_value()) return;
  if (*reads == Reads::kRefused) {
    return n.unsupported("within torch.autocast, which casts on its way; run_decompositions() takes it apart, in f32");
  }
  n.cast_floats(*reads == Reads::kNarrow ? *n.state().autocast : DType::kF32);
}

}  // namespace berth::pt2
