// Rules of shape arithmetic: an ONNX operator on known elements. A rule returns nothing if a result is undecidable,
// such as whether a symbol equals 4; the node is then imported like any other.
#pragma once

#include "base/span.h"
#include "compiler/import/onnx/node_context.h"

namespace berth::onnx {

/// One Known for each output, or nothing.
using KnownResult = std::optional<std::vector<Known>>;

struct KnownRule {
  std::string_view name;
  KnownResult (*evaluate)(NodeContext& n, const std::vector<Known>& in);
};

/// Rules that compute with elements.
Span<const KnownRule> known_arithmetic_rules();
/// Rules that pick, join and repeat elements.
Span<const KnownRule> known_layout_rules();

/// A result of one output.
KnownResult one_known(Known known);

}  // namespace berth::onnx
