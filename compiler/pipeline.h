// The passes that a compilation runs, in order: one list, from the importer's module to the planner's.
#pragma once

#include <vector>

#include "compiler/passes/pipeline.h"
#include "compiler/placement/options.h"

namespace berth {

/// In this order:
///
///   passes::pipeline()     canonical form: simplify, fold, remove what is equal or unread
///   check_elements         every operator has elements of types that it takes
///   placement_passes()     partition, devices of values, copies between devices
///   fuse::fuse_passes()    operator fusion inside delegates; left out when `fusion` is false
///   compile_delegates      targets that compile what they take do so
///
/// `options` must outlive the list. Run it on one module, once.
std::vector<passes::Pass> pipeline(const placement::Options& options, bool fusion);

}  // namespace berth
