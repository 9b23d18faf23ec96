// Scope: the values of a graph, of a graph within one of its nodes, or of one call of a function, by their ONNX names.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/import/onnx/known.h"
#include "compiler/import/onnx/literal.h"

namespace berth::onnx {

/// The meaning of an ONNX name. An initialiser becomes a constant when it is first used; a known value becomes a tensor
/// when an operator needs one. Sequences and optional values are resolved while importing: a sequence is its elements,
/// whose number is known, and an optional value is what it holds, or nothing.
struct Operand {
  ir::ValueId id;  // invalid until it stands in the graph
  std::optional<Known> known;
  const Tensor* initializer = nullptr;
  const SparseTensor* sparse_initializer = nullptr;
  std::shared_ptr<const std::vector<Operand>> sequence;  // of tensors; null for what is none
  bool is_nothing = false;                               // an optional value that holds nothing

  bool is_tensor() const { return sequence == nullptr && !is_nothing; }
};

/// What lies between two bounds that only the data tell: places along a dimension of `size`.
struct PlacesBetween {
  ir::ValueId start, end;
  ir::Dim size;
  ir::ValueId places;
};

struct Scope {
  std::unordered_map<std::string_view, Operand> operands;
  /// How often each name is read by nodes and graph outputs.
  std::unordered_map<std::string_view, int> uses;
  /// Inputs of a function that its call leaves out; in the body they read as left out.
  std::unordered_set<std::string_view> absent;
  /// Of slices so far: two between the same bounds are of one size.
  std::vector<PlacesBetween> between;

  /// The enclosing graph; null for the main graph and for functions.
  Scope* around = nullptr;

  /// The operand of the innermost graph that has one of that name; null when none has.
  Operand* find(std::string_view name) {
    for (Scope* scope = this; scope != nullptr; scope = scope->around) {
      const auto found = scope->operands.find(name);
      if (found != scope->operands.end()) return &found->second;
    }
    return nullptr;
  }
  /// The same, as this graph's own: what is made of it is seen here alone. REQUIRES: find(name) != nullptr.
  Operand* own(std::string_view name) {
    Operand copy = *find(name);
    return &operands.try_emplace(name, std::move(copy)).first->second;
  }
  /// The places between two bounds that a slice of this graph or an enclosing one has found; not valid where none has.
  ir::ValueId find_between(ir::ValueId start, ir::ValueId end, ir::Dim size) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->around) {
      for (const PlacesBetween& one : scope->between) {
        if (one.start == start && one.end == end && one.size == size) return one.places;
      }
    }
    return {};
  }
  bool is_absent(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->around) {
      if (scope->operands.count(name) != 0) return false;
      if (scope->absent.count(name) != 0) return true;
    }
    return false;
  }
};

}  // namespace berth::onnx
