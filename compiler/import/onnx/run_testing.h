// Runs imported test models through the evaluator.
#pragma once

#include <cstring>

#include "compiler/eval/evaluate.h"
#include "compiler/import/onnx/model_testing.h"

namespace berth::onnx {

template <typename T>
eval::Item array(DType dtype, std::vector<int32_t> sizes, const std::vector<T>& numbers) {
  eval::Array a;
  a.dtype = dtype;
  a.sizes = std::move(sizes);
  a.bytes.resize(numbers.size() * sizeof(T));
  if (!numbers.empty()) std::memcpy(a.bytes.data(), numbers.data(), a.bytes.size());
  return eval::Item(std::in_place_type<eval::Array>, std::move(a));
}

inline eval::Item floats(std::vector<int32_t> sizes, const std::vector<float>& numbers) {
  return array(DType::kF32, std::move(sizes), numbers);
}

/// The outputs of `model` for `inputs`; empty, with a failed expectation, when it does not import or run.
inline std::vector<eval::Item> run(const TestModel& model, const std::vector<eval::Item>& inputs) {
  auto module = model.import();
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return {};
  auto outputs = eval::evaluate(*module, module->methods[0], inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().text();
  if (!outputs.ok()) return {};
  return std::move(*outputs);
}

template <typename T>
std::vector<T> numbers(const std::vector<eval::Item>& outputs, size_t i = 0) {
  if (i >= outputs.size()) return {};
  const eval::Array& a = std::get<eval::Array>(outputs[i]);
  std::vector<T> all(a.bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), a.bytes.data(), a.bytes.size());
  return all;
}

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

}  // namespace berth::onnx
