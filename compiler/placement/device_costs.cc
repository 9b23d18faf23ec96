#include "compiler/placement/device_costs.h"

#include <algorithm>
#include <cmath>

namespace berth::placement {
namespace {

double rate_at(const std::vector<RateAt>& rates, double work) {
  const auto above = std::find_if(rates.begin(), rates.end(), [&](const RateAt& rate) { return rate.work >= work; });
  if (above == rates.end()) return rates.back().second;
  if (above == rates.begin()) return rates.front().second;
  const RateAt& below = above[-1];
  const double part = std::log(work / below.work) / std::log(above->work / below.work);
  return below.second * std::pow(above->second / below.second, part);
}

constexpr double kMostFigure = 1e18;
constexpr double kLeastFigure = 1e-18;

Status check_figure(const std::string& target, const std::string& what, double figure, bool may_be_zero) {
  if (std::isfinite(figure) && figure < kMostFigure && (figure >= kLeastFigure || (may_be_zero && figure == 0))) {
    return Done{};
  }
  return Failure{Error::kInvalidArgument, "costs of " + target + ": " + what,
                 std::string("expected ") + (may_be_zero ? "zero, or " : "") + "a number from 1e-18 to below 1e18"};
}

Status check_rates(const std::string& target, const std::string& what, const std::vector<RateAt>& rates) {
  double before = 0;
  for (const RateAt& rate : rates) {
    BERTH_TRY(check_figure(target, what, rate.work, false));
    BERTH_TRY(check_figure(target, what, rate.second, false));
    if (rate.work > before) {
      before = rate.work;
      continue;
    }
    return Failure{Error::kInvalidArgument, "costs of " + target + ": " + what, "expected rates by rising work"};
  }
  if (!rates.empty()) return Done{};
  return Failure{Error::kInvalidArgument, "costs of " + target + ": " + what, "expected a rate, found none"};
}

}  // namespace

const char* to_string(WorkKind kind) {
  switch (kind) {
    case WorkKind::kProduct: return "product";
    case WorkKind::kConvolution: return "convolution";
    case WorkKind::kDepthwise: return "depthwise";
    case WorkKind::kElementwise: return "elementwise";
    case WorkKind::kReduction: return "reduction";
    case WorkKind::kCount: break;
  }
  return "?";
}

std::vector<WorkKind> work_kinds() {
  return {WorkKind::kProduct, WorkKind::kConvolution, WorkKind::kDepthwise, WorkKind::kElementwise,
          WorkKind::kReduction};
}

Status check_costs(const DeviceCosts& costs) {
  const std::string& target = costs.target;
  BERTH_TRY(check_figure(target, "call", costs.call_seconds, true));
  BERTH_TRY(check_figure(target, "operator", costs.operator_seconds, true));
  BERTH_TRY(check_figure(target, "copy to it", costs.to_device.seconds, true));
  BERTH_TRY(check_figure(target, "copy to it", costs.to_device.bytes_per_second, false));
  BERTH_TRY(check_figure(target, "copy from it", costs.from_device.seconds, true));
  BERTH_TRY(check_figure(target, "copy from it", costs.from_device.bytes_per_second, false));
  for (const WorkKind kind : work_kinds()) BERTH_TRY(check_rates(target, to_string(kind), costs.rates[kind]));
  return Done{};
}

Expected<DeviceCosts> costs_of(const std::string& target, const std::vector<DeviceCosts>& given) {
  for (const DeviceCosts& costs : given) {
    if (costs.target == target) return costs;
  }
  const DeviceCosts* estimate = estimated_costs(std::string_view(target).substr(0, target.find(':')));
  if (estimate == nullptr) {
    return Failure{Error::kNotFound, "costs of " + target,
                   "there is no measurement and no estimate of this target; berth tune " + target + " measures it"};
  }
  DeviceCosts costs = *estimate;
  costs.target = target;
  return costs;
}

double seconds_of_work(const Work& work, const DeviceCosts& costs) {
  double seconds = 0;
  if (work.operations > 0) seconds = work.operations / rate_at(costs.rates[work.kind], work.operations);
  if (work.bytes > 0) {
    const WorkKind memory = work.operations > 0 ? WorkKind::kElementwise : work.kind;
    seconds = std::max(seconds, work.bytes / rate_at(costs.rates[memory], work.bytes));
  }
  return seconds;
}

double seconds_of(const Work& work, const DeviceCosts& costs) {
  return costs.operator_seconds + seconds_of_work(work, costs);
}

double seconds_of(const CopyCosts& copy, double bytes) { return copy.seconds + bytes / copy.bytes_per_second; }

}  // namespace berth::placement
