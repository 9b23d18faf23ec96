// Operators of one's own for the fuzz targets: sizes that the rule computes, lists of arguments and of results.
#pragma once

#include <memory>

#include "base/check.h"
#include "compiler/ir/own_operators.h"

namespace berth::fuzz {

inline Expected<std::vector<ir::TensorType>> one_like(const ir::OwnCall& call) {
  return std::vector<ir::TensorType>{call.tensor(0)};
}

inline Expected<std::vector<ir::TensorType>> grown(const ir::OwnCall& call) {
  ir::TensorType type = call.tensor(0);
  for (ir::Dim& dim : type.shape) {
    dim = call.sizes().floor_div(call.sizes().mul(call.sizes().add(dim, 1), std::get<ir::Dim>(call.argument(1))), 2);
  }
  return std::vector<ir::TensorType>{type};
}

inline Expected<std::vector<ir::TensorType>> two_of_list(const ir::OwnCall& call) {
  const auto& parts = std::get<ir::ValueList>(call.argument(1));
  if (parts.empty()) return Failure{Error::kInvalidArgument, "", "has no parts"};
  const ir::TensorType& type = call.query.method.tensor(parts[0]);
  return std::vector<ir::TensorType>{type, type};
}

inline Expected<std::vector<ir::TensorType>> copies(const ir::OwnCall& call) {
  const ir::Dim count = std::get<ir::Dim>(call.argument(1));
  if (!count.is_constant() || count.value < 0 || count.value > 8)
    return Failure{Error::kNotSupported, "", "copies 0 to 8"};
  return std::vector<ir::TensorType>(static_cast<size_t>(count.value), call.tensor(0));
}

inline std::shared_ptr<const ir::OperatorSet> own_operators() {
  static const std::shared_ptr<const ir::OperatorSet> kSet = [] {
    ir::OperatorSet set;
    BERTH_CHECK(set.add({"my::gain", "Tensor self, float factor=1 -> Tensor out", one_like, 1}).ok());
    BERTH_CHECK(set.add({"my::grow", "Tensor self, int parts -> Tensor out", grown}).ok());
    BERTH_CHECK(
        set.add({"my::blend",
                 "Tensor? bias, Tensor[] parts, float[] weights, int[]? signs=None, str mode='sum', bool twice=False "
                 "-> Tensor sum, Tensor half",
                 two_of_list})
            .ok());
    BERTH_CHECK(set.add({"my::copies", "Tensor self, int count -> Tensor[] out", copies, 0, true}).ok());
    return std::make_shared<const ir::OperatorSet>(std::move(set));
  }();
  return kSet;
}

}  // namespace berth::fuzz
