// What the name of a delegate's backend says about it: what its calls may do besides giving results, and what it relies
// on although no program file says so. Programs may call backends that Berth does not know, such as ExecuTorch's
// XNNPACK or a vendor's chip. Compiler, replanner and checks all ask here, so that they keep the same rules for them.
#pragma once

#include <cstdint>

namespace berth {

/// Whether payloads of `backend` are nested programs (format/nested.h), as those of "berth.cpu" and "berth.sim" are.
/// A call of one has no effect but its results; the effects of a payload of any other backend are unknown.
bool is_berths_own(const char* backend);

/// What a delegate reads or gives starts at a multiple of this many bytes in its arena. ExecuTorch's planner gives
/// every tensor such a place, so backends may rely on it.
inline constexpr int64_t kDelegateAlignment = 16;

/// Bytes that follow the last value of each arena in use of a method that calls `backend`; 0 for most. XNNPACK's
/// kernels load whole vectors and so read past the ends of tensors. ExecuTorch (exir/memory_planning.py) leaves 64
/// bytes behind each arena of a graph that calls a backend with "xnnpack" in its name, in any case; so does Berth.
int64_t bytes_behind_arenas(const char* backend);

}  // namespace berth
