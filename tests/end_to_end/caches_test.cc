// Caches that delegates change in place, run. The fears: a cache that is copied or lost, a row at the wrong place, a
// call beyond the end of a cache that harms what is there, two methods that do not share it, a file whose call and
// payload say different things.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "compiler/compile.h"
#include "compiler/ir/parse.h"
#include "format/program_view.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"

namespace berth {
namespace {

constexpr int kRows = 6;
constexpr int kWidth = 4;

// A row is added at position i of a cache, then the rows are summed; "look" reads the cache alone.
const char* const kModel = R"(
  state @cache: f32[6,4] = splat<0.5>
  method push(%v: f32[1,4], %i: i64[1]) {
    %old: f32[6,4] = berth::state_read() @cache
    %twice: f32[1,4] = aten::mul.Scalar(%v, 2.0)
    %new: f32[6,4] = aten::index_put(%old, [%i], %twice, false)
    berth::state_write(%new) @cache
    %y: f32[4] = aten::sum.dim_IntList(%new, [0], false)
    return %y
  }
  method look() {
    %now: f32[6,4] = berth::state_read() @cache
    %out: f32[6,4] = aten::neg(%now)
    return %out
  })";

Expected<ir::Module> imported(const std::vector<uint8_t>& program) {
  const std::string path = ::testing::TempDir() + "berth_caches.pte";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(program.data()), program.size());
  auto module = load_model(path, {});
  std::remove(path.c_str());
  return module;
}

struct Loaded {
  explicit Loaded(const char* target) {
    CompileOptions options;
    options.target = target;
    auto module = ir::parse(kModel);
    EXPECT_TRUE(module.ok());
    auto made = compile(std::move(*module), options, &report);
    EXPECT_TRUE(made.ok()) << made.error().text();
    load(std::move(*made));
  }
  /// The program compiled once more, from its file.
  Loaded(const Loaded& first, const char* target) {
    CompileOptions options;
    options.target = target;
    auto module = imported(first.bytes);
    EXPECT_TRUE(module.ok()) << module.error().text();
    if (!module.ok()) return;
    auto made = compile(std::move(*module), options, &report);
    EXPECT_TRUE(made.ok()) << made.error().text();
    if (made.ok()) load(std::move(*made));
  }

  void load(std::vector<uint8_t> program_bytes) {
    bytes = std::move(program_bytes);
    loader = std::make_unique<BufferLoader>(Span<const uint8_t>(bytes));
    Backend* const backends[] = {&backend};
    LoadOptions load;
    load.backends = backends;
    auto loaded = Program::load(*loader, portable::kernels(), load);
    ASSERT_TRUE(loaded.ok());
    program = std::make_unique<Program>(std::move(*loaded));
    auto shared = HostArenas::make(*program);
    ASSERT_TRUE(shared.ok());
    arenas = std::make_unique<HostArenas>(std::move(*shared));
    push = method("push");
    look = method("look");
  }

  std::unique_ptr<HostMethod> method(const char* name) {
    HostOptions options;
    options.arenas = arenas.get();
    options.resident = true;  // with a warm-up, which must not change the cache
    auto host = HostMethod::load(*program, name, options);
    EXPECT_TRUE(host.ok());
    return std::make_unique<HostMethod>(std::move(*host));
  }

  Error step(float first, int64_t position, std::vector<float>* sums = nullptr) {
    float row[kWidth] = {first, first + 1, first + 2, first + 3};
    int64_t at[1] = {position};
    const int32_t row_sizes[] = {1, kWidth};
    const int32_t at_sizes[] = {1};
    EXPECT_EQ(push->method().set_input(0, row, row_sizes, DType::kF32), Error::kOk);
    EXPECT_EQ(push->method().set_input(1, at, at_sizes, DType::kI64), Error::kOk);
    const Error error = push->execute();
    if (error == Error::kOk && sums != nullptr) {
      const Tensor& y = push->method().get_output(0).tensor();
      sums->assign(y.data<float>(), y.data<float>() + kWidth);
    }
    return error;
  }

  std::vector<float> cache() {
    EXPECT_EQ(look->execute(), Error::kOk);
    const Tensor& out = look->method().get_output(0).tensor();
    std::vector<float> rows(out.data<float>(), out.data<float>() + kRows * kWidth);
    for (float& x : rows) x = -x;
    return rows;
  }

  CompileReport report;
  std::vector<uint8_t> bytes;
  CpuBackend backend;
  std::unique_ptr<BufferLoader> loader;
  std::unique_ptr<Program> program;
  std::unique_ptr<HostArenas> arenas;
  std::unique_ptr<HostMethod> push, look;
};

void expect_a_cache(Loaded& loaded) {
  std::vector<float> want(kRows * kWidth, 0.5f);
  ASSERT_EQ(loaded.cache(), want) << "the initial value, after the warm-up";
  for (const int position : {0, 3, 5, 3}) {
    const float first = static_cast<float>(position * 10 + 1);
    std::vector<float> sums;
    ASSERT_EQ(loaded.step(first, position, &sums), Error::kOk);
    for (int e = 0; e < kWidth; ++e) want[position * kWidth + e] = 2 * (first + static_cast<float>(e));
    for (int e = 0; e < kWidth; ++e) {
      float sum = 0;
      for (int r = 0; r < kRows; ++r) sum += want[r * kWidth + e];
      EXPECT_EQ(sums[e], sum);
    }
    EXPECT_EQ(loaded.cache(), want);
  }
}

TEST(Caches, ADelegateAddsARowAndAnotherMethodReadsIt) {
  Loaded loaded("cpu");
  ASSERT_NE(loaded.look, nullptr);
  expect_a_cache(loaded);
  int copies = 0;
  for (const auto* op : *loaded.program->view().method(0).operators()) {
    copies += std::strcmp(op->name()->c_str(), "aten::copy_") == 0 ? 1 : 0;
  }
  EXPECT_EQ(copies, 0);
}

TEST(Caches, APositionBehindTheEndIsRefusedAndNothingIsLost) {
  Loaded loaded("cpu");
  ASSERT_NE(loaded.look, nullptr);
  for (int64_t i = 0; i < kRows; ++i) ASSERT_EQ(loaded.step(static_cast<float>(i), i), Error::kOk);
  const std::vector<float> full = loaded.cache();
  EXPECT_NE(loaded.step(99, kRows), Error::kOk);
  EXPECT_EQ(loaded.cache(), full);
  EXPECT_EQ(loaded.step(7, 0), Error::kOk) << "the method goes on";
}

TEST(Caches, ACompiledProgramCompiledAgainKeepsItsCacheInPlace) {
  const Loaded first("cpu");
  Loaded again(first, "cpu");
  ASSERT_NE(again.look, nullptr);
  expect_a_cache(again);
}

// The call's input and result lie apart: the payload would change one of them and the method read the other.
TEST(Caches, ACallWhoseResultLiesElsewhereIsRefused) {
  CompileOptions options;
  options.target = "cpu";
  options.in_place = false;
  const Loaded first("cpu");
  auto again = imported(first.bytes);
  ASSERT_TRUE(again.ok());
  auto made = compile(std::move(*again), options);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().text().find("in place"), std::string::npos) << made.error().text();
}

}  // namespace
}  // namespace berth
