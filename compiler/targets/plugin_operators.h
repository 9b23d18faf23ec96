// Operators that plug-ins bring, for the compiler: their schemas and shape rules.
#pragma once

#include <memory>

#include "base/span.h"
#include "compiler/ir/own_operators.h"
#include "plugin/load_plugin.h"

namespace berth {

/// The operators of `plugins` that have a shape rule, for ImportOptions::operators; null when there are none. A rule
/// that throws, gives sizes that cannot be, or another number of results than its schema, is a failure of the node that
/// has it. InvalidArgument, with the plug-in as place, for what OperatorSet::add() refuses, two plug-ins with one
/// operator among it.
Expected<std::shared_ptr<const ir::OperatorSet>> plugin_operators(Span<const Plugin* const> plugins);

}  // namespace berth
