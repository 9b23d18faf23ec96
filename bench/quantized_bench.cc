// Products and convolutions of bytes on the cpu backend beside those of f32 of the same shape, as models have them:
// prepared as at load, from u8 to u8 with one scale a column.
//
//   quantized_bench --benchmark_filter=resnet
//
// A name ends in the kind and the number of threads. "products" counts multiplications of the model in a second.

#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>

#include "kernels/cpu/kernels.h"
#include "kernels/portable/kernel_testing.h"
#include "runtime/host/thread_pool.h"

namespace berth {
namespace {

using testing::Arg;
using testing::Array;

// A product of matrices where `kernel` is 0, else a convolution of a square image, channels innermost.
struct Shape {
  const char* name;
  int32_t rows, in, out;  // of a convolution: `rows` on each side
  int32_t kernel = 0, stride = 1, groups = 1;
  bool residual = false;

  int32_t size() const { return (rows + 2 * (kernel / 2) - kernel) / stride + 1; }
  double products() const {
    if (kernel == 0) return 1.0 * rows * in * out;
    return 1.0 * size() * size() * out * (in / groups) * kernel * kernel;
  }
};

const Shape kShapes[] = {
    {"gemm", 512, 768, 768},
    {"vit wide", 197, 384, 1536},
    {"vit deep", 197, 1536, 384},
    {"gpt", 64, 512, 2048},
    {"one row", 1, 768, 3072},
    {"one row of logits", 1, 512, 32000},
    {"resnet 3x3 64", 56, 64, 64, 3},
    {"resnet 3x3 128", 28, 128, 128, 3},
    {"resnet 3x3 256", 14, 256, 256, 3},
    {"resnet 3x3 512", 7, 512, 512, 3},
    {"resnet 1x1 64", 56, 64, 256, 1},
    {"resnet 1x1 256", 56, 256, 64, 1},
    {"resnet 1x1 residual", 14, 256, 1024, 1, 1, 1, true},
    {"resnet first", 224, 3, 64, 7, 2},
    {"mobilenet first", 224, 3, 32, 3, 2},
    {"mobilenet 1x1 16", 112, 16, 96, 1},
    {"mobilenet depthwise 144", 56, 144, 144, 3, 1, 144},
    {"mobilenet depthwise 32", 112, 32, 32, 3, 1, 32},
    {"mobilenet depthwise 96", 112, 96, 96, 3, 2, 96},
    {"mobilenet depthwise 384", 14, 384, 384, 3, 1, 384},
    {"convmixer depthwise", 32, 256, 256, 9, 1, 256},
    {"resnext groups 128", 56, 128, 128, 3, 1, 32},
    {"resnext groups 512", 14, 512, 512, 3, 1, 32},
};

Array filled(DType dtype, std::vector<int32_t> sizes, const std::vector<uint8_t>& order = {}) {
  const Array array(dtype, std::move(sizes), {}, order);
  std::minstd_rand random(1);
  for (int64_t i = 0; i < array.tensor().numel(); ++i) {
    if (dtype == DType::kF32) {
      array.tensor().data<float>()[i] = static_cast<float>(random() % 1000) / 500 - 1;
    } else {
      array.tensor().data<uint8_t>()[i] = static_cast<uint8_t>(random() >> 8);
    }
  }
  return array;
}

// What comes before the activation, f32 or bytes.
void append_operands(const Shape& shape, bool bytes, std::vector<Arg>* args, Array* out) {
  const DType dtype = bytes ? DType::kU8 : DType::kF32;
  const bool conv = shape.kernel > 0;
  const std::vector<uint8_t> order = conv ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{};
  const auto image = [&](int32_t channels, int32_t side) {
    return conv ? std::vector<int32_t>{1, channels, side, side} : std::vector<int32_t>{shape.rows, channels};
  };
  const std::vector<int32_t> weight =
      conv ? std::vector<int32_t>{shape.out, shape.in / shape.groups, shape.kernel, shape.kernel}
           : std::vector<int32_t>{shape.in, shape.out};
  *out = filled(dtype, image(shape.out, conv ? shape.size() : 0), order);
  args->emplace_back(filled(dtype, image(shape.in, shape.rows), order));
  if (bytes) {
    args->emplace_back(nullptr);
    args->emplace_back(Array(DType::kU8, {1}, {128}));
  }
  args->emplace_back(filled(bytes ? DType::kI8 : DType::kF32, weight));
  if (bytes) {
    args->emplace_back(nullptr);
    args->emplace_back(filled(DType::kF32, {shape.out}));
  }
  args->emplace_back(bytes ? testing::i32({shape.out}, std::vector<double>(shape.out, 5))
                           : filled(DType::kF32, {shape.out}));
  args->emplace_back(shape.residual ? Arg(filled(dtype, image(shape.out, shape.size()), order)) : Arg(nullptr));
  if (!conv) return;
  const int64_t padding = shape.kernel / 2;
  args->emplace_back(std::vector<int64_t>{shape.stride, shape.stride});
  args->emplace_back(std::vector<int64_t>{padding, padding});
  args->emplace_back(std::vector<int64_t>{1, 1});
  if (!bytes) {
    args->emplace_back(false);
    args->emplace_back(std::vector<int64_t>{0, 0});
  }
  args->emplace_back(int64_t{shape.groups});
}

std::vector<Arg> arguments_of(const Shape& shape, bool bytes) {
  std::vector<Arg> args;
  Array out(DType::kF32, {0});
  append_operands(shape, bytes, &args, &out);
  const char* const activation = bytes && !shape.residual ? "none" : "relu";  // else in the bounds
  for (const Arg& arg : {Arg(activation), Arg(0.0), Arg(0.0)}) args.push_back(arg);
  if (bytes) {
    const auto dtype = static_cast<int64_t>(DType::kU8);
    const double scale = shape.residual ? 0.5 : 1.0;
    for (const Arg& arg :
         {Arg(0.0), Arg(0), Arg(0.1), Arg(3), Arg(scale), Arg(120), Arg(0), Arg(255), Arg("divide"), Arg(dtype)}) {
      args.push_back(arg);
    }
  }
  args.emplace_back("");
  args.emplace_back(out);
  return args;
}

const KernelEntry& entry_of(const Shape& shape, bool bytes) {
  const char* const name = bytes ? (shape.kernel > 0 ? "berth::quantized_conv.out" : "berth::quantized_linear.out")
                                 : (shape.kernel > 0 ? "berth::conv.out" : "berth::linear.out");
  for (const KernelEntry& entry : cpu::kernels()) {
    if (std::strcmp(entry.name, name) == 0) return entry;
  }
  std::abort();
}

void run(benchmark::State& state, const Shape& shape, bool bytes, int threads) {
  const KernelEntry& entry = entry_of(shape, bytes);
  HostThreadPool pool(threads);
  ThreadPool* const pool_or_none = threads > 1 ? &pool : nullptr;
  std::vector<Arg> args = arguments_of(shape, bytes);
  std::vector<EValue*> values;
  for (Arg& arg : args) values.push_back(arg.value());
  const Span<EValue* const> span(values.data(), values.size());
  // The weight is the fourth argument of one, the second of the other.
  std::vector<uint8_t> constant(args.size(), 0);
  constant[bytes ? 3 : 1] = 1;
  PrepareContext prepare(pool_or_none, nullptr, {reinterpret_cast<const bool*>(constant.data()), constant.size()});
  void* prepared = nullptr;
  if (entry.prepare(prepare, span, &prepared) != Error::kOk) return state.SkipWithError(prepare.message());
  std::vector<uint8_t> temp(entry.temp_bytes(span, threads) + 64);
  const size_t skip = (64 - reinterpret_cast<uintptr_t>(temp.data()) % 64) % 64;
  for (auto _ : state) {
    KernelContext context(Span<uint8_t>(temp.data() + skip, temp.size() - 64), pool_or_none);
    context.set_state(prepared);
    if (entry.call(context, span) != Error::kOk) state.SkipWithError(context.message());
    benchmark::ClobberMemory();
  }
  state.counters["products"] = benchmark::Counter(shape.products(), benchmark::Counter::kIsIterationInvariantRate);
  if (prepared != nullptr) entry.release(prepared);
}

void register_all() {
  for (const Shape& shape : kShapes) {
    for (const bool bytes : {true, false}) {
      for (const int threads : {1, 2}) {
        const std::string name = std::string(shape.name) + (bytes ? "/int8/" : "/f32/") + std::to_string(threads);
        benchmark::RegisterBenchmark(
            name.c_str(), [&shape, bytes, threads](benchmark::State& state) { run(state, shape, bytes, threads); })
            ->UseRealTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

const bool kRegistered = (register_all(), true);

}  // namespace
}  // namespace berth
