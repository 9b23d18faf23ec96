// Values that others have taken the place of, while a pass goes through the nodes of a region.
#pragma once

#include <map>
#include <vector>

#include "compiler/ir/module.h"

namespace berth::fuse {

class Replacements {
 public:
  /// From now on `with` is read where `old` was.
  void add(ir::ValueId old, ir::ValueId with) { with_[old] = with; }

  /// What is read in the place of `value`: itself where nothing replaces it.
  ir::ValueId now(ir::ValueId value) const {
    const auto found = with_.find(value);
    return found == with_.end() ? value : found->second;
  }

  /// The same for all values in the arguments of a node, or in the outputs of a region.
  void apply(std::vector<ir::Argument>* arguments) const {
    for (ir::Argument& argument : *arguments) {
      ir::for_each_value(argument, [&](ir::ValueId& value) { value = now(value); });
    }
  }

 private:
  std::map<ir::ValueId, ir::ValueId> with_;
};

}  // namespace berth::fuse
