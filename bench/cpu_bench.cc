// Convolutions and products of well-known networks, with each engine of kernels/cpu/, on one thread and two; the basis
// of the limits in kernels/cpu/conv_choice.cc. Arguments: layer, threads.
//
//   build/bench/bench/cpu_bench --benchmark_filter='resnet50'

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "backends/cpu/thread_pool.h"
#include "kernels/cpu/conv_engine.h"

namespace berth::cpu {
namespace {

struct Layer {
  const char* name;
  int64_t in, out, groups, size_y, size_x, kernel_y, kernel_x, stride;
};

constexpr Layer kLayers[] = {
    {"dscnn_first", 1, 64, 1, 49, 10, 10, 4, 2},
    {"dscnn_depthwise", 64, 64, 64, 25, 5, 3, 3, 1},
    {"dscnn_pointwise", 64, 64, 1, 25, 5, 1, 1, 1},
    {"mobilenet_first", 3, 32, 1, 224, 224, 3, 3, 2},
    {"mobilenet_depthwise_112", 32, 32, 32, 112, 112, 3, 3, 1},
    {"mobilenet_depthwise_112_2", 96, 96, 96, 112, 112, 3, 3, 2},
    {"mobilenet_depthwise_28", 192, 192, 192, 28, 28, 3, 3, 1},
    {"mobilenet_depthwise_14", 576, 576, 576, 14, 14, 3, 3, 1},
    {"mobilenet_depthwise_7", 960, 960, 960, 7, 7, 3, 3, 1},
    {"mobilenet_expand_112", 16, 96, 1, 112, 112, 1, 1, 1},
    {"mobilenet_project_56", 144, 24, 1, 56, 56, 1, 1, 1},
    {"mobilenet_expand_28", 32, 192, 1, 28, 28, 1, 1, 1},
    {"mobilenet_project_14", 384, 64, 1, 14, 14, 1, 1, 1},
    {"mobilenet_expand_14", 96, 576, 1, 14, 14, 1, 1, 1},
    {"mobilenet_project_7", 960, 160, 1, 7, 7, 1, 1, 1},
    {"mobilenet_last", 320, 1280, 1, 7, 7, 1, 1, 1},
    {"shufflenet_28", 58, 58, 1, 28, 28, 1, 1, 1},
    {"shufflenet_14", 116, 116, 1, 14, 14, 1, 1, 1},
    {"squeezenet_squeeze", 128, 16, 1, 55, 55, 1, 1, 1},
    {"squeezenet_expand", 16, 64, 1, 55, 55, 3, 3, 1},
    {"resnet50_first", 3, 64, 1, 224, 224, 7, 7, 2},
    {"resnet50_56_1x1", 64, 256, 1, 56, 56, 1, 1, 1},
    {"resnet50_56_3x3", 64, 64, 1, 56, 56, 3, 3, 1},
    {"resnet50_28_1x1", 512, 128, 1, 28, 28, 1, 1, 1},
    {"resnet50_28_3x3", 128, 128, 1, 28, 28, 3, 3, 1},
    {"resnet50_14_1x1", 1024, 256, 1, 14, 14, 1, 1, 1},
    {"resnet50_14_3x3", 256, 256, 1, 14, 14, 3, 3, 1},
    {"resnet50_7_1x1", 512, 2048, 1, 7, 7, 1, 1, 1},
    {"resnet50_7_3x3", 512, 512, 1, 7, 7, 3, 3, 1},
    {"resnet50_half", 256, 512, 1, 56, 56, 1, 1, 2},
    {"unet_256", 16, 16, 1, 256, 256, 3, 3, 1},
    {"unet_256_up", 32, 16, 1, 256, 256, 3, 3, 1},
    {"unet_128", 32, 32, 1, 128, 128, 3, 3, 1},
    {"unet_64", 64, 64, 1, 64, 64, 3, 3, 1},
    {"resnext_28_groups_of_4", 128, 128, 32, 28, 28, 3, 3, 1},
    {"groups_of_16", 256, 256, 16, 14, 14, 3, 3, 1},
    {"groups_of_32", 1024, 1024, 32, 7, 7, 3, 3, 1},
    {"unet_32", 128, 128, 1, 32, 32, 3, 3, 1},
    {"unet_32_up", 256, 128, 1, 32, 32, 3, 3, 1},
    {"unet_16", 256, 256, 1, 16, 16, 3, 3, 1},
    {"squeezenet_27_expand", 32, 128, 1, 27, 27, 3, 3, 1},
    {"squeezenet_13_expand", 64, 256, 1, 13, 13, 3, 3, 1},
};

struct Product {
  const char* name;
  int64_t rows, depth, columns;
};

constexpr Product kProducts[] = {
    {"dscnn_classify", 1, 64, 12},         {"resnet50_classify", 1, 2048, 1000},
    {"mobilenet_classify", 1, 1280, 1000}, {"vit_qkv", 197, 384, 1152},
    {"vit_project", 197, 384, 384},        {"vit_mlp_up", 197, 384, 1536},
    {"vit_mlp_down", 197, 1536, 384},      {"gpt_qkv", 64, 256, 768},
    {"gpt_mlp_up", 64, 256, 1024},         {"gpt_mlp_down", 64, 1024, 256},
    {"gpt_logits", 64, 256, 8000},         {"lstm_gates", 32, 128, 1024},
    {"gpt_288_up", 64, 288, 1152},         {"gpt_288_down", 64, 1152, 288},
};

std::vector<float> numbers(int64_t count) {
  std::vector<float> result(count);
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(i % 19) * 0.1f - 0.9f;
  return result;
}

ConvSpec spec_of(const Layer& layer) {
  ConvSpec s;
  s.groups = layer.groups;
  s.in_channels = layer.in;
  s.out_channels = layer.out;
  const int64_t in[2] = {layer.size_y, layer.size_x}, kernel[2] = {layer.kernel_y, layer.kernel_x};
  for (int i = 0; i < 2; ++i) {
    s.in[i] = in[i];
    s.kernel[i] = kernel[i];
    s.stride[i] = layer.stride;
    s.padding[i] = kernel[i] / 2;
    s.out[i] = (in[i] + 2 * s.padding[i] - kernel[i]) / layer.stride + 1;
  }
  const int64_t in_stride[4] = {0, s.in_channels == 1 ? 0 : 1, in[1] * layer.in, layer.in};
  const int64_t out_stride[4] = {0, 1, s.out[1] * layer.out, layer.out};
  for (int i = 0; i < 4; ++i) {
    s.in_stride[i] = in_stride[i];
    s.out_stride[i] = out_stride[i];
  }
  s.finish.bias = 1;
  s.finish.activation = static_cast<int64_t>(portable::ActivationKind::kRelu);
  return s;
}

LinearSpec spec_of(const Product& product) {
  LinearSpec s;
  s.rows = product.rows;
  s.depth = product.depth;
  s.columns = product.columns;
  s.finish.bias = 1;
  return s;
}

int64_t in_numel(const ConvSpec& s) { return s.in_channels * s.in[0] * s.in[1]; }
int64_t out_numel(const ConvSpec& s) { return s.out_channels * s.out[0] * s.out[1]; }
int64_t bias_numel(const ConvSpec& s) { return s.out_channels; }
int64_t in_numel(const LinearSpec& s) { return s.rows * s.depth; }
int64_t out_numel(const LinearSpec& s) { return s.rows * s.columns; }
int64_t bias_numel(const LinearSpec& s) { return s.columns; }

void count(benchmark::State& state, double flops) {
  state.counters["GFLOP/s"] = benchmark::Counter(flops * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

template <typename Spec>
void run_engine(benchmark::State& state, const Spec& spec, Prefer prefer) {
  const int threads = static_cast<int>(state.range(1));
  const auto pool = make_cpu_thread_pool(threads);
  const auto kind = choose_engine(spec, threads, prefer);
  if (kind == nullptr) return state.SkipWithError("there is no such engine");
  const auto engine = kind->make();
  const std::vector<float> input = numbers(in_numel(spec)), bias = numbers(bias_numel(spec));
  const std::vector<float> weight = numbers(engine->weight().packed_numel());
  if (engine->take_weight(weight.data(), nullptr, nullptr) != Error::kOk)
    return state.SkipWithError("there is no memory for its weight");
  std::vector<float> out(out_numel(spec));
  std::vector<uint8_t> temp(kind->temp_bytes() + 64);
  const Operands operands = {input.data(), bias.data(), out.data()};
  for (auto _ : state) {
    KernelContext context({temp.data(), temp.size()}, pool.get());
    if (engine->run(context, operands, weight.data()) != Error::kOk) state.SkipWithError("it fails");
  }
  count(state, spec.flops());
}

void conv(benchmark::State& state, Prefer prefer) {
  const Layer& layer = kLayers[state.range(0)];
  state.SetLabel(layer.name);
  run_engine(state, spec_of(layer), prefer);
}

void linear(benchmark::State& state, Prefer prefer) {
  const Product& product = kProducts[state.range(0)];
  state.SetLabel(product.name);
  run_engine(state, spec_of(product), prefer);
}

void each(benchmark::internal::Benchmark* b, int64_t layers) {
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (const int64_t threads : {1, 2}) b->Args({layer, threads});
  }
  b->UseRealTime();
}
void layers(benchmark::internal::Benchmark* b) { each(b, std::size(kLayers)); }
void products(benchmark::internal::Benchmark* b) { each(b, std::size(kProducts)); }

BENCHMARK_CAPTURE(conv, onednn, Prefer::kOneDnn)->Apply(layers);
BENCHMARK_CAPTURE(conv, tiles, Prefer::kTiles)->Apply(layers);
BENCHMARK_CAPTURE(conv, winograd2, Prefer::kWinograd2)->Apply(layers);
BENCHMARK_CAPTURE(conv, winograd4, Prefer::kWinograd4)->Apply(layers);
BENCHMARK_CAPTURE(linear, onednn, Prefer::kOneDnn)->Apply(products);
BENCHMARK_CAPTURE(linear, tiles, Prefer::kTiles)->Apply(products);

// The time to create an engine.
void get_ready(benchmark::State& state, Prefer prefer) {
  ConvSpec spec = spec_of(kLayers[state.range(0)]);
  state.SetLabel(kLayers[state.range(0)].name);
  int64_t changed = 0;
  for (auto _ : state) {
    // A different convolution each time, so that it is in no cache.
    spec.finish.activation = static_cast<int64_t>(portable::ActivationKind::kClamp);
    spec.finish.beta = static_cast<double>(++changed);
    const auto kind = choose_engine(spec, 1, prefer);
    if (kind != nullptr) benchmark::DoNotOptimize(kind->make());
  }
}
BENCHMARK_CAPTURE(get_ready, onednn, Prefer::kOneDnn)->Arg(2)->Arg(6)->Arg(22)->Iterations(20);
BENCHMARK_CAPTURE(get_ready, tiles, Prefer::kTiles)->Arg(2)->Arg(6)->Arg(22)->Iterations(20);

}  // namespace
}  // namespace berth::cpu
