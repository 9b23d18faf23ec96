// Scope: the values of a graph, or of one call of a function, by their ONNX names.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/onnx/known.h"
#include "compiler/import/onnx/literal.h"

namespace berth::onnx {

/// What an ONNX name stands for. An initialiser becomes a constant when it is first used; a known value becomes a
/// tensor when an operator needs it as one.
struct Operand {
  ir::ValueId id;  // invalid until it stands in the graph
  std::optional<Known> known;
  const Tensor* initializer = nullptr;
  const SparseTensor* sparse_initializer = nullptr;
};

struct Scope {
  std::unordered_map<std::string_view, Operand> operands;
  /// How often each name is read by nodes and graph outputs.
  std::unordered_map<std::string_view, int> uses;
  /// Inputs of a function that its call leaves out; in the body they read as left out.
  std::unordered_set<std::string_view> absent;

  /// Null when nothing has that name.
  Operand* find(std::string_view name) {
    const auto found = operands.find(name);
    return found == operands.end() ? nullptr : &found->second;
  }
};

}  // namespace berth::onnx
