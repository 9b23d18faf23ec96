// Operators of one's own for tests: a plug-in that is linked into the test has them, and does what it should not where
// a test asks for it. Expected numbers are computed by plain loops.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compile.h"
#include "compiler/import/options.h"
#include "compiler/ir/module.h"
#include "plugin/load_plugin.h"
#include "plugin/target.h"
#include "runtime/kernel.h"

namespace berth::own_operators_testing {

using Bytes = std::vector<uint8_t>;
using Floats = std::vector<float>;
using plugin::Call;
using plugin::Node;
using plugin::Results;

// out = factor * self. May lie on self.
struct Gain final : plugin::Operator {
  explicit Gain(const char* name = "my::gain", uint32_t in_place = 1)
      : Operator(name, "Tensor self, float factor=2 -> Tensor out") {
    table_.in_place = in_place;
  }
  plugin::Status infer(const Node& call, Results& results) override {
    if (call.argument("self").value().dtype() != BERTH_F32) return {BERTH_INVALID_ARGUMENT, "takes floats only"};
    results.like(call.argument("self").value());
    return {};
  }
  plugin::Status compute(const Call& call) override {
    call.resize_like(2, 0);
    const float factor = static_cast<float>(call.number(1));
    for (int64_t i = 0; i < call.numel(0); ++i) call.data<float>(2)[i] = factor * call.data<float>(0)[i];
    return {};
  }
};

// [n, m] to [n + 1, parts * m / 2]: row i is row i of self repeated, the last row is zero. Sizes of every operation.
struct Grow final : plugin::Operator {
  Grow() : Operator("my::grow", "Tensor self, int parts -> Tensor out") {}
  plugin::Status infer(const Node& call, Results& results) override {
    const plugin::Value self = call.argument("self").value();
    if (self.rank() != 2) return {BERTH_INVALID_ARGUMENT, "takes matrices"};
    const int64_t width = results.multiply(results.dim(self, 1), call.argument("parts").integer());
    results.give(self.dtype(), {results.add(results.dim(self, 0), 1), results.divide(width, 2)});
    return {};
  }
  plugin::Status compute(const Call& call) override {
    const berth_tensor& self = call.tensor(0);
    berth_tensor& out = call.tensor(2);
    out.sizes[0] = self.sizes[0] + 1;
    out.sizes[1] = static_cast<int32_t>(self.sizes[1] * call.integer(1) / 2);
    for (int32_t i = 0; i < out.sizes[0]; ++i) {
      for (int32_t k = 0; k < out.sizes[1]; ++k) {
        call.data<float>(2)[i * out.sizes[1] + k] =
            i < self.sizes[0] ? call.data<float>(0)[i * self.sizes[1] + k % self.sizes[1]] : 0;
      }
    }
    return {};
  }
};

// Lists of tensors and numbers, an optional tensor, a text: a weighted sum, two results.
struct Blend final : plugin::Operator {
  Blend()
      : Operator("my::blend",
                 "Tensor? bias, Tensor[] parts, float[] weights, int[] signs, str mode='sum', bool twice=False "
                 "-> Tensor sum, Tensor half") {}
  plugin::Status infer(const Node& call, Results& results) override {
    if (call.argument("parts").size() == 0) return {BERTH_INVALID_ARGUMENT, "has no parts"};
    results.like(call.argument("parts").value(0));
    results.like(call.argument("parts").value(0));
    return {};
  }
  plugin::Status compute(const Call& call) override {
    if (call.text(4) != "sum") return {BERTH_INVALID_ARGUMENT, "knows no mode " + std::string(call.text(4))};
    for (const size_t result : {6, 7}) call.resize_like(result, 1);
    const double times = call.integer(5) != 0 ? 2 : 1;
    for (int64_t i = 0; i < call.numel(6); ++i) {
      double sum = call.is_none(0) ? 0 : call.data<float>(0)[i];
      for (size_t k = 0; k < call[1].count; ++k) {
        sum += times * call.number(2, k) * static_cast<double>(call.integer(3, k)) * call.data<float>(1, k)[i];
      }
      call.data<float>(6)[i] = static_cast<float>(sum);
      call.data<float>(7)[i] = static_cast<float>(sum / 2);
    }
    return {};
  }
};

// Copies and counts its calls.
struct Count final : plugin::Operator {
  Count() : Operator("my::count", "Tensor self -> Tensor out") { table_.has_effects = 1; }
  plugin::Status infer(const Node& call, Results& results) override {
    results.like(call.argument(0).value());
    return {};
  }
  plugin::Status compute(const Call& call) override {
    seen.push_back(call.data<float>(0)[0]);
    std::memcpy(call.tensor(1).data, call.tensor(0).data, call.tensor(0).bytes);
    return {};
  }
  static inline Floats seen;
};

// The elements of self that are at least `least`.
struct Filter final : plugin::Operator {
  Filter() : Operator("my::filter", "Tensor self, float least -> Tensor out") { table_.sized_by_contents = 1; }
  plugin::Status infer(const Node& call, Results& results) override {
    const plugin::Value self = call.argument("self").value();
    results.give(self.dtype(), {results.contents(results.dim(self, 0))});
    return {};
  }
  plugin::Status compute(const Call& call) override {
    int32_t count = 0;
    for (int64_t i = 0; i < call.numel(0); ++i) {
      if (call.data<float>(0)[i] >= call.number(1)) call.data<float>(2)[count++] = call.data<float>(0)[i];
    }
    call.tensor(2).sizes[0] = count;
    return {};
  }
};

// A shape rule and a kernel that a test writes.
struct Scripted final : plugin::Operator {
  Scripted() : Operator("my::scripted", "Tensor self -> Tensor out") {}
  plugin::Status infer(const Node& call, Results& results) override { return on_infer(call, results); }
  plugin::Status compute(const Call& call) override { return on_compute(call); }
  static inline std::function<plugin::Status(const Node&, Results&)> on_infer;
  static inline std::function<plugin::Status(const Call&)> on_compute;
};

/// The plug-in: my::gain, my::gain.Twice, my::plain (a gain that never works in place), the other operators above, and
/// a target "gainer" on the host that takes my::gain alone.
const Plugin* mine();

/// The same for importers and the parser of the IR.
ImportOptions with_operators();
Expected<ir::Module> parsed(const std::string& text);
/// What the parser says of `text`.
std::string failure_of(const std::string& text);

CompileOptions options_for(const std::string& target = "portable");
/// Empty, and a failure of the test, where `module` or its compilation failed.
Bytes compiled(Expected<ir::Module> module, const CompileOptions& options = options_for(),
               CompileReport* report = nullptr);
/// Those in the program: "my::gain=1, my::plain=0", with the arguments that may be overwritten.
std::string own_operators_of(const Bytes& program);

KernelTable own_kernels();

struct Outcome {
  Error error = Error::kOk;
  std::string said;
  std::vector<Floats> results;
};

/// Runs a program whose inputs are floats, given as sizes and elements, twice.
Outcome run(const Bytes& program, const std::vector<std::pair<std::vector<int32_t>, Floats>>& inputs,
            KernelTable own = own_kernels());

/// A module over f32[64] that calls `op`, such as "gain" of my::gain, twice; what it gives; and an input.
std::string twice(const std::string& op);
Floats expected_twice(const Floats& x);
Floats ramp(size_t count);

void expect_close(const Outcome& out, const Floats& expected);
bool has(const std::string& text, const std::string& part);

}  // namespace berth::own_operators_testing
