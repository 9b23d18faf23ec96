// Calibrating: runs a method on samples to learn what its values are.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "base/failure.h"
#include "compiler/eval/array.h"
#include "compiler/quantize/insert.h"

namespace berth::quantize {

using Arrays = std::vector<eval::Array>;

/// Runs a method: its outputs for its inputs, all tensors in row-major order.
using Run = std::function<Expected<Arrays>(const Arrays& inputs)>;
/// Makes ready to run the method of this name.
using Prepare = std::function<Expected<Run>(const ir::Module& module, const std::string& method)>;

/// By the evaluator (compiler/eval/evaluate.h): slow, and the same everywhere.
Expected<Run> evaluated(const ir::Module& module, const std::string& method);

/// Inputs to learn from.
struct Samples {
  size_t count = 0;
  std::function<Expected<Arrays>(size_t sample)> read;
};

/// The elements of an array of f32.
Span<const float> floats_of(const eval::Array& array);

/// The range of each point's value over all samples. With another method than kMinMax all samples are run twice.
Expected<std::map<ir::ValueId, Range>> find_ranges(const ir::Module& module, const std::string& method,
                                                   const Choice& choice, const Samples& samples, const Prepare& prepare,
                                                   Method how, double percentile);

/// What rounding does to a layer by itself, on inputs that are not rounded.
struct LayerError {
  std::vector<float> mean;  // of the rounded results, minus the layer's own: one number for each channel
  double sqnr = 0;          // in dB, as in OutputError
};

/// Of each layer, in order.
Expected<std::vector<LayerError>> find_layer_errors(const ir::Module& module, const std::string& method,
                                                    const Choice& choice, const PointScales& scales,
                                                    const Samples& samples, const Prepare& prepare);

/// How far outputs are from those that they should be equal to.
struct OutputError {
  double largest = 0;  // absolute
  /// Signal to noise in dB, of the worst output: 10 log10(sum of squares / sum of squared errors). Infinite without an
  /// error; minus infinity where a finite number became another kind.
  double sqnr = 0;
};

/// Of the outputs of f32 that `run` gives for the samples; `expected` has those that they should be.
Expected<OutputError> find_output_error(const Run& run, const Samples& samples, const std::vector<Arrays>& expected);

}  // namespace berth::quantize
