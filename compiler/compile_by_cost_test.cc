// Whole models that are placed by cost: what stays on the host, what moves, and the bytes that come of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "compiler/ir/parse.h"

namespace berth {
namespace {

struct Compiled {
  std::vector<uint8_t> bytes;
  CompileReport report;

  /// How many delegates are on a device of this type.
  int64_t on(DeviceType type) const {
    return std::count_if(report.delegates.begin(), report.delegates.end(),
                         [&](const DelegateReport& delegate) { return delegate.device.type == type; });
  }
};

Compiled compiled(const std::string& model, const CompileOptions& options) {
  Compiled made;
  auto module = load_model(std::string(BERTH_SOURCE_DIR) + "/models/" + model + "/model.onnx", {});
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return made;
  auto bytes = compile(std::move(*module), options, &made.report);
  EXPECT_TRUE(bytes.ok()) << bytes.error().text();
  if (bytes.ok()) made.bytes = std::move(*bytes);
  return made;
}

CompileOptions by_cost(const std::string& targets) {
  CompileOptions options;
  options.target = targets;
  options.by_cost = true;
  return options;
}

CompileOptions at(const std::string& target) {
  CompileOptions options;
  options.target = target;
  return options;
}

/// The estimate for this kind of target, with all times and rates so many times as slow.
placement::DeviceCosts scaled(const std::string& target, double slower) {
  placement::DeviceCosts costs = *placement::costs_of(target, {});
  for (double* seconds :
       {&costs.call_seconds, &costs.operator_seconds, &costs.to_device.seconds, &costs.from_device.seconds}) {
    *seconds *= slower;
  }
  costs.to_device.bytes_per_second /= slower;
  costs.from_device.bytes_per_second /= slower;
  for (const placement::WorkKind kind : placement::work_kinds()) {
    for (placement::RateAt& rate : costs.rates[kind]) rate.second /= slower;
  }
  return costs;
}

TEST(CompileByCost, SmallModelsStayOnTheHostWithEstimatesOfGpus) {
  for (const char* model : {"dscnn_kws", "lstm_tagger", "digits"}) {
    const Compiled host = compiled(model, at("cpu"));
    for (const char* targets : {"cuda:0,cpu", "vulkan:0,cpu", "cuda:0,vulkan:0,cpu", "cpu,cuda:0"}) {
      EXPECT_EQ(compiled(model, by_cost(targets)).bytes, host.bytes) << model << " " << targets;
    }
  }
}

TEST(CompileByCost, ALargeModelMovesToAGpu) {
  const Compiled made = compiled("randwire", by_cost("cuda:0,cpu"));
  EXPECT_EQ(made.bytes, compiled("randwire", at("cuda:0,cpu")).bytes);
  EXPECT_EQ(made.on(DeviceType::kCuda), 1);
}

TEST(CompileByCost, ModelsMoveWithAFastDeviceAndStayWithASlowOne) {
  for (const char* model : {"dscnn_kws", "lstm_tagger", "digits", "randwire"}) {
    CompileOptions options = by_cost("cuda:0,cpu");
    options.costs = {scaled("cuda:0", 1000)};
    EXPECT_EQ(compiled(model, options).bytes, compiled(model, at("cpu")).bytes) << model;
    options.costs = {scaled("cuda:0", 0.01)};
    EXPECT_GE(compiled(model, options).on(DeviceType::kCuda), 1) << model;
  }
}

TEST(CompileByCost, ProductsStayWhereTheDeviceIsSlowAtThemAlone) {
  CompileOptions options = by_cost("cuda:0,cpu");
  placement::DeviceCosts costs = scaled("cuda:0", 0.01);
  costs.rates[placement::WorkKind::kProduct] = {{1, 1e3}};
  options.costs = {costs};
  options.why = {"partition"};
  const Compiled made = compiled("digits", options);
  EXPECT_EQ(made.on(DeviceType::kCuda), 1);
  EXPECT_EQ(made.on(DeviceType::kCpu), 1);
  for (const std::string& line : made.report.why) {
    if (line.find("aten::convolution (") != std::string::npos) {
      EXPECT_NE(line.find(" on cuda:0: cuda:0 "), std::string::npos) << line;
    }
    if (line.find("aten::addmm (") != std::string::npos || line.find("aten::mm (") != std::string::npos) {
      EXPECT_NE(line.find(" on cpu: cuda:0 "), std::string::npos) << line;
    }
  }
}

TEST(CompileByCost, TheSameInputGivesTheSameBytes) {
  CompileOptions options = by_cost("cuda:0,vulkan:0,cpu");
  options.costs = {scaled("cuda:0", 0.3), scaled("vulkan:0", 0.2)};
  EXPECT_EQ(compiled("dscnn_kws", options).bytes, compiled("dscnn_kws", options).bytes);
}

constexpr char kQuantized[] = R"(
  const @w: i8[64,64] = splat<3>
  method forward(%x: f32[64,64]) {
    %w: i8[64,64] = const @w
    %q: i8[64,64] = quantized_decomposed::quantize_per_tensor(%x, 0.5, 0, -128, 127, i8)
    %a: f32[64,64] = quantized_decomposed::dequantize_per_tensor(%q, 0.5, 0, -128, 127, i8)
    %b: f32[64,64] = quantized_decomposed::dequantize_per_tensor(%w, 0.25, 0, -128, 127, i8)
    %y: f32[64,64] = aten::mm(%a, %b)
    return %y
  })";

TEST(CompileByCost, QuantizedModelsStayWhereTheyAreComputedInBytes) {
  const auto bytes = [](const CompileOptions& options) {
    auto module = ir::parse(kQuantized, "t");
    EXPECT_TRUE(module.ok()) << module.error().text();
    auto made = compile(std::move(*module), options);
    EXPECT_TRUE(made.ok()) << made.error().text();
    return made.ok() ? *made : std::vector<uint8_t>();
  };
  CompileOptions options = by_cost("cuda:0,cpu");
  options.costs = {scaled("cuda:0", 1e-4)};
  EXPECT_EQ(bytes(options), bytes(at("cpu")));
}

TEST(CompileByCost, WhatCannotBeIsAnErrorWithItsPlace) {
  const auto failure = [](const CompileOptions& options) {
    auto module = ir::parse("method f(%x: f32[2]) {\n%y: f32[2] = aten::relu(%x)\nreturn %y\n}", "t");
    auto made = compile(std::move(*module), options);
    return made.ok() ? "" : made.error().text();
  };
  CompileOptions options = by_cost("cuda:0,cpu");
  EXPECT_EQ(failure(options), "");
  options.split = true;
  EXPECT_NE(failure(options).find("choose one of both"), std::string::npos) << failure(options);
  options.split = false;
  options.costs = {scaled("cuda:0", 1)};
  options.costs[0].operator_seconds = -1;
  EXPECT_NE(failure(options).find("costs of cuda:0: operator"), std::string::npos) << failure(options);
}

}  // namespace
}  // namespace berth
