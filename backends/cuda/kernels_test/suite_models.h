// Models compiled for cuda:0, and PyTorch's outputs: those that the repository holds, and, in the folder that the
// environment variable BERTH_TEST_SUITE names, what models/make_models.py has made. For tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "runtime/method.h"
#include "tools/npy.h"

namespace berth::cuda {

class ModelOfSuite {
 public:
  explicit ModelOfSuite(std::string name) : name_(std::move(name)) {
    const char* const suite = std::getenv("BERTH_TEST_SUITE");
    folder_ = std::string(BERTH_SOURCE_DIR) + "/models/" + name_;
    if (!exists() && suite != nullptr) folder_ = std::string(suite) + "/" + name_;
  }
  bool exists() const { return std::filesystem::exists(folder_ + "/model.onnx"); }

  /// The program; empty where there is none, which is a failure.
  std::vector<uint8_t> compiled() const {
    auto module = load_model(folder_ + "/model.onnx", {});
    EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().text());
    if (!module.ok()) return {};
    CompileOptions options;
    options.target = "cuda:0";
    auto program = compile(std::move(module).value(), options);
    EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().text());
    return program.ok() ? std::move(program).value() : std::vector<uint8_t>();
  }

  /// Runs it on its input, and compares with PyTorch's output.
  void expect_pytorchs_output(Method& method) const {
    const tool::Array input = array_of("in0.npy");
    const tool::Array want = array_of("out0.npy");
    const std::vector<int32_t> sizes(input.shape.begin(), input.shape.end());
    ASSERT_EQ(method.set_input(0, input.bytes.data(), sizes, input.dtype), Error::kOk) << method.last_report().message;
    ASSERT_EQ(method.execute(), Error::kOk) << method.last_report().place << ": " << method.last_report().message;
    const Tensor& out = method.get_output(0).tensor();
    ASSERT_EQ(out.nbytes(), want.bytes.size());
    std::vector<float> expected(out.numel());
    std::memcpy(expected.data(), want.bytes.data(), want.bytes.size());
    float largest = 0;
    for (const float x : expected) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < expected.size(); ++i) {
      const float found = out.data<float>()[i];
      ASSERT_LE(std::abs(found - expected[i]), 1e-4f * std::abs(expected[i]) + 1e-5f * largest)
          << "element " << i << " is " << found << " for " << expected[i];
    }
  }

 private:
  tool::Array array_of(const std::string& file) const {
    auto array = tool::read_npy(folder_ + "/" + file);
    EXPECT_TRUE(array.ok()) << (array.ok() ? "" : array.error().text());
    return array.ok() ? std::move(array).value() : tool::Array();
  }

  std::string name_;
  std::string folder_;
};

}  // namespace berth::cuda
