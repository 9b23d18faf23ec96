// For the tests of this room: programs of archive_testing.h run by the evaluator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/eval/evaluate.h"
#include "compiler/import/pt2/archive_testing.h"

namespace berth::pt2 {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

/// A symbol as torch.export writes it.
inline constexpr char kS77[] = "Symbol('s77', positive=True, integer=True)";

template <typename T>
eval::Item array(DType dtype, std::vector<int32_t> sizes, const std::vector<T>& numbers) {
  eval::Array a;
  a.dtype = dtype;
  a.sizes = std::move(sizes);
  a.bytes.resize(numbers.size() * sizeof(T));
  if (!numbers.empty()) std::memcpy(a.bytes.data(), numbers.data(), a.bytes.size());
  return eval::Item(std::in_place_type<eval::Array>, std::move(a));
}

inline eval::Item floats(std::vector<int32_t> sizes, const Floats& numbers) {
  return array(DType::kF32, std::move(sizes), numbers);
}

template <typename T = float>
std::vector<T> numbers(const eval::Item& item) {
  const eval::Array& a = std::get<eval::Array>(item);
  std::vector<T> all(a.bytes.size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), a.bytes.data(), a.bytes.size());
  return all;
}

inline std::vector<eval::Item> run(const ir::Module& module, const std::vector<eval::Item>& inputs,
                                   std::map<ir::StateId, eval::Array>* states = nullptr) {
  eval::EvaluateOptions options;
  options.states = states;
  auto outputs = eval::evaluate(module, module.methods[0], inputs, options);
  EXPECT_TRUE(outputs.ok()) << outputs.error().text() << ir::print(module);
  return outputs.ok() ? std::move(*outputs) : std::vector<eval::Item>();
}

inline std::vector<eval::Item> run(const TestProgram& program, const std::vector<eval::Item>& inputs) {
  const auto module = program.import();
  EXPECT_TRUE(module.ok()) << module.error().text();
  return module.ok() ? run(*module, inputs) : std::vector<eval::Item>();
}

inline bool says(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
  return message.find(part) != std::string::npos;
}

}  // namespace berth::pt2
