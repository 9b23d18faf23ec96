// Tiles by plain loops, for any processor.
#include <cmath>

#include "kernels/cpu/quantized_tile.h"

namespace berth::cpu {
namespace {
namespace quantized_plain {

#define BERTH_TARGET
#define BERTH_LOCAL static inline

// A register of one number.
using Floats = float;
using Ints = uint32_t;
constexpr int64_t kLane = 1;

BERTH_LOCAL Floats spread(float x) { return x; }
BERTH_LOCAL Ints spread_int(int32_t x) { return static_cast<Ints>(x); }
BERTH_LOCAL Floats load_floats(const float* from) { return *from; }
BERTH_LOCAL Ints load_ints(const int32_t* from) { return static_cast<Ints>(*from); }
BERTH_LOCAL void store_floats(float* to, Floats x) { *to = x; }
BERTH_LOCAL Floats to_floats(Ints x) { return static_cast<float>(static_cast<int32_t>(x)); }
BERTH_LOCAL Ints to_ints(Floats x) { return static_cast<Ints>(static_cast<int32_t>(std::nearbyint(x))); }
BERTH_LOCAL Floats plus(Floats a, Floats b) { return a + b; }
BERTH_LOCAL Floats times(Floats a, Floats b) { return a * b; }
BERTH_LOCAL Floats over(Floats a, Floats b) { return a / b; }
BERTH_LOCAL Floats larger(Floats a, Floats b) { return a > b ? a : b; }
BERTH_LOCAL Floats smaller(Floats a, Floats b) { return a < b ? a : b; }
BERTH_LOCAL Ints plus_ints(Ints a, Ints b) { return a + b; }
BERTH_LOCAL Ints minus_ints(Ints a, Ints b) { return a - b; }
BERTH_LOCAL Ints times_ints(Ints a, Ints b) { return a * b; }
BERTH_LOCAL Ints load_bytes(const uint8_t* from, bool is_signed) {
  return is_signed ? static_cast<Ints>(int32_t{static_cast<int8_t>(*from)}) : *from;
}
BERTH_LOCAL void store_bytes(uint8_t* to, Ints x) { *to = static_cast<uint8_t>(x); }

// Behind its registers.
#include "kernels/cpu/quantized_finish_body.h"

void depthwise(const QuantizedWindow& window, int32_t* sums) {
  for (int64_t channel = 0; channel < window.channels; ++channel) {
    // Where the interleaving of registers leaves it: quantized_depthwise_body.h.
    const int64_t at = channel / 4 % 4 * kDepthwiseChannels + channel / 16 * 16 + channel % 4 * 4;
    uint32_t sum = 0;
    for (int64_t tap = 0; tap < 4 * window.quads; ++tap) {
      const auto x =
          static_cast<uint8_t>(window.taps[tap][window.offset + channel] ^ static_cast<uint8_t>(window.flip));
      sum += static_cast<uint32_t>(x * window.weight[tap / 4 * 4 * kDepthwiseChannels + at + tap % 4]);
    }
    sums[channel] = static_cast<int32_t>(sum);
  }
}

template <int kRows>
void tile(const QuantizedTile& t) {
  uint32_t sum[kRows][kPanelColumns] = {};
  const int8_t* b = t.b;
  for (int64_t quad = 0; quad < t.runs * t.quads; ++quad, b += kQuadBytes) {
    const uint8_t* const a = t.a[quad / t.quads] + quad % t.quads * kQuad;
    for (int i = 0; i < kRows; ++i) {
      int32_t x[kQuad];
      for (int64_t k = 0; k < kQuad; ++k) {
        x[k] = static_cast<uint8_t>(a[i * t.a_step + k] ^ static_cast<uint8_t>(t.flip));
      }
      const int8_t* w = b;
      for (int64_t column = 0; column < kPanelColumns; ++column, w += kQuad) {
        sum[i][column] += static_cast<uint32_t>(x[0] * w[0] + x[1] * w[1] + x[2] * w[2] + x[3] * w[3]);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) __builtin_memcpy(t.sums + i * kPanelColumns, sum[i], sizeof(sum[i]));
}

}  // namespace quantized_plain
}  // namespace

const QuantizedFunctions kQuantizedPlain = {
    "plain",
    {0, 4, 0, 0, 0},
    {{},
     {nullptr, quantized_plain::tile<1>, quantized_plain::tile<2>, quantized_plain::tile<3>, quantized_plain::tile<4>}},
    quantized_plain::finish,
    quantized_plain::depthwise,
    nullptr,
    nullptr,
    quantized_plain::total_of,
};

}  // namespace berth::cpu
