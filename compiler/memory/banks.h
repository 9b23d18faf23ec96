// Banks: named pieces of a device's memory with capacities, such as the fast SRAM and the slow PSRAM of a microcontroller.
//
//     --bank sram=256K --bank psram=8M,slow
//
// Each bank is an arena of every method. A device of which one bank is named has no other memory: what does not fit into
// the first lies in the next. What lies where is decided by what it costs: each byte that a run moves in the k-th bank
// of a device counts k, and 16 more where the bank is slow.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/device.h"
#include "base/failure.h"
#include "compiler/ir/module.h"
#include "compiler/memory/packing/problem.h"

namespace berth::memory {

struct MethodPlan;
struct MemoryOptions;

struct MemoryBank {
  std::string name;
  Device device;
  int64_t capacity = packing::kUnlimited;  // bytes, padding behind the values included
  bool slow = false;                       // comes after all that are not
  bool far =
      false;  // nodes of the device cannot read it: what waits there is copied out and in (spill.h); counts as slow
};

/// "sram=256K@mine:0", "psram=8M,slow", "dram,far": NAME[=BYTES][@DEVICE][,slow|,far]. The name is of letters, digits, '_', '-'
/// and '.'; the bytes are a number from 1, with K, M or G for the powers of 1024; without them the bank is unbounded,
/// without a device it is the host's. InvalidArgument for anything else.
Expected<MemoryBank> parse_bank(std::string_view text);

/// `conv*=sram`: values of this name lie in the bank, those that are state apart.
struct BankPin {
  std::string glob;  // of fnmatch(3): * ? [a-z]
  std::string bank;
  std::string method = "";  // the method that it is for; empty: all
};

/// "GLOB=BANK"; the last '=' counts.
Expected<BankPin> parse_bank_pin(std::string_view text);

/// MemoryOptions::bank_of of these pins; the last that matches a value's name counts. Empty when there are none. NotFound
/// for a bank that is not among `banks`.
Expected<std::function<int32_t(const ir::Method& method, ir::ValueId value)>> bank_of_pins(
    std::vector<BankPin> pins, const std::vector<MemoryBank>& banks);

/// NotFound for a pin whose glob matches no tensor of its methods.
Status check_pins(const std::vector<BankPin>& pins, const ir::Module& module);

/// What the values of one device cost where they lie.
struct BankCost {
  Device device;
  int64_t cost = 0;         // the sum over all values: bytes that a run moves, times what one costs in its bank
  int64_t lower_bound = 0;  // no other choice of banks costs less in this schedule
};

/// `plan` with the arenas of devices that have banks replaced by those banks: all of them, in the order of
/// MemoryOptions::banks, in every method, so that a bank has the same memory id in each; and state, in an arena of its
/// own behind the first, in the first bank that holds it. Of a device without banks nothing changes.
///
/// What delegates say in their compile specs counts as well (bank_words.h): what must lie in a bank does, like what is
/// pinned; what should, does as far as all else fits.
///
/// OutOfResources when something fits nowhere: how many bytes are missing, and which values are alive then.
/// InvalidArgument for two banks of one name, a bank of a device on which nothing lies, a device with far banks alone, a
/// value pinned to a far bank that spill_to_far_banks() has not put there, a value pinned to a bank of
/// another device, and one that pins and delegates want in two. NotFound when a delegate must have a tensor in a bank
/// that its device does not have.
Expected<MethodPlan> use_banks(const ir::Module& module, const ir::Method& method, const MemoryOptions& options,
                               MethodPlan plan);

}  // namespace berth::memory
