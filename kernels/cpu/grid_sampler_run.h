// Some places of an image that is read bilinearly: the work behind kernels/cpu/grid_sampler.cc.
#pragma once

#include <cstdint>

namespace berth::cpu {

/// The most places of one run.
constexpr int64_t kSampledPlaces = 64;

/// Places of one image, in all of its channels. REQUIRES: places <= kSampledPlaces, 0 < height * width < 2^31
struct SampleRun {
  const float* image = nullptr;  // [channels, height, width]
  const float* grid = nullptr;   // x and y of each place
  float* out = nullptr;          // of the first channel; the others are `apart` elements from one another
  int64_t places = 0, apart = 0;
  int64_t channels = 0, height = 0, width = 0;
  bool border = false;  // pixels outside are those of the border instead of zeros
  bool align_corners = false;
};

void sample_places(const SampleRun& run);

}  // namespace berth::cpu
