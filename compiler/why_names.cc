#include "compiler/why_names.h"

#include <algorithm>

#include "compiler/pipeline.h"

namespace berth {

std::vector<std::string> why_names() {
  std::vector<std::string> names = {"all", "reuse", "overlap", "fusion"};
  const placement::Options options;
  for (const passes::Pass& pass : pipeline(options, /*fusion=*/true)) {
    if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.emplace_back(pass.name);
  }
  return names;
}

}  // namespace berth
