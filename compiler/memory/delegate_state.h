// State that delegates change where it lies: a cache of keys and values to which a call adds a row is not copied.
//
// A result of a call that becomes the next value of a state lies in the state's bytes when the delegate's region makes
// it in place of the input that has the old value. Input and output are then one value of the nested program
// (format/nested.h), and the call gives both the same address.
#pragma once

#include <vector>

#include "compiler/ir/module.h"
#include "compiler/memory/options.h"

namespace berth::memory {

/// The ports of node `call` of `method`, which calls a delegate.
///
/// Of a delegate whose region is compiled here: the method reads the state for this input alone, and the result is for
/// the state alone; in the region nothing reads the old value but a chain of operators that each may write over what
/// they change (class SELF in format/operators.def, as far as `options` allow that), and the last makes the result. Of
/// a nested program that was compiled before: those that it says, whatever the method does with them.
std::vector<StatePort> find_state_ports(const ir::Module& module, const ir::Method& method, ir::NodeId call,
                                        const MemoryOptions& options);

/// The values that the inputs of `ports` become in the method of a region module (region_module.h), each with its
/// input: the links of the chains above. REQUIRES: the ports were found in the region that `method` is made of.
struct StateLink {
  ir::ValueId input;
  ir::ValueId value;
};
std::vector<StateLink> find_state_links(const ir::Method& method, const std::vector<StatePort>& ports);

}  // namespace berth::memory
