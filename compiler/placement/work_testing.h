// A node in a module of its own, for tests of how much work nodes are.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/text_testing.h"
#include "compiler/ir/parse.h"

namespace berth::placement {

/// `measure` (work_of, work_at) of the method's only node, which makes %y from `inputs`. All zeros where it does not
/// parse.
template <typename Measure>
auto measured(const std::string& inputs, const std::string& node, Measure&& measure) {
  auto module = ir::parse(filled(R"(
    method f($inputs) {
      $node
      return %y
    })",
                                 {{"inputs", inputs}, {"node", node}}),
                          "t");
  EXPECT_TRUE(module.ok()) << module.error().text();
  using Result = decltype(measure(*module, module->methods[0], module->methods[0].nodes[{0}]));
  return module.ok() ? measure(*module, module->methods[0], module->methods[0].nodes[{0}]) : Result();
}

}  // namespace berth::placement
