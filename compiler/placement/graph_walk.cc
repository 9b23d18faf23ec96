#include "compiler/placement/graph_walk.h"

#include "compiler/ir/text.h"

namespace berth::placement {

std::string place_of(const ir::Method& method, const ir::Node& node) {
  std::string place = "method " + method.name + ", " + node.op->functional_name;
  if (!node.results.empty()) place += " (" + ir::named('%', method.value(node.results[0]).name) + ")";
  if (!node.source.empty()) place += " " + ir::quoted(node.source);
  return place;
}

}  // namespace berth::placement
