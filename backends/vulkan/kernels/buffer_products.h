// Products by the kernels that read storage buffers, which cards have (shaders/product.comp, block.comp, deep.comp).
#pragma once

#include "backends/vulkan/kernels/tiles.h"

namespace berth::vulkan {

/// Asks for the product in the form that suits its sizes and the device. REQUIRES: no size is 0.
Error run_buffers(KernelContext& context, const Gpu& gpu, const portable::Product& product, const Finish& finish);

}  // namespace berth::vulkan
