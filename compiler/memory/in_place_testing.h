// For tests of what is computed in place: methods with a constant, and the reasons of the candidates.
#pragma once

#include "base/text_testing.h"
#include "compiler/emit/emit_testing.h"
#include "compiler/memory/make_model.h"

namespace berth::memory {

/// A method of `body`, in which %w is a constant.
inline std::string forward(const std::string& inputs, const std::string& body) {
  return filled(R"(
    const @w: f32[4,8] = splat<1>
    method forward($inputs) {
      %w: f32[4,8] = const @w
      $body
    })",
                {{"inputs", inputs}, {"body", body}});
}

/// What is said of each argument that might be overwritten, in the order of the module's first method.
inline std::vector<std::string> reasons(const ir::Module& module, const MemoryOptions& options = {}) {
  const auto model = make_model(module, module.methods[0], options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().text());
  std::vector<std::string> all;
  if (!model.ok()) return all;
  for (const ReuseRemark& reuse : model->candidates.remarks) all.emplace_back(to_string(reuse.reason));
  return all;
}

}  // namespace berth::memory
