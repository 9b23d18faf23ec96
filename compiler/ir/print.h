// The text form of the IR (docs/ir.md). What prints parses back to an equal module: parse(print(m)) prints the same.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace berth::ir {

struct PrintOptions {
  /// Constants larger than this many bytes are written as `file("path", offset, size)` when they lie in a mapped file,
  /// else as `hex"…"`. With elide they are written as `...`, which reads well and does not parse back.
  bool elide = false;
};

std::string print(const Module& module, const PrintOptions& options = {});
std::string print(const Module& module, const Method& method, const Node& node);
std::string print(const Type& type, const Symbols& symbols);

}  // namespace berth::ir
