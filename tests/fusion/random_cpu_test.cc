// Random graphs compiled for the cpu target, fused, channels-last, with packed weights and its own kernels, against the
// same graphs on portable kernels alone. BERTH_SEED=N begins there; BERTH_SECONDS=S goes on for that long, from a seed
// that is new each time where none is given.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <random>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/print.h"
#include "compiler/ir/random_networks_testing.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "runtime/host/thread_pool.h"

namespace berth {
namespace {

using Outputs = std::vector<std::vector<float>>;

// Numbers around 0 that depend on the place alone.
std::vector<float> input_of(size_t input, int64_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 37 + input * 11) % 101) / 40 - 1.25f;
  }
  return values;
}

Outputs outputs_of(const ir::Module& module, const CompileOptions& options, ThreadPool* pool) {
  const auto bytes = compile(module, options);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  if (!bytes.ok()) return {};
  CpuBackend backend;
  Backend* const backends[] = {&backend};
  LoadOptions load;
  load.backends = backends;
  const BufferLoader loader{Span<const uint8_t>(*bytes)};
  const Result<Program> program = Program::load(loader, portable::kernels(), load);
  EXPECT_TRUE(program.ok());
  if (!program.ok()) return {};
  HostOptions host;
  host.pool = pool;
  Result<HostMethod> loaded = HostMethod::load(*program, "forward", host);
  EXPECT_TRUE(loaded.ok());
  if (!loaded.ok()) return {};
  Method& method = loaded->method();
  const ir::Method& from = module.methods[0];
  std::vector<std::vector<float>> inputs;
  for (size_t i = 0; i < from.body.inputs.size(); ++i) {
    std::vector<int32_t> sizes;
    for (const ir::Dim size : from.tensor(from.body.inputs[i]).shape) sizes.push_back(static_cast<int32_t>(size.value));
    inputs.push_back(input_of(i, ir::max_numel(from.tensor(from.body.inputs[i]), module.symbols)));
    EXPECT_EQ(method.set_input(i, inputs.back().data(), sizes, DType::kF32), Error::kOk);
  }
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  Outputs outputs;
  for (size_t i = 0; i < from.body.outputs.size(); ++i) {
    const Tensor& tensor = method.get_output(i).tensor();
    outputs.emplace_back(tensor.data<float>(), tensor.data<float>() + tensor.numel());
  }
  return outputs;
}

/// Within 1e-4 of each element and 1e-5 of the largest. Where all of a result is less than a few roundings of the
/// inputs, its terms have cancelled and nothing but their roundings is left, in either: then within one rounding.
void expect_close(const std::vector<float>& want, const std::vector<float>& got) {
  constexpr float kRounding = std::numeric_limits<float>::epsilon();  // of inputs, which are around 1
  ASSERT_EQ(want.size(), got.size());
  float largest = 0;
  for (const float x : want) largest = std::isfinite(x) ? std::fmax(largest, std::fabs(x)) : largest;
  const float absolute = largest < 8 * kRounding ? kRounding : 1e-5f * largest;
  for (size_t i = 0; i < want.size(); ++i) {
    const bool same = want[i] == got[i] || (std::isnan(want[i]) && std::isnan(got[i])) ||
                      std::fabs(want[i] - got[i]) <= 1e-4f * std::fabs(want[i]) + absolute;
    ASSERT_TRUE(same) << "element " << i << ": expected " << want[i] << ", found " << got[i];
  }
}

void check(unsigned seed, ThreadPool* pool) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  const ir::Module module = ir::testing::RandomModule(seed, ir::testing::network(seed % 4 < 2)).make();
  if (module.methods[0].body.outputs.empty()) return;
  const Outputs want = outputs_of(module, {}, nullptr);
  CompileOptions options;
  options.target = "cpu";
  options.cpu = seed % 3 == 0 ? "generic" : "native";
  const Outputs got = outputs_of(module, options, seed % 2 == 0 ? pool : nullptr);
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_close(want[i], got[i]);
  }
  if (testing::Test::HasFailure()) ADD_FAILURE() << ir::print(module);
}

TEST(RandomCpu, MatchesPortableKernelsOnRandomGraphs) {
  const std::unique_ptr<HostThreadPool> pools[] = {
      std::make_unique<HostThreadPool>(2), std::make_unique<HostThreadPool>(3), std::make_unique<HostThreadPool>(5)};
  const char* seed = std::getenv("BERTH_SEED");
  const char* seconds = std::getenv("BERTH_SECONDS");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds == nullptr ? 0 : std::atoi(seconds));
  const unsigned first = seed != nullptr      ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10))
                         : seconds == nullptr ? 0
                                              : std::random_device()();
  for (unsigned i = 0; !testing::Test::HasFailure(); ++i) {
    if (i >= 60 && std::chrono::steady_clock::now() >= end) break;
    check(first + i, pools[(first + i) / 2 % 3].get());
  }
}

}  // namespace
}  // namespace berth
