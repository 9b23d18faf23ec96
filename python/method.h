// MethodObject: a loaded method that Python calls with arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "python/arenas.h"
#include "python/arrays.h"
#include "python/new_arrays.h"
#include "python/program.h"
#include "python/turn.h"
#include "runtime/host/host_method.h"
#include "runtime/observer.h"

namespace berth::python {

struct MethodRequest {
  std::string name;
  int threads = 1;
  bool copy = true;       // results in memory of their own; otherwise views
  bool resident = false;  // HostOptions::resident
};

/// Called by any thread, one at a time, those of methods with the same arenas included: others wait. The interpreter's
/// lock is released while inputs are copied and while the method runs.
class MethodObject {
 public:
  /// Without the interpreter's lock. `arenas` may be null: then the method has its own.
  static std::unique_ptr<MethodObject> load(std::shared_ptr<LoadedProgram> program, std::shared_ptr<Arenas> arenas,
                                            const MethodRequest& request);
  ~MethodObject();

  /// Runs the method: tensors in order or by name, what is bound left out; the results as a tuple. `self` keeps this
  /// object, for views.
  nanobind::object call(nanobind::handle self, const nanobind::args& args, const nanobind::kwargs& kwargs,
                        InstructionObserver* observer = nullptr);
  /// The same for a profile: the results, and the events of the run.
  nanobind::object record(nanobind::handle self, const nanobind::args& args, const nanobind::kwargs& kwargs);

  /// From now on inputs and outputs of these names are the caller's arrays; None ends that.
  void bind(const nanobind::dict& inputs, const nanobind::dict& outputs);

  /// What each arena needs for inputs of these shapes, by name: sequences of sizes, None for one that is not known.
  nanobind::list planned_bytes(const nanobind::dict& shapes);
  /// The states by name, as new arrays; and set from arrays, all or none where one does not fit.
  nanobind::dict get_state();
  void set_state(const nanobind::dict& states);
  /// The states as `inputs` has inputs.
  nanobind::list states();

  const std::string& name() const { return name_; }
  int threads() const { return threads_; }
  nanobind::dict memory() const;
  /// "inputs" or "outputs" as `berth inspect --json` has them.
  nanobind::object ports(const char* list) const;

 private:
  struct Input {
    std::string name;
    bool is_tensor = false;
    TensorInfo info;
    bool is_bound = false;
    Borrowed bound;
    Borrowed given;            // of the last run, where the method uses the caller's memory in place
    HostBuffer packed;         // where elements are put in order
    DeviceMemoryBuffer there;  // on the input's device
  };
  struct Output {
    std::string name;
    TensorInfo info;
    bool is_tensor = false;
    bool is_direct = false;  // its memory can be a result's: not planned, of one size, row-major, on the host
    bool is_bound = false;
    Borrowed bound;
  };
  MethodObject() = default;
  void describe();
  size_t find_input(const std::string& name) const;
  std::vector<Borrowed> gather(const nanobind::args& args, const nanobind::kwargs& kwargs) const;
  void feed(size_t index, Borrowed& array);
  const void* place(Input& input, const Borrowed& array, const std::string& where);
  void set_outputs(std::vector<NewArray>* direct);
  void run(std::vector<Borrowed>& arrays);
  nanobind::object result(nanobind::handle self, size_t index, NewArray* direct);
  nanobind::object tensor_result(nanobind::handle self, Output& output, const Tensor& tensor, NewArray* direct);
  void copy_out(const Tensor& tensor, uint8_t* to) const;
  void copy_to_bound(Output& output, const Tensor& tensor);
  std::string state_name(size_t index) const;
  void read_state(size_t index, const TensorInfo& info, uint8_t* to);
  void write_state(size_t index, const TensorInfo& info, const Borrowed& array);
  std::string where(const char* what, const std::string& port) const;

  std::shared_ptr<LoadedProgram> program_;
  std::shared_ptr<Arenas> arenas_;
  std::string name_;
  int threads_ = 1;
  bool copy_ = true;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<HostMethod> method_;
  std::vector<Input> inputs_;
  std::vector<Output> outputs_;
  InUseList in_use_;  // its own memory, or its arenas
};

/// The class berth.Method.
void add_method(nanobind::module_& module);

}  // namespace berth::python
