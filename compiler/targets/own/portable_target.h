// The target `portable`: the program itself. What it takes stays outside of delegates, on the host.
#pragma once

#include "plugin/target.h"

namespace berth::targets::own {

class PortableTarget final : public plugin::NestedTarget {
 public:
  PortableTarget() : NestedTarget("portable", nullptr, 0) { take_all(); }
};

}  // namespace berth::targets::own
