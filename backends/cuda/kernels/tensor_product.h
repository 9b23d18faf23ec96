// Products of f32 matrices, and convolutions as such, on tensor cores: nearly as exact as sums of f32, by splitting each
// factor into two numbers of TF32, 23 of its 24 bits, and adding three of their four products ("3xTF32"; Ootomo and Yokota,
// "Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance", 2022).
#pragma once

#include "backends/cuda/kernels/finish.h"
#include "runtime/kernel.h"

namespace berth::cuda {

/// out[row, column] = activation(sum over depth of a[row, depth] * b[depth, column] + bias + residual), where a column is
/// a pixel of a result's image. Sizes and strides are in elements.
struct TensorProduct {
  const float* a = nullptr;
  int32_t rows = 1, depth = 1;
  int64_t row_a = 1;  // the elements of a row are neighbours

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

  int64_t image_out = 0, row_out = 1;  // columns of an image are neighbours
  Finish finish;                       // its `out` is the result; `plane` and `channels` are not read
  bool bias_by_row = false;            // else one a column
};

/// Queues the product in one or two launches; the sums of a result do not depend on anything but the sizes. False, with
/// nothing queued, on devices without such tensor cores, for sizes beyond 32 bits, and on the host.
bool launch_tensor_product(KernelContext& context, const TensorProduct& product, Error* error);

}  // namespace berth::cuda
