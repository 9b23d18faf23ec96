// What is in the banks: which body of a problem lies in which bank, and where.
#pragma once

#include <cstdint>
#include <vector>

namespace berth::packing {

/// One element for each body of BankBodies.
struct Filling {
  std::vector<int32_t> banks;
  std::vector<int64_t> positions;
  int64_t cost = 0;
};

}  // namespace berth::packing
