// The evaluator: runs the IR on host arrays through the portable kernels. It folds constants and judges passes: what a
// method gives before a pass and after must be equal.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "base/failure.h"
#include "compiler/eval/array.h"
#include "compiler/ir/module.h"

namespace berth::eval {

struct EvaluateOptions {
  /// Bytes of values alive at the same time, and of one kernel's temporary memory.
  int64_t max_bytes = int64_t{4} << 30;
  /// Nodes run in all, those in loops each time.
  int64_t max_nodes = 10'000'000;
  /// Contents of states; missing ones begin as the module says. Holds what the method wrote afterwards. May be null.
  std::map<ir::StateId, Array>* states = nullptr;
  /// Called with each tensor that a node outside of branches, loops and delegates computes, when it has. May be empty.
  std::function<void(ir::ValueId value, const Array& array)> on_value;
};

/// Runs `method` on `inputs`, one a method input: arrays, or numbers where the input is a scalar. Sizes bind the
/// symbols of the inputs' types. Devices mean nothing here: delegates are their regions, copies between devices give
/// what they take. InvalidArgument when an input does not fit its type; NotSupported for a delegate that is compiled
/// already; failures of kernels name the node.
Expected<std::vector<Item>> evaluate(const ir::Module& module, const ir::Method& method,
                                     const std::vector<Item>& inputs, const EvaluateOptions& options = {});

/// The contents of a constant or state as an array.
Array array_of(const ir::TensorType& type, const ir::Blob& blob);

/// Results of `node`, whose values are all constants, as blobs in the order of their types. At most `max_bytes` are
/// taken; OutOfResources otherwise. Mapped pages that were read are released.
Expected<std::vector<ir::Blob>> evaluate_node(const ir::Module& module, const ir::Method& method, const ir::Node& node,
                                              int64_t max_bytes);

}  // namespace berth::eval
