// berth::narrow_linear: f32 rows times a weight of 8 or 4 bits that stays as narrow as it is.
//
//   out[i, j] = activation(bias[j] + residual[i, j] +
//                          sum over blocks b of scale[b, j] * sum over k in b of input[i, k] * (w[k, j] - zero[b, j]))
//
// A block is `block` rows of the weight, the last one perhaps fewer. Of 8 bits, w is i8 [depth, columns]; of 4, u8
// [(depth + 1) / 2, columns], whose byte [r, j] holds w[2 r, j] + 8 in its lower half and w[2 r + 1, j] + 8 in its
// upper one. Scales are f32, zero points i8 in the range of w or any f32: [blocks, columns], where 1 stands for all of
// either.
#include "kernels/portable/fused_narrow_linear.h"

#include <algorithm>

#include "base/math.h"
#include "kernels/portable/gemm_slots.h"
#include "kernels/portable/layout_arguments.h"
#include "kernels/portable/math.h"
#include "kernels/portable/multiversion.h"

namespace berth::portable {
namespace {

constexpr const char* kSizes = "the sizes of a product with a narrow weight do not fit";
constexpr const char* kTypes =
    "a product with a narrow weight takes f32, weights of i8 (8 bits) or u8 (4 bits), f32 scales, zero points of i8 or "
    "f32, in row-major order";

constexpr int64_t kTileRows = 8;
constexpr int64_t kTileColumns = 64;
// As long as a sum may be that is made in one piece (kernels/cpu/tiles_run.cc).
constexpr int64_t kShortDepth = 512;

bool takes(const Tensor& tensor, DType dtype) { return tensor.dtype() == dtype && tensor.is_contiguous(); }

bool fits_blocks(const Tensor& tensor, const NarrowLinear& linear) {
  return tensor.rank() == 2 && (tensor.size(0) == linear.blocks || tensor.size(0) == 1) &&
         (tensor.size(1) == linear.columns || tensor.size(1) == 1);
}

bool in_range(const Tensor& zero_points, int64_t bits) {
  if (zero_points.dtype() != DType::kI8 || bits == 8) return true;
  const auto* zeros = zero_points.data<int8_t>();
  return std::all_of(zeros, zeros + zero_points.numel(), [](int8_t z) { return z >= -8 && z <= 7; });
}

struct Tile {
  int64_t row, rows, column, columns;
};

// sum[i][j] += scale * (sum over rows [begin, end) of the weight, all of one block)
BERTH_MULTIVERSION void add_part(const NarrowLinear& linear, const NarrowWeight& weight, const float* input,
                                 const Tile& tile, int64_t begin, int64_t end, float (*sum)[kTileColumns]) {
  float part[kTileRows][kTileColumns] = {};
  float zeros[kTileColumns];
  const int64_t block = begin / linear.block;
  for (int64_t j = 0; j < tile.columns; ++j) zeros[j] = weight.zero_point(block, tile.column + j);
  for (int64_t k = begin; k < end; ++k) {
    float wide[kTileColumns];
    for (int64_t j = 0; j < tile.columns; ++j) {
      wide[j] = static_cast<float>(weight.number(k, tile.column + j)) - zeros[j];
    }
    for (int64_t i = 0; i < tile.rows; ++i) {
      const float x = input[(tile.row + i) * linear.depth + k];
      BERTH_SIMD
      for (int64_t j = 0; j < tile.columns; ++j) part[i][j] += x * wide[j];
    }
  }
  for (int64_t j = 0; j < tile.columns; ++j) {
    const float scale = weight.scale(block, tile.column + j);
    for (int64_t i = 0; i < tile.rows; ++i) sum[i][j] += part[i][j] * scale;
  }
}

void run_tile(const arguments::fused_narrow_linear_out& args, const NarrowLinear& linear, const NarrowWeight& weight,
              const Tile& tile) {
  float sum[kTileRows][kTileColumns] = {};
  const auto* input = args.input.data<float>();
  for (int64_t k = 0; k < linear.depth;) {
    const int64_t end = std::min({linear.depth, (k / linear.block + 1) * linear.block, k + kShortDepth});
    add_part(linear, weight, input, tile, k, end, sum);
    k = end;
  }
  for (int64_t i = 0; i < tile.rows; ++i) {
    const int64_t at = (tile.row + i) * linear.columns + tile.column;
    float* y = args.out.data<float>() + at;
    for (int64_t j = 0; j < tile.columns; ++j) {
      if (args.residual != nullptr) sum[i][j] += args.residual->data<float>()[at + j];
      if (args.bias != nullptr) sum[i][j] += args.bias->data<float>()[tile.column + j];
      y[j] = sum[i][j];
    }
    activate(linear.activation, y, tile.columns);
  }
}

}  // namespace

NarrowWeight::NarrowWeight(const Tensor& weight, const Tensor& scales, const Tensor* zero_points, int64_t bits)
    : bits_(bits),
      columns_(weight.size(1)),
      bytes_(weight.data<uint8_t>()),
      scales_(scales.data<float>()),
      scale_block_(scales.size(0) == 1 ? 0 : scales.size(1)),
      scale_column_(scales.size(1) == 1 ? 0 : 1) {
  if (zero_points == nullptr) return;
  zero_block_ = zero_points->size(0) == 1 ? 0 : zero_points->size(1);
  zero_column_ = zero_points->size(1) == 1 ? 0 : 1;
  if (zero_points->dtype() == DType::kF32) {
    zeros_ = zero_points->data<float>();
  } else {
    whole_zeros_ = zero_points->data<int8_t>();
  }
}

Error check_narrow_weight(KernelContext& context, const arguments::fused_narrow_linear_out& args,
                          NarrowLinear* linear) {
  if (args.packing.size != 0) {
    return context.fail(Error::kNotSupported, "this product's weight is packed; portable kernels take dense ones");
  }
  const Tensor& weight = args.weight;
  const Tensor* zeros = args.zero_points;
  const bool zeros_fit = zeros == nullptr || takes(*zeros, DType::kI8) || takes(*zeros, DType::kF32);
  if (!takes(weight, args.bits == 8 ? DType::kI8 : DType::kU8) || !takes(args.scales, DType::kF32) || !zeros_fit) {
    return context.fail(Error::kInvalidArgument, kTypes);
  }
  if ((args.bits != 4 && args.bits != 8) || args.block < 1 || args.input.rank() < 1 || weight.rank() != 2) {
    return context.fail(Error::kInvalidArgument, kSizes);
  }
  linear->depth = args.input.size(args.input.rank() - 1);
  linear->columns = weight.size(1);
  linear->block = args.block;
  linear->blocks = linear->depth == 0 ? 0 : (linear->depth - 1) / args.block + 1;
  const int64_t rows = args.bits == 8 ? linear->depth : ceil_div<int64_t>(linear->depth, 2);
  if (weight.size(0) != rows || !fits_blocks(args.scales, *linear) ||
      (zeros != nullptr && !fits_blocks(*zeros, *linear))) {
    return context.fail(Error::kInvalidArgument, kSizes);
  }
  BERTH_RETURN_IF_ERROR(check_memory(context, weight, args.scales));
  if (zeros == nullptr) return Error::kOk;
  BERTH_RETURN_IF_ERROR(check_memory(context, *zeros));
  if (in_range(*zeros, args.bits)) return Error::kOk;
  return context.fail(Error::kInvalidArgument, "a zero point is not in the range of the weight's elements");
}

Error prepare_narrow_rows(KernelContext& context, const arguments::fused_narrow_linear_out& args,
                          NarrowLinear* linear) {
  BERTH_RETURN_IF_ERROR(read_activation(context, args, &linear->activation));
  const Tensor& input = args.input;
  const Tensor* bias = args.bias;
  const Tensor* residual = args.residual;
  Tensor& out = args.out;
  if (!takes(input, DType::kF32) || !takes(out, DType::kF32) || (bias != nullptr && !takes(*bias, DType::kF32)) ||
      (residual != nullptr && !takes(*residual, DType::kF32))) {
    return context.fail(Error::kInvalidArgument, kTypes);
  }
  if (input.rank() < 1 || input.size(input.rank() - 1) != linear->depth) {
    return context.fail(Error::kInvalidArgument, kSizes);
  }
  Sizes sizes = sizes_of(input);
  sizes.data[sizes.rank - 1] = static_cast<int32_t>(linear->columns);
  BERTH_RETURN_IF_ERROR(resize_out(context, out, sizes.span()));
  if ((bias != nullptr && (bias->rank() != 1 || bias->size(0) != linear->columns)) ||
      (residual != nullptr && !same_sizes(*residual, out))) {
    return context.fail(Error::kInvalidArgument, kSizes);
  }
  linear->rows = linear->columns == 0 ? 0 : out.numel() / linear->columns;
  BERTH_RETURN_IF_ERROR(check_memory(context, input, out));
  if (bias != nullptr) BERTH_RETURN_IF_ERROR(check_memory(context, *bias));
  return residual == nullptr ? Error::kOk : check_memory(context, *residual);
}

Error fused_narrow_linear_out(KernelContext& context, const arguments::fused_narrow_linear_out& args) {
  NarrowLinear linear;
  BERTH_RETURN_IF_ERROR(check_narrow_weight(context, args, &linear));
  BERTH_RETURN_IF_ERROR(prepare_narrow_rows(context, args, &linear));
  if (args.out.numel() == 0) return Error::kOk;
  const NarrowWeight weight(args.weight, args.scales, args.zero_points, args.bits);
  const int64_t across = ceil_div(linear.columns, kTileColumns);
  const int64_t tiles = across * ceil_div(linear.rows, kTileRows);
  context.parallel_for(tiles, grain_of(linear.depth * kTileColumns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / across * kTileRows;
      const int64_t column = i % across * kTileColumns;
      run_tile(args, linear, weight,
               {row, std::min(kTileRows, linear.rows - row), column, std::min(kTileColumns, linear.columns - column)});
    }
  });
  return Error::kOk;
}

}  // namespace berth::portable
