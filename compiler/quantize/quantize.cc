#include "compiler/quantize/quantize.h"

#include <fnmatch.h>

#include <algorithm>
#include <numeric>

#include "compiler/ir/text.h"
#include "compiler/passes/pipeline.h"

namespace berth::quantize {
namespace {

int64_t constant_bytes(const ir::Module& module) {
  int64_t bytes = 0;
  IdVector<ir::ConstantId, bool> seen(module.constants.size());
  for (const ir::Method& method : module.methods) {
    const IdVector<ir::ValueId, int> uses = ir::count_uses(method);
    for (ir::ValueId id : method.values.ids()) {
      const ir::Value& value = method.value(id);
      if (value.kind != ir::ValueKind::kConstant || uses[id] == 0 || seen[value.constant]) continue;
      seen[value.constant] = true;
      bytes += static_cast<int64_t>(module.constants[value.constant].blob.size());
    }
  }
  return bytes;
}

class Quantizer {
 public:
  Quantizer(const ir::Module& module, const std::string& method, const Samples& samples, const Options& options)
      : module_(module),
        name_(method),
        method_(*module.find_method(method)),
        samples_(samples),
        options_(options),
        candidates_(find_layers(module, method_)),
        states_(candidates_.size(), State::kInteger) {}

  Expected<Report> run(ir::Module* out) {
    if (candidates_.empty()) {
      return Failure{
          Error::kInvalidArgument, "method " + name_,
          "has neither a convolution nor a matrix product with a constant weight of f32, outside of recurrences"};
    }
    BERTH_TRY(keep());
    report_.bytes_before = constant_bytes(module_);
    BERTH_TRY(learn());
    BERTH_TRY(find_expected());
    BERTH_ASSIGN_OR_RETURN(ir::Module quantised, written(states_));
    BERTH_ASSIGN_OR_RETURN(report_.error, error_of(quantised));
    if (options_.sensitivity || !holds(report_.error)) BERTH_TRY(find_sensitivity());
    if (!holds(report_.error)) BERTH_TRY(leave_in_float(&quantised));
    report_.within = holds(report_.error);
    describe(quantised);
    *out = std::move(quantised);
    return std::move(report_);
  }

 private:
  // Options::keep.
  Status keep() {
    for (const std::string& pattern : options_.keep) {
      bool any = false;
      for (size_t i = 0; i < candidates_.size(); ++i) {
        const std::string& result = method_.value(method_.node(candidates_[i].node).results[0]).name;
        if (::fnmatch(pattern.c_str(), candidates_[i].name.c_str(), 0) != 0 &&
            ::fnmatch(pattern.c_str(), result.c_str(), 0) != 0) {
          continue;
        }
        states_[i] = State::kKept;
        any = true;
      }
      if (any) continue;
      std::string names;
      for (const Layer& layer : candidates_) names += (names.empty() ? "" : ", ") + layer.name;
      return Failure{Error::kInvalidArgument, "keep " + ir::quoted(pattern),
                     "is like no layer's name; there are: " + names};
    }
    return Done{};
  }

  std::vector<Layer> layers_in_8_bits(const std::vector<State>& states) const {
    std::vector<Layer> layers;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (states[i] == State::kInteger) layers.push_back(candidates_[i]);
    }
    return layers;
  }

  // Ranges and biases with all layers in 8 bits; with fewer, the values that are rounded are among these but for sums
  // of which another side is rounded then.
  Status learn() {
    Choice choice = choose(module_, method_, layers_in_8_bits(states_));
    add_results(&choice);
    BERTH_ASSIGN_OR_RETURN(
        ranges_, find_ranges(module_, name_, choice, samples_, options_.prepare, options_.method, options_.percentile));
    const PointScales scales = scales_of(choice, ranges_, options_.activations);
    BERTH_ASSIGN_OR_RETURN(const std::vector<LayerError> errors,
                           find_layer_errors(module_, name_, choice, scales, samples_, options_.prepare));
    for (size_t i = 0; i < errors.size(); ++i) {
      const Layer& layer = choice.layers[i];
      errors_[layer.node] = errors[i];
      if (!options_.bias_correction || !layer.takes_bias) continue;
      std::vector<float>& correction = corrections_[layer.node];
      for (const float mean : errors[i].mean) correction.push_back(-mean);
    }
    return Done{};
  }

  // All that layers and what stands between them may round, so that any choice of layers finds its ranges.
  void add_results(Choice* choice) const {
    std::vector<bool> has(method_.values.size());
    for (const Point& point : choice->points) has[point.value.index] = true;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      std::vector<State> alone(candidates_.size(), State::kKept);
      alone[i] = State::kInteger;
      if (!bounded() && !options_.sensitivity) break;
      for (const Point& point : choose(module_, method_, layers_in_8_bits(alone)).points) {
        if (has[point.value.index]) continue;
        has[point.value.index] = true;
        choice->points.push_back(point);
      }
    }
    std::stable_sort(choice->points.begin(), choice->points.end(),
                     [](const Point& a, const Point& b) { return a.value < b.value; });
  }

  Status find_expected() {
    BERTH_ASSIGN_OR_RETURN(const Run run, options_.prepare(module_, name_));
    const size_t count = std::min(samples_.count, std::max<size_t>(options_.measured, 1));
    for (size_t i = 0; i < count; ++i) {
      BERTH_ASSIGN_OR_RETURN(const Arrays inputs, samples_.read(i));
      BERTH_ASSIGN_OR_RETURN(Arrays outputs, run(inputs));
      expected_.push_back(std::move(outputs));
    }
    return Done{};
  }

  // The module with these layers in 8 bits.
  Expected<ir::Module> written(const std::vector<State>& states) {
    const Choice choice = choose(module_, method_, layers_in_8_bits(states));
    for (const Point& point : choice.points) BERTH_TRY(find_range(point));
    ir::Module out = module_;
    for (ir::Method& method : out.methods) {
      if (method.name != name_) continue;
      BERTH_TRY(insert(out, method, choice, scales_of(choice, ranges_, options_.activations), corrections_));
    }
    return out;
  }

  // A value that only this choice of layers rounds.
  Status find_range(const Point& point) {
    if (ranges_.count(point.value) != 0) return Done{};
    Choice one;
    one.points = {point};
    BERTH_ASSIGN_OR_RETURN(const auto found, find_ranges(module_, name_, one, samples_, options_.prepare,
                                                         options_.method, options_.percentile));
    ranges_.insert(found.begin(), found.end());
    return Done{};
  }

  Expected<OutputError> error_of(const ir::Module& module) const {
    BERTH_ASSIGN_OR_RETURN(const Run run, options_.prepare(module, name_));
    return find_output_error(run, samples_, expected_);
  }

  bool bounded() const { return options_.max_error.has_value() || options_.min_sqnr.has_value(); }

  bool holds(const OutputError& error) const {
    return !(options_.max_error.has_value() && error.largest > *options_.max_error) &&
           !(options_.min_sqnr.has_value() && error.sqnr < *options_.min_sqnr);
  }

  Status find_sensitivity() {
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (states_[i] != State::kInteger) continue;
      std::vector<State> alone(candidates_.size(), State::kKept);
      alone[i] = State::kInteger;
      BERTH_ASSIGN_OR_RETURN(const ir::Module module, written(alone));
      BERTH_ASSIGN_OR_RETURN(alone_[i], error_of(module));
    }
    return Done{};
  }

  // The least number of the most sensitive layers with which the bounds hold, by halving. With all of them in f32
  // nothing is left to miss a bound.
  Status leave_in_float(ir::Module* quantised) {
    std::vector<size_t> order;
    for (const auto& [i, error] : alone_) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return alone_.at(a).sqnr < alone_.at(b).sqnr; });
    size_t too_few = 0;
    size_t enough = order.size();
    const auto states_with = [&](size_t count) {
      std::vector<State> states = states_;
      for (size_t k = 0; k < count; ++k) states[order[k]] = State::kSensitive;
      return states;
    };
    while (enough - too_few > 1) {
      const size_t middle = too_few + (enough - too_few) / 2;
      BERTH_ASSIGN_OR_RETURN(const ir::Module module, written(states_with(middle)));
      BERTH_ASSIGN_OR_RETURN(const OutputError error, error_of(module));
      (holds(error) ? enough : too_few) = middle;
    }
    states_ = states_with(enough);
    BERTH_ASSIGN_OR_RETURN(*quantised, written(states_));
    BERTH_ASSIGN_OR_RETURN(report_.error, error_of(*quantised));
    return Done{};
  }

  void describe(const ir::Module& quantised) {
    const Choice choice = choose(module_, method_, layers_in_8_bits(states_));
    const PointScales scales = scales_of(choice, ranges_, options_.activations);
    report_.rounded_values = choice.points.size();
    report_.bytes_after = constant_bytes(quantised);
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const Layer& layer = candidates_[i];
      LayerReport one;
      one.name = layer.name;
      one.op = method_.node(layer.node).op->functional_name;
      one.state = states_[i];
      one.weight_bytes = static_cast<int64_t>(module_.constants[layer.weight].blob.size());
      if (one.state == State::kInteger) {
        one.input = scales.at(layer.input);
        one.sqnr = errors_.at(layer.node).sqnr;
      }
      const auto alone = alone_.find(i);
      if (alone != alone_.end()) one.alone = alone->second;
      report_.layers.push_back(std::move(one));
    }
  }

  const ir::Module& module_;
  std::string name_;
  const ir::Method& method_;
  const Samples& samples_;
  const Options& options_;
  std::vector<Layer> candidates_;
  std::vector<State> states_;
  std::map<ir::ValueId, Range> ranges_;
  Corrections corrections_;
  std::map<ir::NodeId, LayerError> errors_;
  std::vector<Arrays> expected_;
  std::map<size_t, OutputError> alone_;  // by candidate
  Report report_;
};

}  // namespace

Expected<Report> quantize(ir::Module& module, const std::string& method, const Samples& samples,
                          const Options& options) {
  if (samples.count == 0) return Failure{Error::kInvalidArgument, "samples", "there are none to calibrate with"};
  if (module.find_method(method) == nullptr) {
    return Failure{Error::kInvalidArgument, "method " + method, "there is no such method"};
  }
  BERTH_TRY(passes::run(passes::pipeline(), module, {}));
  ir::Module quantised;
  BERTH_ASSIGN_OR_RETURN(Report report, Quantizer(module, method, samples, options).run(&quantised));
  module = std::move(quantised);
  return report;
}

}  // namespace berth::quantize
