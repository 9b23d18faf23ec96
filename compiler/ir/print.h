// The text form of the IR (docs/ir.md). What prints parses back to an equal module: parse(print(m)) prints the same.
#pragma once

#include <string>

#include "compiler/ir/module.h"

namespace berth::ir {

struct PrintOptions {
  /// Constants of one repeated value and of at most this many elements are written as numbers; others as
  /// `file("path", offset, size)` when they lie in a mapped file, else as `hex"…"`.
  size_t most_numbers = 16;
  /// Writes `...` for those others. Easier to read, but the text does not parse back.
  bool elide = false;
  /// Whether constants may be references to files. If not, they are written as `hex"…"`, so that the text is complete.
  bool files = true;
};

/// Constants that no method mentions are left out.
std::string print(const Module& module, const PrintOptions& options = {});
/// One node with its regions, as it stands in a method; ends with a newline.
std::string print(const Module& module, const Method& method, const Node& node);
/// `f32[n,64]{1,0}@cuda:0`; the device is left out on the cpu.
std::string print(const Type& type, const Symbols& symbols);

}  // namespace berth::ir
