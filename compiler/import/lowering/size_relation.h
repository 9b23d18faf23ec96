// The text of a relation between sizes, as `--where` takes it: "H % 32 == 0", "W <= 2 * H".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/failure.h"
#include "compiler/ir/dim.h"

namespace berth::lowering {

/// The size of a name; nothing where there is none.
using SizeOfName = std::function<std::optional<ir::Dim>(const std::string& name)>;

/// A relation, or, without an operator between two sides, an expression that is `a`, of the kind kNamed. Failures have
/// no place and say what is wrong: InvalidArgument.
Expected<ir::SizeRelation> parse_size_relation(std::string_view text, ir::Symbols& symbols, const SizeOfName& size_of);

}  // namespace berth::lowering
