// The target `cpu`: delegates on the host, for CpuBackend (backends/cpu/cpu_backend.h).
#pragma once

#include "plugin/target.h"

namespace berth::targets::own {

class CpuTarget final : public plugin::NestedTarget {
 public:
  CpuTarget() : NestedTarget("cpu", "berth.cpu", 0) {
    take_all();
    table_.alignment = 64;  // a cache line, and a register of AVX-512
    table_.fuses = 1;
    table_.channels_last = 1;
    table_.packs_weights = 1;
  }
};

}  // namespace berth::targets::own
