// The nodes of the model that the instructions of a program come from, and the names of the values that they compute,
// those within delegates included: for profiles and comparisons.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "format/program_view.h"

namespace berth::tool {

class NodeNames {
 public:
  NodeNames() = default;
  /// By the file's stack traces, "Conv_26" or "model.py:12 forward", where it has them; otherwise by the names of what
  /// instructions compute. REQUIRES: verify_program() accepted the file.
  static NodeNames of(const format::ProgramView& program, size_t method);

  /// Of instruction `index` as Method counts them; empty where the file does not say.
  const std::string& node(size_t index) const;
  /// The values that instruction `index` computes, by argument of InstructionEvent; those without a name are left out.
  /// Of a delegate's call all arguments, since the file does not say which it writes.
  const std::vector<std::pair<size_t, std::string>>& results(size_t index) const;
  /// Adds the names of all of these, within delegates too, with the nodes that compute them.
  void collect(std::map<std::string, std::string>* names) const;
  /// Of the nested program that instruction `index` runs; null where it runs none that can be read.
  const NodeNames* inside(size_t index) const;

 private:
  struct Entry {
    std::string node;
    std::vector<std::pair<size_t, std::string>> results;
    std::shared_ptr<const NodeNames> inside;
  };

  std::vector<Entry> entries_;
};

}  // namespace berth::tool
