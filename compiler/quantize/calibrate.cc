#include "compiler/quantize/calibrate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "compiler/eval/evaluate.h"

namespace berth::quantize {
namespace {

ir::Method* find(ir::Module& module, const std::string& name) {
  for (ir::Method& method : module.methods) {
    if (method.name == name) return &method;
  }
  return nullptr;
}

// A method that gives further values behind its outputs, and what it takes.
class Probe {
 public:
  static Expected<Probe> make(ir::Module module, const std::string& method, const std::vector<ir::ValueId>& values,
                              const Prepare& prepare) {
    Probe probe;
    ir::Method& probed = *find(module, method);
    for (ir::ValueId value : values) {
      const auto& inputs = probed.body.inputs;
      const auto input = std::find(inputs.begin(), inputs.end(), value);
      probe.places_.push_back(input != inputs.end() ? Place{true, static_cast<size_t>(input - inputs.begin())}
                                                    : Place{false, probed.body.outputs.size()});
      if (input == inputs.end()) probed.body.outputs.emplace_back(value);
    }
    BERTH_ASSIGN_OR_RETURN(probe.run_, prepare(module, method));
    return probe;
  }

  // Calls `f(k, array)` for the k-th value.
  template <typename F>
  Status run(const Samples& samples, size_t sample, F&& f) const {
    BERTH_ASSIGN_OR_RETURN(const Arrays inputs, samples.read(sample));
    BERTH_ASSIGN_OR_RETURN(const Arrays outputs, run_(inputs));
    for (size_t k = 0; k < places_.size(); ++k) {
      f(k, places_[k].is_input ? inputs[places_[k].index] : outputs[places_[k].index]);
    }
    return Done{};
  }

 private:
  struct Place {
    bool is_input;
    size_t index;
  };
  std::vector<Place> places_;
  Run run_;
};

double decibels(double signal, double noise) {
  return noise == 0 ? std::numeric_limits<double>::infinity() : 10 * std::log10(signal / noise);
}

// The sums that a LayerError is made of.
class ErrorSums {
 public:
  ErrorSums(int channels, size_t count) : channels_(channels), sums_(count) {}

  void add(const eval::Array& expected, const eval::Array& actual) {
    const Span<const float> a = floats_of(expected);
    const Span<const float> b = floats_of(actual);
    const int rank = static_cast<int>(expected.sizes.size());
    size_t inner = 1;
    for (int d = (channels_ < 0 ? channels_ + rank : channels_) + 1; d < rank; ++d) inner *= expected.sizes[d];
    for (size_t i = 0; i < a.size(); ++i) {
      const double error = static_cast<double>(b[i]) - a[i];
      if (!std::isfinite(error)) continue;
      sums_[i / inner % sums_.size()] += error;
      signal_ += static_cast<double>(a[i]) * a[i];
      noise_ += error * error;
    }
    elements_ += a.size();
  }

  LayerError result() const {
    LayerError out;
    out.sqnr = decibels(signal_, noise_);
    const double each = static_cast<double>(elements_) / static_cast<double>(sums_.size());
    for (double sum : sums_) out.mean.push_back(each > 0 ? static_cast<float>(sum / each) : 0);
    return out;
  }

 private:
  int channels_;
  std::vector<double> sums_;
  size_t elements_ = 0;
  double signal_ = 0;
  double noise_ = 0;
};

}  // namespace

Span<const float> floats_of(const eval::Array& array) {
  return {reinterpret_cast<const float*>(array.bytes.data()), array.bytes.size() / sizeof(float)};
}

Expected<Run> evaluated(const ir::Module& module, const std::string& method) {
  auto own = std::make_shared<ir::Module>(module);
  return Run([own, method](const Arrays& inputs) -> Expected<Arrays> {
    std::vector<eval::Item> items;
    for (const eval::Array& input : inputs) items.emplace_back(std::in_place_type<eval::Array>, input);
    BERTH_ASSIGN_OR_RETURN(const std::vector<eval::Item> outputs,
                           eval::evaluate(*own, *own->find_method(method), items));
    Arrays arrays;
    for (const eval::Item& output : outputs) {
      const auto* array = std::get_if<eval::Array>(&output);
      arrays.push_back(array == nullptr ? eval::Array{DType::kBool, {0}, {}, {}} : *array);
    }
    return arrays;
  });
}

Expected<std::map<ir::ValueId, Range>> find_ranges(const ir::Module& module, const std::string& method,
                                                   const Choice& choice, const Samples& samples, const Prepare& prepare,
                                                   Method how, double percentile) {
  std::vector<ir::ValueId> values;
  for (const Point& point : choice.points) values.push_back(point.value);
  BERTH_ASSIGN_OR_RETURN(const Probe probe, Probe::make(module, method, values, prepare));
  std::vector<Extremes> extremes(values.size());
  for (size_t i = 0; i < samples.count; ++i) {
    BERTH_TRY(probe.run(samples, i, [&](size_t k, const eval::Array& array) { extremes[k].add(floats_of(array)); }));
  }
  const bool nothing = std::all_of(extremes.begin(), extremes.end(), [](const Extremes& one) { return one.empty(); });
  if (nothing && !extremes.empty()) {
    return Failure{Error::kInvalidArgument, "samples", "no value has a finite number in any of them; are they NaN?"};
  }
  std::vector<Histogram> histograms;
  for (const Extremes& one : extremes) histograms.emplace_back(one.range());
  for (size_t i = 0; how != Method::kMinMax && i < samples.count; ++i) {
    BERTH_TRY(probe.run(samples, i, [&](size_t k, const eval::Array& array) { histograms[k].add(floats_of(array)); }));
  }
  std::map<ir::ValueId, Range> ranges;
  for (size_t k = 0; k < values.size(); ++k) ranges[values[k]] = histograms[k].range(how, percentile);
  return ranges;
}

Expected<std::vector<LayerError>> find_layer_errors(const ir::Module& module, const std::string& method,
                                                    const Choice& choice, const PointScales& scales,
                                                    const Samples& samples, const Prepare& prepare) {
  ir::Module both = module;
  ir::Method& probed = *find(both, method);
  std::vector<ir::ValueId> values;
  std::vector<ErrorSums> sums;
  for (const Layer& layer : choice.layers) {
    values.push_back(probed.node(layer.node).results[0]);
    const ir::Dim channels = both.constants[layer.weight].type.shape[layer.channels];
    sums.emplace_back(layer.result_channels, static_cast<size_t>(channels.value));
  }
  BERTH_ASSIGN_OR_RETURN(const std::vector<ir::ValueId> rounded, insert_beside(both, probed, choice, scales));
  values.insert(values.end(), rounded.begin(), rounded.end());
  BERTH_ASSIGN_OR_RETURN(const Probe probe, Probe::make(std::move(both), method, values, prepare));
  for (size_t i = 0; i < samples.count; ++i) {
    Arrays own(sums.size());
    BERTH_TRY(probe.run(samples, i, [&](size_t k, const eval::Array& array) {
      if (k < own.size()) {
        own[k] = array;
      } else {
        sums[k - own.size()].add(own[k - own.size()], array);
      }
    }));
  }
  std::vector<LayerError> errors;
  for (const ErrorSums& one : sums) errors.push_back(one.result());
  return errors;
}

Expected<OutputError> find_output_error(const Run& run, const Samples& samples, const std::vector<Arrays>& expected) {
  OutputError worst;
  worst.sqnr = std::numeric_limits<double>::infinity();
  const size_t outputs = expected.empty() ? 0 : expected[0].size();
  std::vector<double> signal(outputs);
  std::vector<double> noise(outputs);
  for (size_t i = 0; i < expected.size(); ++i) {
    BERTH_ASSIGN_OR_RETURN(const Arrays inputs, samples.read(i));
    BERTH_ASSIGN_OR_RETURN(const Arrays actual, run(inputs));
    for (size_t k = 0; k < outputs; ++k) {
      if (expected[i][k].dtype != DType::kF32 || actual[k].bytes.size() != expected[i][k].bytes.size()) continue;
      const Span<const float> a = floats_of(expected[i][k]);
      const Span<const float> b = floats_of(actual[k]);
      for (size_t e = 0; e < a.size(); ++e) {
        if (a[e] == b[e] || (std::isnan(a[e]) && std::isnan(b[e]))) {
          if (std::isfinite(a[e])) signal[k] += static_cast<double>(a[e]) * a[e];
          continue;
        }
        const double error = std::fabs(static_cast<double>(b[e]) - a[e]);
        const bool counts = std::isfinite(a[e]) && std::isfinite(b[e]);
        worst.largest = std::max(worst.largest, counts ? error : std::numeric_limits<double>::infinity());
        noise[k] += counts ? error * error : std::numeric_limits<double>::infinity();
        if (counts) signal[k] += static_cast<double>(a[e]) * a[e];
      }
    }
  }
  for (size_t k = 0; k < outputs; ++k) worst.sqnr = std::min(worst.sqnr, decibels(signal[k], noise[k]));
  return worst;
}

}  // namespace berth::quantize
