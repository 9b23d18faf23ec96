// Running modules fast: compiled for this machine's processor, in memory.
#pragma once

#include <string>

#include "compiler/quantize/calibrate.h"

namespace berth::tool {

/// As quantize::evaluated(), by a program for target `cpu` that runs on so many threads. Its kernels round otherwise
/// than the evaluator's, in the last bits.
Expected<quantize::Run> compiled(const ir::Module& module, const std::string& method, int threads);

}  // namespace berth::tool
