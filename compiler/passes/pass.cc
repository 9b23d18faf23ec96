#include "compiler/passes/pass.h"

#include <algorithm>

#include "compiler/ir/text.h"

namespace berth::passes {

bool wants_why(const Options& options, std::string_view pass) {
  if (options.why_lines == nullptr) return false;
  return std::any_of(options.why.begin(), options.why.end(),
                     [&](const std::string& name) { return name == pass || name == "all"; });
}

void remark(const Options& options, std::string_view pass, const ir::Method& method, const ir::Node& node,
            std::string_view reason) {
  if (!wants_why(options, pass)) return;
  std::string line(pass);
  line += ": ";
  if (options.name_methods) line += method.name + ": ";
  if (!node.source.empty()) line += ir::quoted(node.source) + " ";
  line += node.op->functional_name;
  if (!node.results.empty()) line += " (" + ir::named('%', method.value(node.results[0]).name) + ")";
  line += ": ";
  line += reason;
  options.why_lines->push_back(std::move(line));
}

}  // namespace berth::passes
