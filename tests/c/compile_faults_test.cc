// While a model is compiled, a program planned anew, or a file looked into, allocations fail, one after another: an
// error, no end of the process, nothing lost, and the next call works.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/c/api_testing.h"
#include "tests/c/failing_allocations_testing.h"

namespace berth {
namespace {

using testing::compiled;
using testing::fail_each;
using testing::Fails;
using testing::kModel;
using testing::sized;
using testing::source_of;

const std::string kCorpus = BERTH_SOURCE_DIR "/tests/fuzz/corpus";

/// Compiles with a report and closes both.
int32_t compile(const berth_source& model, const std::vector<berth_option>& options, berth_error* error) {
  auto how = sized<berth_compile_options>();
  how.options = options.data();
  how.num_options = options.size();
  berth_blob* program = nullptr;
  berth_blob* report = nullptr;
  const int32_t code = berth_compile(&model, 1, &how, &program, &report, error);
  EXPECT_EQ(program != nullptr, code == BERTH_OK);
  EXPECT_EQ(report != nullptr, code == BERTH_OK);
  EXPECT_EQ(berth_blob_close(program, nullptr), BERTH_OK);
  EXPECT_EQ(berth_blob_close(report, nullptr), BERTH_OK);
  return code;
}

void fail_each_of_compiling(const berth_source& model, const std::vector<berth_option>& options, int64_t stride = 1) {
  const auto call = [&](berth_error* error) { return compile(model, options, error); };
  fail_each(options[0].value, call, Fails::kOne, stride);
  fail_each(options[0].value, call, Fails::kAllFromThere, 5 * stride);
}

berth_source text_source(const std::string& text) {
  auto source = sized<berth_source>();
  source.bytes = {text.data(), text.size()};
  return source;
}

using Call = int32_t (*)(const berth_source*, berth_blob**, berth_error*);

void fail_each_of(const char* what, const berth_source& file, Call function) {
  const auto call = [&](berth_error* error) {
    berth_blob* blob = nullptr;
    const int32_t code = function(&file, &blob, error);
    EXPECT_EQ(blob != nullptr, code == BERTH_OK);
    EXPECT_EQ(berth_blob_close(blob, nullptr), BERTH_OK);
    return code;
  };
  fail_each(what, call);
  fail_each(what, call, Fails::kAllFromThere);
}

TEST(CCompileFaults, EveryAllocationOfACompilationFailsForEveryTarget) {
  const std::string text = kModel;
  for (const char* target : {"portable", "cpu", "sim:0"}) {
    fail_each_of_compiling(text_source(text), {{"target", target}});
  }
}

TEST(CCompileFaults, AllocationsOfOnnxFilesFail) {
  for (const char* name : {"conv", "if", "contrib"}) {
    SCOPED_TRACE(name);
    const std::string path = kCorpus + "/onnx_fuzz/" + name + ".onnx";
    // The search for the best plan, whose allocations the first test has, is most of what a tiny model takes.
    fail_each_of_compiling(source_of(path), {{"target", "cpu"}, {"planner", "greedy"}}, 11);
  }
}

TEST(CCompileFaults, AllocationsOfArchivesFail) {
  const std::string path = kCorpus + "/pt2_fuzz/archive.pt2";
  fail_each_of_compiling(source_of(path), {{"target", "cpu"}}, 3);
}

TEST(CCompileFaults, AllocationsOfFilesThatAreLookedIntoFail) {
  const auto file = compiled(kModel, {{"target", "cpu"}});
  const std::string text = kModel;
  const Call inspect = [](const berth_source* source, berth_blob** blob, berth_error* error) {
    const berth_option json = {"json", nullptr};
    return berth_inspect(source, &json, 1, blob, error);
  };
  fail_each_of("inspect", source_of(file), inspect);
  fail_each_of("inspect model", text_source(text), inspect);
  fail_each_of("verify", source_of(file), [](const berth_source* source, berth_blob** blob, berth_error* error) {
    return berth_verify(source, nullptr, 0, blob, error);
  });
  fail_each_of("replan", source_of(file), [](const berth_source* source, berth_blob** blob, berth_error* error) {
    return berth_replan(source, nullptr, blob, nullptr, error);
  });
}

}  // namespace
}  // namespace berth
