// Banks: named pieces of a device's memory with capacities, such as the fast SRAM and the slow PSRAM of a
// microcontroller.
//
//     --bank sram=256K --bank psram=8M,slow
//
// Each bank is an arena of every method. A device of which one bank is named has no other memory: what does not fit
// into the first lies in the next. What lies where is decided by what it costs: each byte that a run moves in the k-th
// bank of a device counts k, and 16 more where the bank is slow.
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

struct MemoryBank {
  std::string name;
  Device device;
  int64_t capacity = packing::kUnlimited;  // bytes, padding behind the values included
  bool slow = false;                       // comes after all that are not
  /// Nodes of the device cannot read it: what waits there is copied out and in (spill.h). Counts as slow.
  bool far = false;
};

/// "256K": a number from 1, with K, M or G for the powers of 1024; -1 for anything else, more than packing::kMaxBytes
/// included.
int64_t parse_bytes(std::string_view text);

/// "sram=256K@mine:0", "psram=8M,slow", "dram,far": NAME[=BYTES][@DEVICE][,slow|,far]. The name is of letters, digits,
/// '_', '-' and '.'; the bytes are a number from 1, with K, M or G for the powers of 1024; without them the bank is
/// unbounded, without a device it is the host's. InvalidArgument for anything else.
Expected<MemoryBank> parse_bank(std::string_view text);

/// `conv*=sram`: values of this name, except state, lie in the bank.
struct BankPin {
  std::string glob;  // of fnmatch(3): * ? [a-z]
  std::string bank;
  std::string method = "";  // the method that it is for; empty: all
};

/// "GLOB=BANK"; the last '=' counts.
Expected<BankPin> parse_bank_pin(std::string_view text);

/// MemoryOptions::bank_of of these pins; the last that matches a value's name counts. Empty when there are none.
/// NotFound for a bank that is not among `banks`.
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

}  // namespace berth::memory
