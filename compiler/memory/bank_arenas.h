// The arenas of a method whose devices have banks. For this room alone.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/memory/model.h"
#include "compiler/memory/options.h"

namespace berth::memory {

/// The order of devices in a file.
struct DeviceOrder {
  bool operator()(Device a, Device b) const { return std::tie(a.type, a.index) < std::tie(b.type, b.index); }
};

/// The banks of one device.
struct BankedDevice {
  std::vector<int32_t> ranked;          // indices into MemoryOptions::banks: the fast ones, the slow ones, the far ones
  std::map<int32_t, int32_t> space_of;  // of each bank: its arena
  std::map<int32_t, int64_t> room;      // of each bank: bytes for values that are not state
  int32_t state_space = -1;             // the arena of the device's state, when it has any

  /// The place of a bank in `ranked`; packing::kAnyBank for one that is not there.
  int32_t rank_of(int32_t bank) const;
};

struct BankArenas {
  std::vector<Arena> arenas;
  std::map<Device, BankedDevice, DeviceOrder> devices;  // those with banks
  std::vector<int32_t> moved;  // of each arena of the model: the one that it has become as a whole, or -1
};

/// The arenas of `model` by device, those of a device with banks replaced: its banks in their order, that of its state
/// behind the first.
BankArenas make_bank_arenas(const MemoryModel& model, const MemoryOptions& options);

/// State has addresses of its own and takes its bytes from a bank of its device: the one in which delegates say that it
/// must lie, or the first in which they say that it should and that holds it, or the first that holds it. `spaces`: of
/// each arena of the model, what its values take. OutOfResources when no bank does; InvalidArgument when delegates
/// say two.
Status place_state(const ir::Module& module, const MemoryModel& model, const MemoryOptions& options,
                   const std::vector<packing::SpaceUse>& spaces, BankArenas* out);

}  // namespace berth::memory
