// Runnable: a model or a program, ready to be run on arrays. Models are evaluated by the compiler's reference kernels,
// programs run as `berth run` runs them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/failure.h"
#include "compiler/import/options.h"
#include "tools/load_method.h"
#include "tools/samples.h"

namespace berth::tool {

/// Gets each value that is computed, by name, when it has been.
using ValueSink = std::function<void(const std::string& name, const Array& array)>;

struct RunnableRequest {
  LoadRequest load;      // of a program; of both, path and method
  ImportOptions import;  // of a model
  /// Whether values will be asked for. A model then goes through the passes of `berth compile` before targets, so that
  /// its names mean what they mean in the programs that are made of it.
  bool values = false;
};

/// Not thread-safe. State is kept from one run to the next.
class Runnable {
 public:
  virtual ~Runnable() = default;

  /// "evaluated", or "2 threads".
  virtual std::string how() const = 0;
  virtual const std::vector<Port>& inputs() const = 0;
  virtual const std::vector<std::string>& outputs() const = 0;
  /// The names that a ValueSink may get, with the nodes of the model that compute these values; only after a request
  /// for values. Empty where nothing is named.
  virtual std::map<std::string, std::string> values() const = 0;
  /// All files that were read.
  virtual std::vector<std::string> files() const = 0;

  /// The outputs for arrays that fit inputs(). `sink` may be null.
  virtual Expected<std::vector<Array>> run(const std::vector<Array>& inputs, const ValueSink* sink) = 0;
};

/// Opens a program, judged by its contents, or anything that load_model() reads. NotSupported for inputs that are not
/// tensors.
Expected<std::unique_ptr<Runnable>> open_runnable(const RunnableRequest& request);

}  // namespace berth::tool
