#include "kernels/portable/conv_depthwise.h"

#include <cstring>

#include "kernels/portable/conv_window.h"
#include "kernels/portable/gemm_slots.h"

namespace berth::portable {
namespace {

// With more output channels a group a matrix product shares the patches better.
constexpr int64_t kMaxMultiplier = 4;
constexpr double kSerialWork = 1 << 16;

bool plan(const Convolution& c, Window* window) {
  WindowAxis axes[2];
  for (int i = 0; i < 2; ++i) {
    const Convolution::Axis& axis = c.axis[i + 1];
    axes[i] = {axis.in, axis.out, axis.kernel, axis.stride, axis.padding, axis.dilation};
  }
  return window->plan(axes[0], axes[1]);
}

int count_slots(const Convolution& c, const Window& window, int threads) {
  const int64_t items = c.batch * c.groups * window.tiles();
  const double work = static_cast<double>(c.out->numel()) * window.taps();
  return slots_for(threads, items, work, kSerialWork);
}

// One tile of the output planes that one input plane makes.
void run_tile(const Convolution& c, const Window& window, int64_t batch, int64_t channel, int64_t index,
              float* scratch) {
  const Window::Tile tile = window.tile(index);
  const Convolution::Axis& height = c.axis[1];
  const Convolution::Axis& width = c.axis[2];
  const float* plane = c.input->data<float>() + batch * c.input->stride(0) + channel * c.input->stride(1);
  window.load(tile, plane, height.in_stride, 0, scratch);
  for (int64_t m = channel * c.out_channels; m < (channel + 1) * c.out_channels; ++m) {
    float weights[Window::kMaxTaps];
    const float* kernel = c.weight->data<float>() + m * c.weight->stride(0);
    for (int64_t t = 0; t < window.taps(); ++t) {
      weights[t] = kernel[t / width.kernel * height.kernel_stride + t % width.kernel * width.kernel_stride];
    }
    window.sum(tile, weights, c.bias == nullptr ? 0 : c.bias->data<float>()[m], scratch);
    float* out =
        c.out->data<float>() + batch * c.out->stride(0) + m * c.out->stride(1) + tile.y * height.out_stride + tile.x;
    for (int64_t y = 0; y < tile.rows; ++y) {
      std::memcpy(out + y * height.out_stride, window.result_row(scratch, y), tile.columns * sizeof(float));
    }
  }
}

}  // namespace

bool is_fast_depthwise(const Convolution& c) {
  if (c.out->dtype() != DType::kF32 || c.transposed || c.spatial == 3) return false;
  if (c.in_channels != 1 || c.out_channels > kMaxMultiplier) return false;
  if (c.axis[2].in_stride != 1 || c.axis[2].out_stride != 1) return false;
  Window window;
  return plan(c, &window);
}

size_t depthwise_scratch_bytes(const Convolution& c, int threads) {
  Window window;
  plan(c, &window);
  return (count_slots(c, window, threads) * window.scratch_floats()) * sizeof(float);
}

void run_depthwise(KernelContext& context, const Convolution& c, void* scratch) {
  Window window;
  plan(c, &window);
  const int64_t tiles = window.tiles();
  float* floats = static_cast<float*>(scratch);
  for_each_item(
      context, count_slots(c, window, context.threads()), c.batch * c.groups * tiles,
      [&](float* own, int64_t item) {
        const int64_t plane = item / tiles;
        run_tile(c, window, plane / c.groups, plane % c.groups, item % tiles, own);
      },
      [&](int64_t slot) { return floats + slot * window.scratch_floats(); });
}

size_t max_depthwise_scratch_bytes(int threads) {
  return (std::clamp(threads, 1, kMaxSlots) * Window::kMaxScratchFloats) * sizeof(float);
}

}  // namespace berth::portable
