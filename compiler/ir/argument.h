// Argument: what a node passes to one parameter of its operator: a value, a list of values, or a literal.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/id.h"
#include "base/none.h"
#include "compiler/ir/dim.h"

namespace berth::ir {

struct Value;
struct Node;

using berth::None;
using ValueId = Id<Value>;  // a value of a method, in Method::values
using NodeId = Id<Node>;    // a node of a method, in Method::nodes

using ValueList = std::vector<ValueId>;  // an invalid id is None, in Tensor?[] only
using DimList = std::vector<Dim>;
using FloatList = std::vector<double>;
using BoolList = std::vector<bool>;

/// Integers are Dims, so that a size may be a symbol; a dtype is its number as a constant Dim. An empty IntList is an
/// empty DimList.
using Argument = std::variant<None, ValueId, ValueList, Dim, DimList, double, FloatList, bool, BoolList, std::string>;

inline bool is_none(const Argument& a) { return std::holds_alternative<None>(a); }

/// Calls `f(ValueId&)` for each valid value that `argument` (const or not) mentions.
template <typename A, typename F>
void for_each_value(A& argument, F&& f) {
  if (auto* value = std::get_if<ValueId>(&argument)) {
    if (value->valid()) f(*value);
  } else if (auto* list = std::get_if<ValueList>(&argument)) {
    for (auto& item : *list) {
      if (item.valid()) f(item);
    }
  }
}

/// Calls `f(Dim&)` for each integer that `argument` holds.
template <typename A, typename F>
void for_each_dim(A& argument, F&& f) {
  if (auto* dim = std::get_if<Dim>(&argument)) {
    f(*dim);
  } else if (auto* list = std::get_if<DimList>(&argument)) {
    for (auto& item : *list) f(item);
  }
}

}  // namespace berth::ir
