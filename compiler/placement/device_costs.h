// How long work takes on a device, for placement by cost: measured by `berth tune`, or estimated.
//
// An operator takes the time of its launch and that of its work: arithmetic at the rate of its kind, or its bytes at
// the rate of memory, whichever is longer. A delegate's call and a copy between host and device take their own time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/enum_array.h"
#include "base/failure.h"

namespace berth::placement {

/// What kinds of operators have rates of their own.
enum class WorkKind : uint8_t {
  kProduct,      // matrix products; operations
  kConvolution,  // operations
  kDepthwise,    // convolutions with a group for each channel; operations
  kElementwise,  // what computes or moves elements one by one; bytes read and written
  kReduction,    // everything else: norms, softmax, pooling, sums; bytes read and written
  kCount,
};

/// "product", "convolution", "depthwise", "elementwise", "reduction".
const char* to_string(WorkKind kind);
/// All of them, in order.
std::vector<WorkKind> work_kinds();

/// What an operator has to do.
struct Work {
  WorkKind kind = WorkKind::kElementwise;
  double operations = 0;  // 0 where bytes are all that counts
  double bytes = 0;
};

/// How fast work of one size is done. Between two sizes the rate is interpolated in logarithms, so that more work never
/// takes less time because of it; below the smallest and above the largest size the rate is theirs.
struct RateAt {
  double work = 0;    // operations or bytes
  double second = 0;  // operations or bytes a second
};

struct CopyCosts {
  double seconds = 0;           // of a copy without bytes
  double bytes_per_second = 0;  // beyond that
};

struct DeviceCosts {
  std::string target;           // "vulkan:0"
  bool measured = false;        // else estimated
  double call_seconds = 0;      // of a delegate: handing the work over, and waiting for it
  double operator_seconds = 0;  // of an operator's launch
  CopyCosts to_device;          // from the host; of targets on the host they are not asked
  CopyCosts from_device;
  EnumArray<WorkKind, std::vector<RateAt>, WorkKind::kCount> rates;  // by size, none empty
};

/// Of one operator, its launch included.
double seconds_of(const Work& work, const DeviceCosts& costs);
/// Of its work alone.
double seconds_of_work(const Work& work, const DeviceCosts& costs);
/// Of a copy of `bytes`.
double seconds_of(const CopyCosts& copy, double bytes);

/// InvalidArgument, with the target and the figure, unless rates, and times that are not zero, are from 1e-18 to below
/// 1e18, rates stand by rising size, and each kind of work has one.
Status check_costs(const DeviceCosts& costs);

/// Those of this target among `given`, or the estimate for its kind. NotFound for a kind that has none.
Expected<DeviceCosts> costs_of(const std::string& target, const std::vector<DeviceCosts>& given);

/// Roughly the costs of targets of this kind ("cuda", "vulkan", "cpu", "portable", "sim") on a machine of today; null
/// for others. docs/devices.md says where the figures come from.
const DeviceCosts* estimated_costs(std::string_view kind);

}  // namespace berth::placement
