// For tests of this room: what is wrong with a text.
#pragma once

#include <string>

#include "compiler/ir/parse.h"

namespace berth::ir {

/// The error of parsing `text` as the file "t", "" if there is none.
inline std::string error_of(const std::string& text) {
  const auto module = parse(text, "t");
  return module.ok() ? "" : module.error().text();
}

}  // namespace berth::ir
