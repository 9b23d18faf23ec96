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

/// One node from x (f32) to y; `with` adds attributes and initialisers.
template <typename With>
inline Floats one(const std::string& type, std::vector<int64_t> shape, const Floats& x, With&& with,
                  int64_t opset = 17) {
  TestModel m(opset);
  m.input("x", shape);
  with(m, type);
  m.output("y");
  return numbers<float>(run(m, {floats({shape.begin(), shape.end()}, x)}));
}

inline Floats one(const std::string& type, std::vector<int64_t> shape, const Floats& x, int64_t opset = 17) {
  return one(
      type, std::move(shape), x, [](TestModel& m, const std::string& t) { m.node(t, {"x"}, {"y"}); }, opset);
}

inline void expect_near(const Floats& found, const Floats& expected, float tolerance = 1e-6f) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

}  // namespace berth::onnx
