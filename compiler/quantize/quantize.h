// Quantising: a model of f32 becomes one that computes convolutions and matrix products on integers of 8 bits, with the
// scales that samples of its inputs give.
//
//     BERTH_ASSIGN_OR_RETURN(quantize::Report report, quantize::quantize(module, "forward", samples, {}));
//
// compiler/quantize/choose.h says which nodes, insert.h what becomes of them; docs/quantize.md is the manual.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/quantize/calibrate.h"

namespace berth::quantize {

struct Options {
  Method method = Method::kMinMax;
  double percentile = 99.99;  // of kPercentile: the share that is kept, in %
  DType activations = DType::kU8;
  bool bias_correction = true;
  /// Layers that stay in f32: names or patterns of fnmatch(3), of the node of the model or the result.
  std::vector<std::string> keep;
  /// If an output is further from that of f32 on the first `measured` samples, the layers that do the most to it stay
  /// in f32, as few as it takes.
  std::optional<double> max_error;
  std::optional<double> min_sqnr;
  size_t measured = 16;
  /// Measures what each layer does to the outputs, even where no bound asks for it.
  bool sensitivity = false;
  Prepare prepare = evaluated;
};

enum class State : uint8_t {
  kInteger,    // in 8 bits
  kKept,       // in f32: Options::keep
  kSensitive,  // in f32: because of a bound
};

struct LayerReport {
  std::string name;
  std::string op;  // "aten::convolution"
  State state = State::kInteger;
  Scale input;                       // of kInteger
  double sqnr = 0;                   // of this layer's result, on inputs that are not rounded; of kInteger
  std::optional<OutputError> alone;  // of the model's outputs, with this layer alone in 8 bits; where it was measured
  int64_t weight_bytes = 0;          // in f32
};

struct Report {
  std::vector<LayerReport> layers;  // all that can be in 8 bits, in order
  size_t rounded_values = 0;        // activations
  OutputError error;                // of the outputs, on the first Options::measured samples
  int64_t bytes_before = 0;         // of the constants
  int64_t bytes_after = 0;
  bool within = true;  // whether the bounds hold
};

/// Simplifies `module` as compiling does, and quantises `method`. InvalidArgument: no samples, no such method, no
/// layer, a pattern of Options::keep that no layer matches, weights that are not finite. Failures of runs.
Expected<Report> quantize(ir::Module& module, const std::string& method, const Samples& samples,
                          const Options& options);

}  // namespace berth::quantize
