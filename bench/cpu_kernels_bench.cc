// The kernels of the cpu backend other than convolutions and matrix products, compared with the portable ones, for the
// shapes of the models in bench/README.md, channels-last.
//
//   cpu_kernels_bench --benchmark_filter=maxpool
//
// The last number of a name is the number of threads; bytes per second count each tensor once.

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <random>

#include "kernels/cpu/kernels.h"
#include "kernels/portable/kernel_testing.h"
#include "runtime/host/thread_pool.h"

namespace berth {
namespace {

using testing::Arg;
using testing::Array;

struct Case {
  const char* name;
  const char* kernel;  // its name in the tables
  std::function<std::vector<Arg>()> make;
};

Array filled(std::vector<int32_t> sizes, std::vector<uint8_t> order = {}) {
  const Array array(DType::kF32, std::move(sizes), {}, std::move(order));
  std::minstd_rand random(1);
  float* x = array.tensor().data<float>();
  for (int64_t i = 0; i < array.tensor().numel(); ++i) x[i] = static_cast<float>(random() % 1000) / 250 - 2;
  return array;
}

// Channels innermost.
Array last(int32_t c, int32_t h, int32_t w) { return filled({1, c, h, w}, {0, 2, 3, 1}); }

Array unplaced(std::vector<int32_t> sizes, std::vector<uint8_t> order) {
  const Array array(DType::kI64, std::move(sizes), {}, std::move(order));
  array.tensor().set_data(nullptr);
  return array;
}

std::vector<Arg> max_pool(int32_t c, int32_t size, int64_t kernel, int64_t padding, int32_t out) {
  const std::vector<int64_t> k = {kernel, kernel};
  const std::vector<int64_t> stride = {2, 2};
  const std::vector<int64_t> pad = {padding, padding};
  const std::vector<int64_t> dilation = {1, 1};
  return {last(c, size, size),
          k,
          stride,
          pad,
          dilation,
          false,
          last(c, out, out),
          unplaced({1, c, out, out}, {0, 2, 3, 1})};
}

std::vector<Arg> mean(int32_t c, int32_t size) {
  return {last(c, size, size), std::vector<int64_t>{2, 3}, true, nullptr, last(c, 1, 1)};
}

std::vector<Arg> cat(int32_t c, int32_t size) {
  return {Arg::list({Arg(last(c, size, size)), Arg(last(c, size, size))}), 1, last(2 * c, size, size)};
}

std::vector<Arg> shuffle(int32_t c, int32_t size) {
  const std::vector<uint8_t> order = {0, 3, 4, 1, 2};
  return {filled({1, 2, c, size, size}, order), std::vector<int64_t>{0, 2, 1, 3, 4},
          filled({1, c, 2, size, size}, order)};
}

std::vector<Arg> slice(int32_t c, int32_t size) {
  return {last(2 * c, size, size), 1, int64_t{c}, int64_t{2 * c}, 1, last(c, size, size)};
}

std::vector<Arg> multiply(int32_t c, int32_t size) { return {last(c, size, size), last(c, 1, 1), last(c, size, size)}; }
std::vector<Arg> add(int32_t c, int32_t size) {
  return {last(c, size, size), last(c, size, size), 1, last(c, size, size)};
}

std::vector<Arg> to_last(int32_t c, int32_t size) {
  return {filled({1, c, size, size}), false, std::vector<int64_t>{0, 2, 3, 1}, last(c, size, size)};
}
std::vector<Arg> to_first(int32_t c, int32_t size) {
  return {last(c, size, size), false, std::vector<int64_t>{0, 1, 2, 3}, filled({1, c, size, size})};
}

std::vector<Arg> layer_norm(int32_t rows, int32_t columns) {
  return {filled({1, rows, columns}), std::vector<int64_t>{columns}, filled({columns}),   filled({columns}), 1e-5,
          filled({1, rows, columns}), filled({1, rows, 1}),          filled({1, rows, 1})};
}

std::vector<Arg> softmax(int32_t rows, int32_t columns) {
  return {filled({rows, columns}), 1, false, filled({rows, columns})};
}

std::vector<Arg> unary(int32_t rows, int32_t columns) { return {filled({rows, columns}), filled({rows, columns})}; }

std::vector<Arg> upsample(int32_t c, int32_t size, bool bilinear) {
  const Arg to(std::vector<int64_t>{2 * size, 2 * size});
  if (bilinear) return {last(c, size, size), to, false, nullptr, last(c, 2 * size, 2 * size)};
  return {last(c, size, size), to, nullptr, last(c, 2 * size, 2 * size)};
}

std::vector<Arg> pad(int32_t c, int32_t size) {
  return {last(c, size, size), std::vector<int64_t>{1, 1, 1, 1}, 0, last(c, size + 2, size + 2)};
}

std::vector<Arg> group_norm(int32_t c, int32_t size) {
  return {last(c, size, size), filled({c}),    filled({c}),   1, int64_t{c}, int64_t{size * size}, 8, 1e-5,
          last(c, size, size), filled({1, 8}), filled({1, 8})};
}

std::vector<Arg> batch_norm(int32_t c, int32_t size) {
  const Array ones(DType::kF32, {c}, std::vector<double>(c, 1));
  return {last(c, size, size), ones, ones, ones, ones, 0.1, 1e-5, last(c, size, size), filled({0}), filled({0})};
}

std::vector<Arg> softmax_of_channels(int32_t c, int32_t size) {
  return {last(c, size, size), 1, false, last(c, size, size)};
}

std::vector<Arg> pixel_shuffle(int32_t c, int32_t size) {
  return {last(c, size, size), 2, last(c / 4, 2 * size, 2 * size)};
}

std::vector<Arg> embedding(int32_t tokens, int32_t width) {
  return {filled({1000, width}),     testing::i64({1, tokens}, std::vector<double>(tokens, 7)), -1, false, false,
          filled({1, tokens, width})};
}

// hard_swish(x) * y + z, as one chain.
std::vector<Arg> chain(int32_t c, int32_t size) {
  const std::vector<int64_t> code = {24, 0, 0, 0, 27, 3, 1, 2};
  return {Arg::list({Arg(last(c, size, size)), Arg(last(c, 1, 1)), Arg(last(c, size, size))}), code,
          std::vector<double>{}, last(c, size, size)};
}

// gelu
std::vector<Arg> gelu_chain(int32_t rows, int32_t columns) {
  return {Arg::list({Arg(filled({rows, columns}))}), std::vector<int64_t>{25, 0, 0, 0}, std::vector<double>{},
          filled({rows, columns})};
}

std::vector<Arg> lstm_cell(int32_t size) {
  return {filled({1, 4 * size}), filled({1, size}), filled({1, size}), filled({size, 4 * size}), "",
          filled({1, size}),     filled({1, size})};
}

std::vector<Arg> attention(int32_t tokens, int64_t heads, int64_t size, bool causal) {
  const auto width = static_cast<int32_t>(heads * size);
  const Array qkv = filled({1, tokens, 3 * width});
  return {qkv,
          qkv,
          qkv,
          nullptr,
          heads,
          size,
          0,
          int64_t{width},
          int64_t{2 * width},
          0.125,
          causal,
          filled({1, tokens, width})};
}

const Case kCases[] = {
    {"attention vit", "berth::attention.out", [] { return attention(197, 6, 64, false); }},
    {"attention gpt", "berth::attention.out", [] { return attention(64, 6, 64, true); }},
    {"maxpool resnet", "aten::max_pool2d_with_indices.out", [] { return max_pool(64, 112, 3, 1, 56); }},
    {"maxpool unet", "aten::max_pool2d_with_indices.out", [] { return max_pool(32, 256, 2, 0, 128); }},
    {"maxpool squeezenet", "aten::max_pool2d_with_indices.out", [] { return max_pool(64, 111, 3, 0, 55); }},
    {"maxpool shufflenet", "aten::max_pool2d_with_indices.out", [] { return max_pool(24, 112, 3, 1, 56); }},
    {"mean resnet50", "aten::mean.out", [] { return mean(2048, 7); }},
    {"mean squeezenet", "aten::mean.out", [] { return mean(1000, 13); }},
    {"mean mobilenet_v3", "aten::mean.out", [] { return mean(16, 56); }},
    {"mean mobilenet_v3 late", "aten::mean.out", [] { return mean(576, 7); }},
    {"cat squeezenet", "aten::cat.out", [] { return cat(64, 55); }},
    {"cat unet", "aten::cat.out", [] { return cat(32, 256); }},
    {"shuffle shufflenet", "aten::permute_copy.out", [] { return shuffle(58, 28); }},
    {"slice shufflenet", "aten::slice_copy.Tensor_out", [] { return slice(58, 28); }},
    {"scale mobilenet_v3", "aten::mul.out", [] { return multiply(96, 14); }},
    {"scale mobilenet_v3 early", "aten::mul.out", [] { return multiply(16, 56); }},
    {"nearest", "aten::upsample_nearest2d.vec_out", [] { return upsample(64, 56, false); }},
    {"bilinear", "aten::upsample_bilinear2d.vec_out", [] { return upsample(64, 56, true); }},
    {"pad", "aten::constant_pad_nd.out", [] { return pad(64, 56); }},
    {"group_norm", "aten::native_group_norm.out", [] { return group_norm(64, 56); }},
    {"batch_norm", "aten::_native_batch_norm_legit_no_training.out", [] { return batch_norm(64, 56); }},
    {"softmax of channels", "aten::_softmax.out", [] { return softmax_of_channels(21, 128); }},
    {"pixel_shuffle", "aten::pixel_shuffle.out", [] { return pixel_shuffle(64, 56); }},
    {"embedding", "aten::embedding.out", [] { return embedding(64, 384); }},
    {"lstm_cell", "berth::lstm_cell.out", [] { return lstm_cell(128); }},
    {"chain", "berth::elementwise.out", [] { return chain(64, 56); }},
    {"chain gelu vit", "berth::elementwise.out", [] { return gelu_chain(197, 1536); }},
    {"add randwire", "aten::add.out", [] { return add(78, 14); }},
    {"to channels-last", "dim_order_ops::_to_dim_order_copy.out", [] { return to_last(3, 224); }},
    {"to channels-last wide", "dim_order_ops::_to_dim_order_copy.out", [] { return to_last(64, 56); }},
    {"to channels-first", "dim_order_ops::_to_dim_order_copy.out", [] { return to_first(64, 56); }},
    {"to channels-first unet", "dim_order_ops::_to_dim_order_copy.out", [] { return to_first(2, 256); }},
    {"layer_norm vit", "aten::native_layer_norm.out", [] { return layer_norm(197, 384); }},
    {"layer_norm gpt", "aten::native_layer_norm.out", [] { return layer_norm(64, 384); }},
    {"softmax", "aten::_softmax.out", [] { return softmax(6 * 197, 197); }},
    {"gelu vit", "aten::gelu.out",
     [] {
       return std::vector<Arg>{filled({197, 1536}), "none", filled({197, 1536})};
     }},
    {"sigmoid", "aten::sigmoid.out", [] { return unary(197, 384); }},
    {"tanh", "aten::tanh.out", [] { return unary(197, 384); }},
};

const KernelEntry* find(KernelTable table, const char* name) {
  for (const KernelEntry& entry : table) {
    if (std::strcmp(entry.name, name) == 0) return &entry;
  }
  return nullptr;
}

void run(benchmark::State& state, const KernelEntry& entry, const Case& c, int threads) {
  HostThreadPool pool(threads);
  std::vector<Arg> args = c.make();
  std::vector<EValue*> values;
  size_t bytes = 0;
  for (Arg& arg : args) {
    values.push_back(arg.value());
    if (values.back()->is_tensor() && values.back()->tensor().raw() != nullptr)
      bytes += values.back()->tensor().nbytes();
  }
  const Span<EValue* const> span(values.data(), values.size());
  std::vector<uint8_t> temp(entry.temp_bytes == nullptr ? 0 : entry.temp_bytes(span, threads));
  for (auto _ : state) {
    KernelContext context(Span<uint8_t>(temp.data(), temp.size()), threads > 1 ? &pool : nullptr);
    if (entry.call(context, span) != Error::kOk) state.SkipWithError(context.message());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
}

void register_all() {
  for (const Case& c : kCases) {
    for (const bool ours : {false, true}) {
      const KernelEntry* entry = find(ours ? cpu::kernels() : portable::kernels(), c.kernel);
      if (entry == nullptr) continue;
      for (const int threads : {1, 2}) {
        const std::string name = std::string(c.name) + (ours ? "/cpu/" : "/portable/") + std::to_string(threads);
        benchmark::RegisterBenchmark(name.c_str(),
                                     [entry, &c, threads](benchmark::State& state) { run(state, *entry, c, threads); })
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

const bool kRegistered = (register_all(), true);

}  // namespace
}  // namespace berth
