#include "compiler/import/pt2/autocast.h"

namespace berth::pt2 {
namespace {

// einsum, chain_matmul and the like are products when they run.
constexpr std::string_view kNarrow =
    " _addmm_activation addbmm addmm baddbmm bmm chain_matmul conv1d conv2d conv3d conv_tbc conv_transpose1d "
    "conv_transpose2d conv_transpose3d convolution einsum linalg_multi_dot linalg_vecdot linear matmul mm "
    "scaled_dot_product_attention ";
constexpr std::string_view kWide =
    " avg_pool3d binary_cross_entropy binary_cross_entropy_with_logits cdist cosine_embedding_loss cross_entropy_loss "
    "ctc_loss fft_fft fft_ifft fft_irfft fft_rfft grid_sampler grid_sampler_2d grid_sampler_3d hinge_embedding_loss "
    "huber_loss kl_div l1_loss linalg_det linalg_inv linalg_matrix_norm linalg_solve margin_ranking_loss mse_loss "
    "multi_margin_loss nanquantile nll_loss nll_loss2d nll_loss_nd poisson_nll_loss polar prod quantile smooth_l1_loss "
    "soft_margin_loss stft trace triplet_margin_loss view_as_complex ";

bool lists(std::string_view all, std::string_view name) {
  for (size_t at = all.find(name); at != std::string_view::npos; at = all.find(name, at + 1)) {
    if (all[at - 1] == ' ' && all[at + name.size()] == ' ') return true;
  }
  return false;
}

}  // namespace

std::optional<DType> autocast(std::string_view op, DType type) {
  constexpr std::string_view kSpace = "aten.";
  if (op.substr(0, kSpace.size()) != kSpace) return std::nullopt;
  op.remove_prefix(kSpace.size());
  op = op.substr(0, op.find('.'));
  if (op.empty()) return std::nullopt;
  if (lists(kNarrow, op)) return type;
  if (lists(kWide, op)) return DType::kF32;
  return std::nullopt;
}

}  // namespace berth::pt2
