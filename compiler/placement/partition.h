// partition: makes delegates of what targets take.
//
// Every operator is given to a target (assign.h); what one target runs is gathered in maximal convex groups
// (clusters.h), and each group becomes one call of a delegate whose region holds its nodes. Branches and bodies of
// loops are partitioned by themselves; the control flow stays in the program. In a region
//
//   inputs      are the values that its nodes read and others make, one each, in the order in which they are read
//   outputs     are the values that others read, one each, in the order in which they are made
//   constants   are mentioned where they are used: the delegate has them, several may share one
//   state       is read and written outside: its value is an input like any other
//   symbols     that nodes need as numbers are dimensions of inputs. An input of the method that has a missing one is
//               taken as one more input; where there is none, the node stays outside (symbol-unknown)
//
// What makes bytes of a large input is a group of its own (entries.h). Groups that hold nothing but views, and that
// nothing on their device stands beside, are left out (views-only), and so are last views (last-view): of groups that
// compute in the program's own memory, and of others where nothing but the method's caller reads them, on the host.
// Delegates that are there already stay as they are, but that constants among their arguments move inside.
//
// Deterministic: the same module and options give the same text.
#pragma once

#include "compiler/passes/pass.h"
#include "compiler/placement/options.h"

namespace berth::placement {

/// `--why partition`: a line a node. Failures as assign(); and for a node that was asked to run on a target, and whose
/// sizes cannot be known there.
Expected<passes::Changed> partition(ir::Module& module, const Options& options, const passes::Options& pass_options);

}  // namespace berth::placement
