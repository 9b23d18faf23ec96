// What the tests of this room share: programs as descriptions, imported and run by the evaluator.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "compiler/eval/evaluate.h"
#include "compiler/import/pte/import_pte.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"
#include "format/write/programs_testing.h"

namespace berth::pte::testing {

using format::DelegateCallDesc;
using format::IntListDesc;
using format::JumpFalseDesc;
using format::KernelCallDesc;
using format::MethodDesc;
using format::MoveDesc;
using format::NullDesc;
using format::ProgramDesc;
using format::TensorDesc;
using format::testing::constant;
using format::testing::tensor;
using Floats = std::vector<float>;

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& numbers) {
  std::vector<uint8_t> bytes(numbers.size() * sizeof(T));
  if (!numbers.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// A program of the one method "forward" with an arena of 1 KiB.
inline ProgramDesc program_of(MethodDesc method) {
  method.name = "forward";
  if (method.arenas.empty()) method.arenas = {{1024, Device()}};
  ProgramDesc program;
  program.methods = {std::move(method)};
  return program;
}

inline Expected<ir::Module> import(const ProgramDesc& program, const ImportOptions& options = {}) {
  // At a multiple of 16, as the heap gives it.
  const std::vector<uint8_t> file = format::testing::bytes_of(program);
  return import_pte(Span<const uint8_t>(file.data(), file.size()), options);
}

/// The module, sound.
inline ir::Module imported(const ProgramDesc& program) {
  auto module = import(program);
  EXPECT_TRUE(module.ok()) << module.error().text();
  if (!module.ok()) return ir::Module();
  const Status sound = ir::verify(*module);
  EXPECT_TRUE(sound.ok()) << sound.error().text() << "\n" << ir::print(*module);
  return std::move(*module);
}

/// Why it is refused; empty when it is not.
inline std::string refusal(const ProgramDesc& program) {
  const auto module = import(program);
  return module.ok() ? "" : module.error().text();
}

inline bool has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
  return text.find(part) != std::string::npos;
}

/// A tensor whose sizes are the largest that it may have.
inline TensorDesc bounded(std::vector<int32_t> sizes, int64_t offset) {
  TensorDesc t = tensor(std::move(sizes), offset);
  t.bounded = true;
  return t;
}

inline eval::Item array(DType dtype, std::vector<int32_t> sizes, std::vector<uint8_t> bytes) {
  eval::Array a;
  a.dtype = dtype;
  a.sizes = std::move(sizes);
  a.bytes = std::move(bytes);
  return eval::Item(std::in_place_type<eval::Array>, std::move(a));
}

inline eval::Item floats(std::vector<int32_t> sizes, const Floats& numbers) {
  return array(DType::kF32, std::move(sizes), bytes_of(numbers));
}

inline eval::Item truth(bool value) { return array(DType::kBool, {}, {static_cast<uint8_t>(value)}); }

inline Floats numbers(const eval::Item& item) {
  const eval::Array* a = std::get_if<eval::Array>(&item);
  if (a == nullptr) return {};
  Floats all(a->bytes.size() / sizeof(float));
  if (!all.empty()) std::memcpy(all.data(), a->bytes.data(), a->bytes.size());
  return all;
}

using States = std::map<ir::StateId, eval::Array>;

/// What method `method` gives.
inline std::vector<eval::Item> run(const ir::Module& module, const std::vector<eval::Item>& inputs,
                                   States* states = nullptr, size_t method = 0) {
  if (method >= module.methods.size()) return std::vector<eval::Item>(8);
  eval::EvaluateOptions options;
  options.states = states;
  auto outputs = eval::evaluate(module, module.methods[method], inputs, options);
  EXPECT_TRUE(outputs.ok()) << outputs.error().text() << ir::print(module);
  return outputs.ok() ? std::move(*outputs) : std::vector<eval::Item>(8);
}

}  // namespace berth::pte::testing
