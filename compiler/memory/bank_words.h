// What delegates say of banks in their compile specs (base/delegate_specs.h): in which one their tensors lie.
#pragma once

#include <string>
#include <vector>

#include "compiler/memory/model.h"

namespace berth::memory {

struct BankWord {
  std::string who;  // "delegate @npu_0"
  int32_t bank;     // index into MemoryOptions::banks
  bool must;        // otherwise it should, where it fits
};

/// A word of the delegate of one call, of a buffer in an arena that holds no state.
struct BufferWord {
  BufferId buffer;
  BankWord word;
};

/// Those of all calls of delegates in the method, in the order of the nodes. Of a device without banks nothing counts.
/// NotFound when a tensor must lie in a bank that its device does not have; one that should is passed over.
Expected<std::vector<BufferWord>> find_buffer_words(const ir::Module& module, const ir::Method& method,
                                                    const MemoryModel& model, const MemoryOptions& options);

/// Those of the state of `device`, of all delegates of the module, so that all methods hear the same. NotFound as
/// above.
Expected<std::vector<BankWord>> find_state_words(const ir::Module& module, Device device, const MemoryOptions& options);

}  // namespace berth::memory
