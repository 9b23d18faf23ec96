// Inputs and outputs in the caller's memory on the host. Possible errors: they take bytes in an arena or are copied
// nevertheless, an input is overwritten, a result is written elsewhere, a run without memory for an output.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/end_to_end/compiled_testing.h"

namespace berth {
namespace {

constexpr int32_t kSize = 1024;

const char* const kTwoMethods = R"(
  const @w: f32[1024] = splat<2>
  method forward(%x: f32[1024], %z: f32[1024]) {
    %w: f32[1024] = const @w
    %a: f32[1024] = aten::mul.Tensor(%x, %w)
    %b: f32[1024] = aten::add.Tensor(%a, %z)
    %y: f32[1024] = aten::relu(%b)
    %n: f32[1024] = aten::neg(%b)
    return %y, %n, %x
  })";

CompileOptions options_for(const char* target, const std::vector<std::string>& callers) {
  CompileOptions options;
  options.target = target;
  options.device_io = callers;
  return options;
}

struct LoadedMethods : testing::Compiled {
  LoadedMethods(const char* target, const std::vector<std::string>& callers)
      : Compiled(kTwoMethods, options_for(target, callers)) {}

  uint64_t arena_bytes() const { return host->memory().arena_bytes; }
};

std::vector<float> numbers(float first) {
  std::vector<float> values(kSize);
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i % 17) - 8;
  return values;
}

// Holds row 131, row 137: nothing is planned for what is the caller's.
TEST(CallersMemory, TakesNoBytesInTheArena) {
  for (const char* target : {"portable", "cpu"}) {
    const uint64_t planned = LoadedMethods(target, {}).arena_bytes();
    const uint64_t without_inputs = LoadedMethods(target, {"x=cpu", "z=cpu"}).arena_bytes();
    EXPECT_LE(without_inputs + kSize * sizeof(float), planned) << target;
    const LoadedMethods all(target, {"x=cpu", "z=cpu", "y=cpu", "n=cpu"});
    EXPECT_LE(all.arena_bytes(), 2 * kSize * sizeof(float)) << target;
    const auto meta = all.program->method_meta("forward");
    ASSERT_TRUE(meta.ok());
    for (size_t i = 0; i < 2; ++i) EXPECT_FALSE(meta->input_tensor_meta(i)->is_memory_planned);
    for (size_t k = 0; k < 2; ++k) EXPECT_FALSE(meta->output_tensor_meta(k)->is_memory_planned);
  }
}

TEST(CallersMemory, IsReadInPlaceAndNeverWritten) {
  for (const char* target : {"portable", "cpu"}) {
    LoadedMethods loaded(target, {"x=cpu", "z=cpu"});
    Method& method = loaded.method();
    const int32_t sizes[] = {kSize};
    std::vector<float> x = numbers(1);
    std::vector<float> z = numbers(3);
    ASSERT_EQ(method.set_input(0, x.data(), sizes, DType::kF32), Error::kOk);
    ASSERT_EQ(method.set_input(1, z.data(), sizes, DType::kF32), Error::kOk);
    for (const float change : {0.0f, 5.0f}) {
      // The next frame in the same memory needs no set_input.
      x[3] += change;
      const std::vector<float> before = x;
      ASSERT_EQ(method.execute(), Error::kOk) << method.last_report().message;
      EXPECT_EQ(x, before);
      EXPECT_EQ(z, numbers(3));
      const float* const y = method.get_output(0).tensor().data<float>();
      const float* const n = method.get_output(1).tensor().data<float>();
      for (size_t i = 0; i < kSize; ++i) {
        ASSERT_EQ(y[i], std::max(0.0f, 2 * x[i] + z[i])) << target;
        ASSERT_EQ(n[i], -(2 * x[i] + z[i])) << target;
      }
    }
  }
}

TEST(CallersMemory, ReceivesResultsDirectly) {
  for (const char* target : {"portable", "cpu"}) {
    LoadedMethods loaded(target, {"y=cpu", "forward.n=cpu"});
    Method& method = loaded.method();
    const int32_t sizes[] = {kSize};
    const std::vector<float> x = numbers(1);
    const std::vector<float> z = numbers(3);
    for (int run = 0; run < 2; ++run) {
      std::vector<float> y(kSize, 77);
      std::vector<float> n(kSize, 77);
      ASSERT_EQ(method.set_output_data_ptr(0, y.data(), y.size() * sizeof(float)), Error::kOk);
      ASSERT_EQ(method.set_output_data_ptr(1, n.data(), n.size() * sizeof(float)), Error::kOk);
      ASSERT_EQ(method.set_input(0, x.data(), sizes, DType::kF32), Error::kOk);
      ASSERT_EQ(method.set_input(1, z.data(), sizes, DType::kF32), Error::kOk);
      ASSERT_EQ(method.execute(), Error::kOk) << method.last_report().message;
      for (size_t i = 0; i < kSize; ++i) {
        ASSERT_EQ(y[i], std::max(0.0f, 2 * x[i] + z[i])) << target;
        ASSERT_EQ(n[i], -(2 * x[i] + z[i])) << target;
      }
      EXPECT_EQ(method.get_output(0).tensor().raw(), y.data());
    }
    EXPECT_NE(method.set_output_data_ptr(0, nullptr, kSize * sizeof(float) - 1), Error::kOk);
  }
}

TEST(CallersMemory, MissingMemoryIsAnError) {
  LoadedMethods loaded("portable", {"x=cpu"});
  Method& method = loaded.method();
  const std::vector<float> z = numbers(3);
  const int32_t sizes[] = {kSize};
  ASSERT_EQ(method.set_input(1, z.data(), sizes, DType::kF32), Error::kOk);
  EXPECT_NE(method.execute(), Error::kOk);
}

TEST(CallersMemory, MustBelongToThisModel) {
  CompileOptions options;
  options.device_io = {"image=cpu"};
  auto module = ir::parse(kTwoMethods);
  ASSERT_TRUE(module.ok());
  const auto made = compile(std::move(*module), options);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().text().find("is not a tensor among inputs and outputs; there are: x, z, y, n, x"),
            std::string::npos)
      << made.error().text();
}

}  // namespace
}  // namespace berth
