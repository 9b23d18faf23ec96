// The small programs by which `berth tune` measures a device: chains of one operator, as IR text.
//
// How long an operator takes is the difference between a long chain and a short one, so that calls and copies are not
// part of it.
#pragma once

#include <string>
#include <vector>

#include "compiler/placement/device_costs.h"

namespace berth::tool {

struct TunedOperator {
  placement::WorkKind kind = placement::WorkKind::kProduct;
  double work = 0;            // of one operator: operations or bytes
  std::string weight;         // the type of the constant %w; empty: none
  std::string type;           // of what the operator reads and gives
  std::string operator_text;  // with {} for what it reads
  bool fusion = true;         // false: fusion would make one operator of the chain
};

/// By kind, and by rising work within one.
std::vector<TunedOperator> tuned_operators();

/// One whose work is next to nothing: what it takes is its launch.
TunedOperator launched_operator();

/// A chain of `length` such operators, as a module's text.
std::string chain_of(const TunedOperator& one, int length);

}  // namespace berth::tool
