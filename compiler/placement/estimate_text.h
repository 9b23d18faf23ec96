// What `--why partition` says of methods that are placed by cost: what parts take where they are, and elsewhere.
#pragma once

#include <string>

#include "compiler/passes/pass.h"
#include "compiler/placement/by_cost.h"
#include "compiler/placement/group.h"

namespace berth::placement {

/// "1.23 ms", "45.0 us", "2.10 s".
std::string time_text(double seconds);

/// The time in all, and what it would be with all on one target; nothing where no method is placed by cost.
void remark_estimate(const CostEstimate& estimate, const Options& options, const passes::Options& pass_options);

/// ": vulkan:0 12.0 us, cpu 80.0 us": the targets that take the node; empty where none does, and for a method that is
/// not placed by cost.
std::string node_estimate(const MethodEstimate& estimate, const Options& options, ir::NodeId node);

/// " on vulkan:0: 34 nodes, 1.20 ms, 100 us to get there, 50.0 us to leave; on cpu 8.30 ms"; empty as above.
std::string part_estimate(const MethodEstimate& estimate, const Options& options, const ir::Method& method,
                          const Group& group);

/// `partition: text`, with the method's name where others have it.
void remark_line(const passes::Options& pass_options, const ir::Method& method, const std::string& text);

}  // namespace berth::placement
