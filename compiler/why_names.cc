#include "compiler/why_names.h"

#include <algorithm>

#include "compiler/fuse/fuse.h"
#include "compiler/passes/pipeline.h"
#include "compiler/place/place.h"

namespace berth {

std::vector<std::string> why_names() {
  std::vector<std::string> names = {"all", "reuse", "fusion"};
  const auto add = [&](Span<const passes::Pass> passes) {
    for (const passes::Pass& pass : passes) {
      if (std::find(names.begin(), names.end(), pass.name) == names.end()) names.emplace_back(pass.name);
    }
  };
  add(passes::pipeline());
  const place::Options placing;
  add(place::place_passes(placing));
  add(fuse::fuse_passes(placing.targets));
  return names;
}

}  // namespace berth
