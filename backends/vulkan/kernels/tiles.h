// Tiles: products on devices that are processors, by the kernels that read texels (shaders/tile.comp, depthwise.comp).
#pragma once

#include "backends/vulkan/kernels/launch.h"
#include "kernels/portable/fused_activation.h"
#include "kernels/portable/gemm.h"

namespace berth::vulkan {

/// The tensors of a product, whose pointers in it point into them, and what follows it.
struct Finish {
  const Tensor* a = nullptr;
  const Tensor* b = nullptr;
  const Tensor* c = nullptr;
  const Tensor* start = nullptr;  // that Product::start points to, or what lies like `c`
  bool start_like_c = false;
  const Tensor* bias = nullptr;
  bool bias_by_row = false;
  portable::Activation activation;

  /// The first element of a matrix in its tensor. `pointer` has been moved by elements of the product's type.
  static int64_t first(const portable::Product& product, const Tensor* tensor, const void* pointer) {
    const auto element = static_cast<int64_t>(element_size(product.dtype));
    return (static_cast<const char*>(pointer) - tensor->data<char>()) / element;
  }
};

/// The numbers of a product (shaders/product_numbers.glsl).
void put_numbers(Launch& ask, const portable::Product& product, const Finish& finish);

/// Asks for the product where the device reads texels, and says so in `*done`. Not done where sums are so long that the
/// driver's limit of a loop would cut them off, and for tensors that views cannot give. REQUIRES: no size is 0.
Error run_tiles(KernelContext& context, const Gpu& gpu, const portable::Product& product, const Finish& finish,
                bool* done);

/// lavapipe ends an invocation's loops when they have come round 65535 times in all.
constexpr int64_t kMostRounds = 65000;

/// Where the taps of the last axis and the channels lie one after the other in both factors, they become one run;
/// `*limit` is then where a line of B ends, else 0.
void join_taps(portable::Product* product, int64_t* limit);

/// Whether kernels may read a tensor as texels of four elements, from element `first` on.
bool has_texels(const Tensor& tensor, int64_t first = 0);

}  // namespace berth::vulkan
