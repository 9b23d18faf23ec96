// Kernels that move elements, on one thread: bytes read and written per second, compared with memcpy.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "kernels/portable/layout_testing.h"

namespace berth::portable {
namespace {

using namespace berth::testing;

void run(benchmark::State& state, Kernel kernel, std::vector<Arg> args, int64_t bytes) {
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  for (auto _ : state) {
    KernelContext context({}, nullptr);
    if (kernel(context, {values.data(), values.size()}) != Error::kOk) state.SkipWithError(context.message());
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

int64_t both_ways(const Array& array) { return 2 * static_cast<int64_t>(array.tensor().nbytes()); }

void copy_memory(benchmark::State& state) {
  std::vector<char> from(state.range(0));
  std::vector<char> to(from.size());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * state.range(0));
}
BENCHMARK(copy_memory)->Arg(800 << 10)->Arg(4 << 20)->Arg(64 << 20);

void permute(benchmark::State& state, DType dtype, const Shape& shape, const Ints& dims) {
  Shape result;
  for (const int64_t d : dims) result.push_back(shape[d]);
  const Array out(dtype, result);
  run(state, permute_copy_out, {Array(dtype, shape), dims, out}, both_ways(out));
}
BENCHMARK_CAPTURE(permute, image_to_channels_last, DType::kF32, {1, 3, 224, 224}, {0, 2, 3, 1});
BENCHMARK_CAPTURE(permute, image_to_channels_first, DType::kF32, {1, 224, 224, 3}, {0, 3, 1, 2});
BENCHMARK_CAPTURE(permute, features_to_channels_last, DType::kF32, {1, 64, 56, 56}, {0, 2, 3, 1});
BENCHMARK_CAPTURE(permute, features_to_channels_first, DType::kF32, {1, 56, 56, 64}, {0, 3, 1, 2});
BENCHMARK_CAPTURE(permute, powers_of_two_to_channels_last, DType::kF32, {1, 64, 128, 128}, {0, 2, 3, 1});
BENCHMARK_CAPTURE(permute, powers_of_two_to_channels_first, DType::kF32, {1, 128, 128, 64}, {0, 3, 1, 2});
BENCHMARK_CAPTURE(permute, attention_heads, DType::kF32, {1, 128, 12, 64}, {0, 2, 1, 3});
BENCHMARK_CAPTURE(permute, attention_keys, DType::kF32, {1, 12, 128, 64}, {0, 1, 3, 2});
BENCHMARK_CAPTURE(permute, matrix_f32, DType::kF32, {1024, 1024}, {1, 0});
BENCHMARK_CAPTURE(permute, matrix_f16, DType::kF16, {1000, 1000}, {1, 0});
BENCHMARK_CAPTURE(permute, matrix_u8, DType::kU8, {1000, 1000}, {1, 0});
BENCHMARK_CAPTURE(permute, two_by_three, DType::kF32, {2, 3}, {1, 0});

void cat_channels(benchmark::State& state, const Order& order) {
  const Array part(DType::kF32, {1, 64, 56, 56}, {}, order);
  const Array out(DType::kF32, {1, 128, 56, 56}, {}, order);
  run(state, cat_out, {tensors({part, part}), 1, out}, both_ways(out));
}
BENCHMARK_CAPTURE(cat_channels, first, {0, 1, 2, 3});
BENCHMARK_CAPTURE(cat_channels, last, {0, 2, 3, 1});

void pad_one(benchmark::State& state) {
  const Array out = f32({1, 64, 58, 58});
  run(state, constant_pad_nd_out, {f32({1, 64, 56, 56}), Ints{1, 1, 1, 1}, 0, out}, both_ways(out));
}
BENCHMARK(pad_one);

void expand_rows(benchmark::State& state) {
  const Array out = f32({64, 56, 56});
  run(state, expand_copy_out, {f32({64, 1, 56}), Ints{64, 56, 56}, false, out}, both_ways(out) / 2);
}
BENCHMARK(expand_rows);

void embed(benchmark::State& state) {
  Values tokens(512);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<double>(i * 37 % 1000);
  const Array out = f32({1, 512, 288});
  run(state, embedding_out, {f32({1000, 288}), i64({1, 512}, tokens), -1, false, false, out}, both_ways(out));
}
BENCHMARK(embed);

void topk_of_1000(benchmark::State& state) {
  Values scores(1000);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<double>(i * 377 % 1000);
  run(state, topk_values, {f32({1, 1000}, scores), 5, 1, true, true, f32({1, 5}), i64({1, 5})}, 4000);
}
BENCHMARK(topk_of_1000);

}  // namespace
}  // namespace berth::portable
