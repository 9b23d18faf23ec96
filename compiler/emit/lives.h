// How long the bytes of each storage are wanted, in the instructions of the file.
#pragma once

#include <vector>

#include "compiler/emit/emit.h"
#include "compiler/emit/emit_method.h"

namespace berth::emit {

/// One a storage of the plan. REQUIRES: the steps up to the reading of outputs were begun.
std::vector<Life> lives_of(const Lifetimes& lifetimes, const plan::Plan& plan, const EmittedMethod& emitted);

}  // namespace berth::emit
