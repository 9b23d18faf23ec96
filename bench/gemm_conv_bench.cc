// Products and convolutions of typical layers on one thread: GFLOP/s, compared with a single tile, which is the upper
// limit. --benchmark_filter selects by name.
#include <benchmark/benchmark.h>

#include <vector>

#include "kernels/portable/gemm_tile.h"
#include "kernels/portable/kernel_testing.h"
#include "kernels/portable/temp_bytes.h"

namespace berth::portable {
namespace {

using testing::Arg;
using testing::Array;

Array filled(std::vector<int32_t> sizes) {
  Array array = testing::f32(std::move(sizes));
  float* data = array.tensor().data<float>();
  for (int64_t i = 0; i < array.tensor().numel(); ++i) data[i] = static_cast<float>(i * 7919 % 1000) * 0.002f - 1.0f;
  return array;
}

void report(benchmark::State& state, double operations) {
  state.counters["GFLOP"] =
      benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1000);
}

template <auto kernel>
void run(benchmark::State& state, std::vector<Arg> args, double operations) {
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  const Span<EValue* const> span(values.data(), values.size());
  std::vector<uint8_t> temp(kTempBytes<kernel>(span, 1));
  for (auto _ : state) {
    KernelContext context(Span<uint8_t>(temp.data(), temp.size()), nullptr);
    if (untyped<kernel>(context, span) != Error::kOk) state.SkipWithError(context.message());
  }
  report(state, operations);
}

void tile_alone(benchmark::State& state) {
  const TileSet& tiles = best_tile_set();
  constexpr int64_t kDepth = 192;
  std::vector<float> a(kDepth * kMaxTileRows, 0.5f);
  std::vector<float> b(kDepth * kMaxTileColumns, 0.25f);
  std::vector<float> c(kMaxTileRows * kMaxTileColumns);
  Tile tile;
  tile.depth = kDepth;
  tile.a = a.data();
  tile.b = b.data();
  tile.b_step = 2 * tiles.vector;
  tile.c = c.data();
  tile.c_row = tile.b_step;
  for (auto _ : state) {
    tiles.two[tiles.max_rows](tile);
    benchmark::ClobberMemory();
  }
  report(state, 2.0 * kDepth * tiles.max_rows * tiles.vector * 2);
  state.SetLabel(tiles.name);
}
BENCHMARK(tile_alone);

// m, n, k
void product(benchmark::State& state) {
  const auto m = static_cast<int32_t>(state.range(0));
  const auto n = static_cast<int32_t>(state.range(1));
  const auto k = static_cast<int32_t>(state.range(2));
  run<&mm_out>(state, {filled({m, k}), filled({k, n}), filled({m, n})}, 2.0 * m * n * k);
}
BENCHMARK(product)
    ->ArgNames({"m", "n", "k"})
    ->Args({64, 1152, 288})   // gpt_small, first linear of the feed-forward part
    ->Args({64, 288, 1152})   // and its second
    ->Args({197, 1536, 384})  // vit_small
    ->Args({1, 1000, 1280})   // mobilenet_v2's classifier
    ->Args({1024, 1024, 1024});

// in channels, out channels, size, kernel, stride, groups
void convolution(benchmark::State& state) {
  const auto in = static_cast<int32_t>(state.range(0));
  const auto out = static_cast<int32_t>(state.range(1));
  const auto size = static_cast<int32_t>(state.range(2));
  const auto kernel = static_cast<int32_t>(state.range(3));
  const int64_t stride = state.range(4);
  const auto groups = static_cast<int32_t>(state.range(5));
  const auto result = static_cast<int32_t>((size + 2 * (kernel / 2) - kernel) / stride + 1);
  using List = std::vector<int64_t>;
  run<&convolution_out>(
      state,
      {filled({1, in, size, size}), filled({out, in / groups, kernel, kernel}), filled({out}), List{stride, stride},
       List{kernel / 2, kernel / 2}, List{1, 1}, false, List{0, 0}, groups, filled({1, out, result, result})},
      2.0 * result * result * out * (in / groups) * kernel * kernel);
}
BENCHMARK(convolution)
    ->ArgNames({"in", "out", "size", "kernel", "stride", "groups"})
    ->Args({64, 64, 56, 3, 1, 1})      // resnet50
    ->Args({128, 128, 28, 3, 1, 1})    //
    ->Args({256, 256, 14, 3, 1, 1})    //
    ->Args({512, 512, 7, 3, 1, 1})     //
    ->Args({3, 64, 224, 7, 2, 1})      //
    ->Args({64, 256, 56, 1, 1, 1})     //
    ->Args({1024, 256, 14, 1, 1, 1})   //
    ->Args({512, 2048, 7, 1, 1, 1})    //
    ->Args({3, 32, 224, 3, 2, 1})      // mobilenet_v2
    ->Args({96, 24, 56, 1, 1, 1})      //
    ->Args({96, 96, 112, 3, 2, 96})    //
    ->Args({144, 144, 56, 3, 1, 144})  //
    ->Args({960, 960, 7, 3, 1, 960});  //

}  // namespace
}  // namespace berth::portable
