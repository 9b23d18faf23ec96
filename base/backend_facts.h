// Facts about a delegate that follow from its backend's name: the side effects of its calls, and requirements that no
// program file records. Programs may call backends that Berth does not know, such as ExecuTorch's XNNPACK or a vendor's
// chip. The compiler, the replanner and the checks share these functions, so that they apply the same rules.
#pragma once

#include <cstdint>

namespace berth {

/// What the names of backends for nested programs begin with: Berth's own, and those of applications.
inline constexpr char kNestedPrefix[] = "berth.";

/// Whether payloads of `backend` are nested programs (format/nested.h), as those of "berth.cpu" and "berth.sim" are.
/// A call of one has no effect but its results; the effects of a payload of any other backend are unknown.
bool runs_nested_programs(const char* backend);

/// The alignment, in bytes, of a delegate's inputs and outputs within their arena. ExecuTorch's planner aligns every
/// tensor so, and backends may rely on it.
inline constexpr int64_t kDelegateAlignment = 16;

/// The same for arenas of the device that delegates of `backend` run on: more where its kernels are faster so, 64 for
/// the vectorised ones of "berth.cpu".
int64_t delegate_alignment(const char* backend);

/// Padding, in bytes, after the last value of each arena of a method that calls `backend`; 0 for most. XNNPACK's
/// kernels load whole vectors and so read past the ends of tensors. ExecuTorch (exir/memory_planning.py) pads each
/// arena of a graph that calls a backend with "xnnpack" in its name, in any case, by 64 bytes (kXnnpackOverread); so
/// does Berth.
int64_t bytes_behind_arenas(const char* backend);

}  // namespace berth
