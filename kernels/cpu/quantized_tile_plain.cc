// Tiles by plain loops, for any processor.
#include "kernels/cpu/quantized_tile.h"

namespace berth::cpu {
namespace {
namespace quantized_plain {

#define BERTH_TARGET
#include "kernels/cpu/quantized_finish_body.h"

template <int kRows>
void tile(const QuantizedTile& t) {
  uint32_t sum[kRows][kPanelColumns] = {};
  for (int64_t quad = 0; quad < t.quads; ++quad) {
    for (int i = 0; i < kRows; ++i) {
      int32_t x[kQuad];
      for (int64_t k = 0; k < kQuad; ++k) {
        x[k] = static_cast<uint8_t>(t.a[i * t.a_step + quad * kQuad + k] ^ static_cast<uint8_t>(t.flip));
      }
      const int8_t* w = t.b + quad * kQuadBytes;
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
    quantized_plain::finish_row,
    quantized_plain::total_of,
};

}  // namespace berth::cpu
