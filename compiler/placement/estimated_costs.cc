// The costs of targets that were not measured: figures of the order of magnitude of a machine of today.
#include "compiler/placement/estimated_costs.h"

#include "compiler/placement/device_costs.h"

namespace berth::placement {
namespace {

constexpr double kMicrosecond = 1e-6;
constexpr double kGiga = 1e9;

// Of each kind, 10^9 operations or bytes a second at 10^5 of them, at 10^7 and at 10^9.
using Rates = double[3];
constexpr double kSizes[] = {1e5, 1e7, 1e9};

// The host while a device copies to its memory: it goes on, or waits, and then copies from one device to another go
// through its memory as well.
enum Host { kItself, kFree, kWaits };

struct Figures {
  const char* kind;
  double call;    // microseconds
  double launch;  // microseconds
  double copy;    // microseconds, each way
  double copied;  // 10^9 bytes a second
  Host host;
  Rates product;
  Rates convolution;
  Rates depthwise;
  Rates elementwise;
  Rates reduction;
};

// The host is one core with AVX2, as programs run on one thread unless more are asked for; what is small is in its
// caches. A GPU is one of the middle: small work leaves most of it idle, and what a launch, a call and a copy take is a
// matter of the driver more than of the card.
constexpr Figures kFigures[] = {
    {"portable", 0, 0.1, 0, 1, kItself, {2, 2, 2}, {1.5, 1.5, 1.5}, {1, 1, 1}, {4, 4, 4}, {2, 2, 2}},
    {"cpu", 0.3, 0.1, 0, 1, kItself, {60, 100, 100}, {60, 100, 100}, {40, 30, 20}, {100, 30, 12}, {15, 10, 8}},
    {"sim", 5, 0.2, 1, 5, kFree, {2, 2, 2}, {1.5, 1.5, 1.5}, {1, 1, 1}, {4, 4, 4}, {2, 2, 2}},
    {"cuda", 15, 3, 10, 12, kFree, {50, 1500, 8000}, {30, 1000, 6000}, {20, 400, 800}, {50, 400, 600}, {20, 200, 400}},
    {"vulkan", 60, 5, 20, 8, kWaits, {20, 500, 1500}, {15, 300, 1000}, {10, 150, 300}, {30, 150, 250}, {10, 80, 150}},
};

std::vector<RateAt> rates_of(const Rates& rates) {
  std::vector<RateAt> list;
  for (size_t i = 0; i < 3; ++i) list.push_back({kSizes[i], rates[i] * kGiga});
  return list;
}

DeviceCosts estimate_of(const Figures& figures) {
  DeviceCosts costs;
  costs.target = figures.kind;
  costs.call_seconds = figures.call * kMicrosecond;
  costs.operator_seconds = figures.launch * kMicrosecond;
  costs.to_device = {figures.copy * kMicrosecond, figures.copied * kGiga};
  costs.from_device = costs.to_device;
  costs.rates[WorkKind::kProduct] = rates_of(figures.product);
  costs.rates[WorkKind::kConvolution] = rates_of(figures.convolution);
  costs.rates[WorkKind::kDepthwise] = rates_of(figures.depthwise);
  costs.rates[WorkKind::kElementwise] = rates_of(figures.elementwise);
  costs.rates[WorkKind::kReduction] = rates_of(figures.reduction);
  return costs;
}

}  // namespace

const DeviceCosts* estimated_costs(std::string_view kind) {
  static const auto* const all = [] {
    auto* const made = new std::vector<DeviceCosts>;
    for (const Figures& figures : kFigures) made->push_back(estimate_of(figures));
    return made;
  }();
  for (const DeviceCosts& costs : *all) {
    if (costs.target == kind) return &costs;
  }
  return nullptr;
}

bool copies_through_host(std::string_view kind) {
  for (const Figures& figures : kFigures) {
    if (figures.kind == kind) return figures.host == kWaits;
  }
  return false;
}

bool begins_copies_to_host(std::string_view kind) {
  for (const Figures& figures : kFigures) {
    if (figures.kind == kind) return figures.host == kFree;
  }
  return false;
}

}  // namespace berth::placement
