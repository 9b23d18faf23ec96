// Reuse of memory never changes a number: random modules and the repository's models, with and without it, run several
// times on several threads, bit for bit.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "base/seeds_testing.h"
#include "base/text_testing.h"
#include "compiler/check_program.h"
#include "compiler/compile.h"
#include "compiler/emit/plan_and_emit_testing.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/print.h"
#include "compiler/ir/random_steps_testing.h"
#include "format/write/write_program.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "runtime/host/thread_pool.h"

namespace berth {
namespace {

struct Variant {
  const char* name;
  packing::Planner planner;
  bool in_place;
  bool alias = true;
};

constexpr Variant kVariants[] = {{"naive", packing::Planner::kNaive, false},
                                 {"without in place", packing::Planner::kBest, false},
                                 {"without views and parts", packing::Planner::kBest, true, false},
                                 {"greedy in place", packing::Planner::kGreedy, true},
                                 {"best in place", packing::Planner::kBest, true}};

/// Sizes multiply in random modules.
constexpr int64_t kMostBytes = int64_t{24} << 20;

/// Empty when it would take more than that.
std::vector<uint8_t> file_of(const ir::Module& module, const Variant& variant) {
  memory::MemoryOptions options;
  options.planner = variant.planner;
  options.in_place = variant.in_place;
  options.alias = variant.alias;
  const auto emitted = emit::testing::plan_and_emit(module, options);
  EXPECT_TRUE(emitted.ok()) << emitted.error().text();
  if (!emitted.ok()) return {};
  for (const ArenaReport& arena : emitted->arenas) {
    if (arena.bytes > kMostBytes) return {};
  }
  const auto bytes = format::program_bytes(emitted->program);
  EXPECT_TRUE(check_program(*bytes).ok()) << variant.name;
  return *bytes;
}

/// Sizes of an input: upper bounds, and in run `r` a smaller size where the first dimension may change.
std::vector<int32_t> sizes_of(const ir::Module& module, const ir::TensorType& type, int r) {
  std::vector<int32_t> sizes;
  for (const ir::Dim dim : type.shape) {
    const int64_t upper = module.symbols.upper(dim);
    sizes.push_back(static_cast<int32_t>(dim.is_constant() ? upper : std::max<int64_t>(1, upper - r)));
  }
  return sizes;
}

constexpr char kRefused[] = "refused";

/// What three runs give, outputs one after the other; a run that is refused is the last.
std::vector<std::string> results(const ir::Module& module, const std::vector<uint8_t>& file, int threads) {
  BufferLoader loader(file);
  HostThreadPool pool(threads);
  auto program = Program::load(loader, portable::kernels());
  EXPECT_TRUE(program.ok());
  HostOptions options;
  options.pool = &pool;
  Report report;
  options.report = &report;
  auto loaded = HostMethod::load(*program, "forward", options);
  EXPECT_TRUE(loaded.ok()) << report.place << ": " << report.message;
  std::vector<std::string> all;
  if (!loaded.ok()) return all;
  Method& method = loaded->method();
  const ir::Method& source = module.methods[0];
  std::mt19937 random(1);
  for (int run = 0; run < 3; ++run) {
    for (size_t i = 0; i < source.body.inputs.size(); ++i) {
      const std::vector<int32_t> sizes = sizes_of(module, source.tensor(source.body.inputs[i]), run);
      size_t count = 1;
      for (const int32_t size : sizes) count *= size;
      std::vector<float> data(count);
      for (float& x : data) x = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
      EXPECT_EQ(method.set_input(i, data.data(), sizes, DType::kF32), Error::kOk) << method.last_report().message;
    }
    // Sizes that do not fit each other are refused wherever values lie. Where several do not, the one that is met first
    // depends on the order of nodes and on what is a view, which memory decides.
    if (method.execute() != Error::kOk) {
      all.emplace_back(kRefused);
      return all;
    }
    for (size_t k = 0; k < source.body.outputs.size(); ++k) {
      const Tensor& out = method.get_output(k).tensor();
      all.emplace_back(reinterpret_cast<const char*>(out.raw()), out.nbytes());
    }
  }
  return all;
}

size_t first_difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  size_t i = 0;
  while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
  return i;
}

/// False: it is too large to be tried, or its sizes do not fit each other when it runs.
bool expect_equal_results(const ir::Module& module, int threads) {
  const std::vector<uint8_t> file = file_of(module, kVariants[0]);
  if (file.empty()) return false;
  const std::vector<std::string> want = results(module, file, threads);
  for (const Variant& variant : kVariants) {
    const std::vector<uint8_t> other = file_of(module, variant);
    if (other.empty()) continue;
    const std::vector<std::string> got = results(module, other, threads);
    EXPECT_TRUE(got == want) << variant.name << " differs in result " << first_difference(got, want) << "\n"
                             << ir::print(module);
  }
  return want.empty() || want.back() != kRefused;
}

ir::Module random_module(unsigned seed, int64_t rows = 4, bool regions = true) {
  return ir::testing::RandomModule(seed, ir::testing::any_module(rows, regions)).make();
}

// Holds row 198: with views and without.
TEST(MemoryReuse, NeverChangesANumberInRandomModules) {
  const unsigned first = testing::new_seed();
  int whole = 0;
  for (unsigned seed = first; seed < first + 150 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
    whole += expect_equal_results(random_module(seed), 1) ? 1 : 0;
  }
  EXPECT_GE(whole, 50) << "most modules are to run to their end";
}

// What a branch yields was once cut out of an input that stayed alive, and the other branch wrote there.
TEST(MemoryReuse, NeverChangesANumberInABranchThatYieldsASliceOfAnInput) {
  expect_equal_results(random_module(1700431987), 1);
}

/// A counter over `size` numbers: state, a branch, and something to fold.
std::string counter(int size) {
  return filled(R"(
    state @s: $type
    const @k: $type = splat<2>
    method forward(%c: bool[], %x: $type) {
      %k: $type = const @k
      %old: $type = berth::state_read() @s
      %e: $type = aten::exp(%k)
      %a: $type = aten::add.Tensor(%old, %x)
      %b: $type = aten::mul.Tensor(%a, %e)
      berth::state_write(%a) @s
      %r: $type = berth::if(%c) {
        ()
        %d: $type = aten::neg(%b)
        yield %d
      } {
        ()
        yield %x
      }
      return %r
    })",
                {{"type", "f32[" + std::to_string(size) + "]"}});
}

std::vector<uint8_t> reused(const std::string& text) {
  auto module = ir::parse(text, "test");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
  auto program = compile(std::move(module).value(), {});
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
  return program.ok() ? std::move(program).value() : std::vector<uint8_t>();
}

// Limits 1.11. No pass and no planner keeps anything of what it compiled before, or of what another thread compiles.
TEST(MemoryReuse, CompilingAgainGivesTheSameBytesWhateverElseIsCompiled) {
  const std::vector<int> sizes = {1024, 4, 1020, 64};
  std::vector<std::vector<uint8_t>> first;
  for (const int size : sizes) first.push_back(reused(counter(size)));
  for (size_t i = sizes.size(); i-- > 0;) EXPECT_EQ(reused(counter(sizes[i])), first[i]);
  std::vector<std::vector<uint8_t>> beside(2 * sizes.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < beside.size(); ++t) {
    threads.emplace_back([&, t] { beside[t] = reused(counter(sizes[t % sizes.size()])); });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t t = 0; t < beside.size(); ++t) EXPECT_EQ(beside[t], first[t % sizes.size()]) << t;
}

/// The numbers that `file` gives for a condition and four numbers.
std::vector<std::vector<float>> numbers_of(const std::vector<uint8_t>& file, bool condition, std::vector<float> x) {
  BufferLoader loader(file);
  auto program = Program::load(loader, portable::kernels());
  EXPECT_TRUE(program.ok());
  auto loaded = HostMethod::load(*program, "forward", {});
  EXPECT_TRUE(loaded.ok());
  std::vector<std::vector<float>> all;
  if (!loaded.ok()) return all;
  Method& method = loaded->method();
  const std::vector<int32_t> sizes = {static_cast<int32_t>(x.size())};
  EXPECT_EQ(method.set_input(0, &condition, {}, DType::kBool), Error::kOk) << method.last_report().message;
  EXPECT_EQ(method.set_input(1, x.data(), sizes, DType::kF32), Error::kOk) << method.last_report().message;
  EXPECT_EQ(method.execute(), Error::kOk) << method.last_report().message;
  for (size_t k = 0; k < method.outputs_size(); ++k) {
    const Tensor& out = method.get_output(k).tensor();
    const float* first = reinterpret_cast<const float*>(out.raw());
    all.emplace_back(first, first + out.nbytes() / sizeof(float));
  }
  return all;
}

// Limits 1.6.
// Holds row 166, row 165: the first result is read after branches behind it, and within a loop, whatever they make.
TEST(MemoryReuse, ABranchsResultSurvivesOtherBranchesAndALoop) {
  auto module = ir::parse(R"(
    const @zero: f32[1] = splat<0>
    method forward(%c: bool[], %x: f32[4]) {
      %zero: f32[1] = const @zero
      %r: f32[4] = berth::if(%c) {
        ()
        %a: f32[4] = aten::mul.Scalar(%x, 2)
        yield %a
      } {
        ()
        yield %x
      }
      %s: f32[4] = berth::if(%c) {
        ()
        %d: f32[4] = aten::neg(%x)
        %e: f32[4] = aten::mul.Scalar(%d, 3)
        yield %e
      } {
        ()
        %f: f32[4] = aten::mul.Scalar(%x, 5)
        %g: f32[4] = aten::neg(%f)
        yield %g
      }
      %n: f32[1], %w: f32[4] = berth::while([%zero, %s]) {
        (%i: f32[1], %j: f32[4])
        %t: bool[1] = aten::lt.Scalar(%i, 2.5)
        yield %t
      } {
        (%k: f32[1], %l: f32[4])
        %o: f32[1] = aten::add.Scalar(%k, 1.0)
        %p: f32[4] = aten::add.Tensor(%l, %r)
        yield %o, %p
      }
      %u: f32[4] = berth::if(%c) {
        ()
        %v: f32[4] = aten::neg(%r)
        yield %v
      } {
        ()
        yield %r
      }
      return %r, %s, %w, %u
    })",
                          "test");
  ASSERT_TRUE(module.ok()) << module.error().text();
  using Rows = std::vector<std::vector<float>>;
  for (const Variant& variant : kVariants) {
    const std::vector<uint8_t> file = file_of(*module, variant);
    EXPECT_EQ(numbers_of(file, true, {1, -2, 3, 4}),
              (Rows{{2, -4, 6, 8}, {-3, 6, -9, -12}, {3, -6, 9, 12}, {-2, 4, -6, -8}}))
        << variant.name;
    EXPECT_EQ(numbers_of(file, false, {1, -2, 3, 4}),
              (Rows{{1, -2, 3, 4}, {-5, 10, -15, -20}, {-2, 4, -6, -8}, {1, -2, 3, 4}}))
        << variant.name;
  }
}

// Kernels share the work of large tensors between threads; an element that one thread overwrites is another's input.
TEST(MemoryReuse, NeverChangesANumberInLargeTensorsOnSeveralThreads) {
  const unsigned first = testing::new_seed();
  for (unsigned seed = first; seed < first + 6 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
    expect_equal_results(random_module(seed, 20'000, false), 3);
  }
}

}  // namespace
}  // namespace berth
