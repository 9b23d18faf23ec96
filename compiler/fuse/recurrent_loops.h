// What fuse_lstm_loops and fuse_gru_loops share: loops over the steps of a recurrent layer, as importers write them.
#pragma once

#include <functional>

#include "compiler/fuse/context.h"

namespace berth::fuse {

/// Whether the nodes of such a loop will be in a delegate of a target that has a kernel for all of it.
using LoopFilter = std::function<bool(const ir::Method& method, const ir::Node& loop)>;

/// The carried values of a loop (berth::scan).
const ir::ValueList& carried_of(const ir::Node& loop);

/// Whether the loop would do anything besides giving its results.
bool has_effects(const Context& context, const ir::Node& loop);

/// What a loop goes through row by row.
struct Scanned {
  ir::ValueId rows;
  bool reverse = false;  // from the last row to the first
};

/// That of which `row`, a value of the loop's body, is a row of.
std::optional<Scanned> scanned_rows(const Context& context, const ir::Node& loop, ir::ValueId row);

/// Whether the loop, which goes through `rows`, has one step at least, and as many as they are.
bool has_steps(const Context& context, const ir::Node& loop, ir::ValueId rows);

using FuseLoop = Expected<passes::Action> (*)(Context& context, ir::Builder& build, ir::NodeId loop);

/// Calls `fuse` for each loop that `fits`, and drops what turns the result of a recurrent layer round twice.
Expected<passes::Changed> rewrite_loops(ir::Module& module, const LoopFilter& fits, const passes::Options& options,
                                        FuseLoop fuse);

}  // namespace berth::fuse
