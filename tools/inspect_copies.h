// The copies between devices of a program, as `berth inspect` shows them.
#pragma once

#include "base/json.h"
#include "format/schema.h"

namespace berth::tool {

/// The instructions that copy between devices, by direction, each counted once. REQUIRES: the file was verified.
Json copies_json(const fb::ExecutionPlan& method);

}  // namespace berth::tool
