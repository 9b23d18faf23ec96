// Products of f32 matrices, and convolutions as such, on tensor cores: nearly as exact as sums of f32, by splitting
// each factor into two numbers of TF32, 23 of its 24 bits, and adding three of their four products ("3xTF32"; Ootomo
// and Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak
// performance", 2022).
#pragma once

#include "backends/cuda/kernels/finish.h"
#include "runtime/kernel.h"

namespace berth::cuda {

/// out[row, column] = activation(sum over depth of a[row, depth] * b[depth, column] + bias + residual), where a column
/// is a pixel of a result's image. Sizes and strides are in elements.
struct TensorProduct {
  const float* a = nullptr;
  int32_t rows = 1, depth = 1;
  int64_t row_a = 1, depth_a = 1;

  // b[depth, column] = b[image * image_b + depth * depth_b + column of the image]; or, with taps, `depth` is a channel
  // and a tap, and the element is the one that the tap reads for that pixel, or 0 outside of the image.
  const float* b = nullptr;
  int32_t images = 1, columns = 1;  // columns of one image
  int64_t image_b = 0, depth_b = 0;
  struct Axis {
    int32_t in, out, taps, stride, padding, dilation;
  };
  bool has_taps = false;
  Axis y = {}, x = {};

  // Columns of an image are neighbours in the result. Where y * x of `squares` is more than 1, so many rows are one
  // channel of a larger image, in which a column, one of lines of `width`, is a square of y by x pixels, of which each
  // row has one.
  struct Squares {
    int32_t y = 1, x = 1, width = 1;
  } squares;
  int64_t image_out = 0, row_out = 1;  // the latter of channels
  Finish finish;                       // its `out` is the result; `plane` and `channels` are not read
  bool bias_by_row = false;            // one a channel; else one a column
};

/// Queues the product as one launch; the sums of a result do not depend on anything but the sizes. False, with nothing
/// queued, on devices without such tensor cores and for sizes beyond 32 bits. Where nvcc does not compile, a loop on
/// the host computes what the launch would, unless `emulated_tensor_cores` is false.
bool launch_tensor_product(KernelContext& context, const TensorProduct& product, Error* error);

/// For tests, which change it before anything runs.
inline bool emulated_tensor_cores = true;

}  // namespace berth::cuda
