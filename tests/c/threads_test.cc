// Several threads use one machine and one program through the C API, each with methods of its own. Meant for the thread
// sanitizer; the results are compared in any build.
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "tests/c/api_testing.h"

namespace berth {
namespace {

using testing::CError;
using testing::compiled;
using testing::floats;
using testing::kModel;
using testing::sized;
using testing::source_of;

constexpr int32_t kSizes[] = {4};

/// Runs one method; how many results are wrong.
int run_many(berth_method* method, float first) {
  int wrong = 0;
  for (int i = 0; i < 50; ++i) {
    float x[4] = {first + static_cast<float>(i), 0, 1, 2};
    const berth_array input = floats(x, 4, kSizes, 1);
    auto output = sized<berth_array>();
    CError error;
    const bool ok = berth_method_set_input(method, 0, &input, error) == BERTH_OK &&
                    berth_method_run(method, error) == BERTH_OK &&
                    berth_method_output(method, 0, &output, error) == BERTH_OK;
    if (!ok || static_cast<const float*>(output.data)[0] != 2 * x[0] - 1) ++wrong;
  }
  return wrong;
}

/// Loads, runs and closes methods of `program`; how many calls went wrong.
int load_and_run(berth_program* program, float first) {
  int wrong = 0;
  for (int round = 0; round < 4; ++round) {
    CError error;
    berth_method* method = nullptr;
    if (berth_method_load(program, "forward", nullptr, &method, error) != BERTH_OK) return wrong + 1;
    wrong += run_many(method, first);
    if (berth_method_close(method, error) != BERTH_OK) ++wrong;
  }
  return wrong;
}

/// Runs `work` with 0 to 3, each on a thread of its own, and adds up what they give.
int on_threads(const std::function<int(int)>& work) {
  std::thread threads[4];
  int given[4] = {};
  for (int t = 0; t < 4; ++t) threads[t] = std::thread([&, t] { given[t] = work(t); });
  for (std::thread& thread : threads) thread.join();
  return given[0] + given[1] + given[2] + given[3];
}

TEST(CThreads, TwoMethodsOfOneProgramRunAtOnce) {
  for (const char* target : {"portable", "cpu", "sim:0"}) {
    const auto file = compiled(kModel, {{"target", target}});
    CError error;
    berth_machine* machine = nullptr;
    ASSERT_EQ(berth_machine_create(nullptr, &machine, error), BERTH_OK) << error.text();
    berth_trace* trace = nullptr;
    ASSERT_EQ(berth_trace_create(&trace, error), BERTH_OK) << error.text();
    auto options = sized<berth_load_options>();
    options.machine = machine;
    options.observer = berth_trace_observer(trace);
    const berth_source source = source_of(file);
    berth_program* program = nullptr;
    ASSERT_EQ(berth_program_open(&source, &options, &program, error), BERTH_OK) << error.text();
    EXPECT_EQ(on_threads([&](int t) { return load_and_run(program, static_cast<float>(1000 * t + 1)); }), 0) << target;
    EXPECT_EQ(berth_program_close(program, error), BERTH_OK) << error.text();
    EXPECT_EQ(berth_trace_close(trace, error), BERTH_OK) << error.text();
    EXPECT_EQ(berth_machine_close(machine, error), BERTH_OK) << error.text();
  }
}

TEST(CThreads, ModelsAreCompiledAtOnce) {
  const auto alone = compiled(kModel, {{"target", "cpu"}});
  EXPECT_EQ(on_threads([&](int) { return compiled(kModel, {{"target", "cpu"}}) == alone ? 0 : 1; }), 0);
}

}  // namespace
}  // namespace berth
