#include "tools/runnable.h"

#include <map>
#include <set>

#include "base/mapped_file.h"
#include "compiler/compile.h"
#include "compiler/eval/evaluate.h"
#include "compiler/passes/pipeline.h"
#include "tools/arrays.h"
#include "tools/method_inputs.h"
#include "tools/names.h"
#include "tools/node_names.h"
#include "tools/program_file.h"
#include "tools/tool.h"

namespace berth::tool {
namespace {

Failure not_a_tensor(const std::string& file, const std::string& name) {
  return Failure{Error::kNotSupported, file, "input " + printable(name) + " is not a tensor, and only tensors are fed"};
}

class EvaluatedModel final : public Runnable {
 public:
  static Expected<std::unique_ptr<Runnable>> open(const RunnableRequest& request) {
    auto model = std::make_unique<EvaluatedModel>();
    model->path_ = request.load.program;
    BERTH_ASSIGN_OR_RETURN(model->module_, load_model(model->path_, request.import));
    if (request.values) BERTH_TRY(passes::run(passes::pipeline(), model->module_, {}));
    BERTH_TRY(model->choose(request.load.method));
    BERTH_TRY(model->describe());
    return std::unique_ptr<Runnable>(std::move(model));
  }

  std::string how() const override { return "evaluated"; }
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<std::string>& outputs() const override { return outputs_; }

  std::map<std::string, std::string> values() const override {
    std::map<std::string, std::string> names;
    for (ir::NodeId id : method_->body.nodes) {
      const ir::Node& node = method_->node(id);
      for (ir::ValueId result : node.results) names[method_->value(result).name] = node.source;
    }
    return names;
  }

  std::vector<std::string> files() const override {
    std::vector<std::string> files = module_.files;
    files.push_back(path_);
    return files;
  }

  Expected<std::vector<Array>> run(const std::vector<Array>& inputs, const ValueSink* sink) override {
    std::vector<eval::Item> items;
    for (size_t i = 0; i < inputs.size(); ++i) {
      items.push_back(evaluated(inputs[i], method_->tensor(method_->body.inputs[i]).dim_order));
    }
    eval::EvaluateOptions options;
    options.states = &states_;
    if (sink != nullptr) {
      options.on_value = [&](ir::ValueId id, const eval::Array& array) {
        (*sink)(method_->value(id).name, array_of(array));
      };
    }
    auto results = eval::evaluate(module_, *method_, items, options);
    if (!results.ok()) {
      Failure failure = results.error();
      failure.place = path_ + ": " + failure.place;
      return failure;
    }
    std::vector<Array> arrays;
    for (const eval::Item& item : *results) {
      if (const auto* array = std::get_if<eval::Array>(&item)) {
        arrays.push_back(array_of(*array));
      } else if (const auto* whole = std::get_if<int64_t>(&item)) {
        arrays.push_back(array_of_scalar(EValue(*whole)));
      } else if (const auto* real = std::get_if<double>(&item)) {
        arrays.push_back(array_of_scalar(EValue(*real)));
      } else if (const auto* truth = std::get_if<bool>(&item)) {
        arrays.push_back(array_of_scalar(EValue(*truth)));
      } else {
        return Failure{Error::kNotSupported, path_,
                       "output " + printable(outputs_[arrays.size()]) + " is neither a tensor nor a number"};
      }
    }
    return arrays;
  }

 private:
  Status choose(const std::string& name) {
    const std::vector<ir::Method>& methods = module_.methods;
    method_ = module_.find_method(name.empty() ? "forward" : name);
    if (method_ == nullptr && name.empty() && methods.size() == 1) method_ = &methods[0];
    if (method_ != nullptr) return Done{};
    std::string names;
    for (const ir::Method& method : methods) names += (names.empty() ? "" : ", ") + method.name;
    return Failure{Error::kInvalidArgument, path_,
                   name.empty() ? "has several methods; choose one with --method: " + names
                                : "has no method " + printable(name) + "; it has: " + names};
  }

  Status describe() {
    for (ir::ValueId id : method_->body.inputs) {
      const ir::Value& value = method_->value(id);
      const ir::TensorType* type = value.tensor();
      if (type == nullptr) return not_a_tensor(path_, value.name);
      Port port{value.name, type->dtype, {}, {}};
      for (ir::Dim dim : type->shape) {
        port.lower.push_back(module_.symbols.lower(dim));
        port.upper.push_back(module_.symbols.upper(dim));
      }
      inputs_.push_back(std::move(port));
    }
    for (size_t i = 0; i < method_->body.outputs.size(); ++i) {
      const auto* value = std::get_if<ir::ValueId>(&method_->body.outputs[i]);
      const std::string own = value == nullptr ? "" : method_->value(*value).name;
      const std::string& said = method_->output_name(i);
      outputs_.push_back(port_name((said.empty() ? own : said).c_str(), false, i));
    }
    return Done{};
  }

  std::string path_;
  ir::Module module_;
  const ir::Method* method_ = nullptr;
  std::vector<Port> inputs_;
  std::vector<std::string> outputs_;
  std::map<ir::StateId, eval::Array> states_;
};

// Gives a sink what each instruction computes, those within delegates included: each value of a run once.
class ValueReader final : public InstructionObserver {
 public:
  ValueReader(const NodeNames& names, const DeviceAllocatorRegistry& registry) : names_(names), registry_(registry) {}

  void begin(const ValueSink* sink) {
    sink_ = sink;
    seen_.clear();
    open_.clear();
  }

  Error before(const InstructionEvent& event) override {
    const NodeNames* around = this->around();
    open_.push_back(around == nullptr ? nullptr : around->inside(event.index));
    return Error::kOk;
  }

  void after(const InstructionEvent& event, Error result) override {
    open_.pop_back();
    const NodeNames* around = this->around();
    if (result != Error::kOk || around == nullptr) return;
    for (const auto& [argument, name] : around->results(event.index)) {
      if (argument >= event.args.size() || !event.args[argument]->is_tensor() || !seen_.insert(name).second) continue;
      const Tensor& tensor = event.args[argument]->tensor();
      if (tensor.raw() == nullptr && tensor.nbytes() > 0) continue;
      const auto array = array_of(tensor, registry_, name);
      if (array.ok()) (*sink_)(name, *array);
    }
  }

 private:
  const NodeNames* around() const { return open_.empty() ? &names_ : open_.back(); }

  const NodeNames& names_;
  const DeviceAllocatorRegistry& registry_;
  const ValueSink* sink_ = nullptr;
  std::set<std::string> seen_;
  std::vector<const NodeNames*> open_;  // what each instruction that runs has inside
};

class LoadedProgram final : public Runnable {
 public:
  static Expected<std::unique_ptr<Runnable>> open(const RunnableRequest& request) {
    auto program = std::make_unique<LoadedProgram>();
    program->request_ = request.load;
    BERTH_ASSIGN_OR_RETURN(program->loaded_, load_method(request.load));
    BERTH_TRY(program->describe());
    if (request.values) BERTH_TRY(program->find_names());
    return std::unique_ptr<Runnable>(std::move(program));
  }

  std::string how() const override { return "on " + counted(request_.threads, "thread"); }
  const std::vector<Port>& inputs() const override { return inputs_; }
  const std::vector<std::string>& outputs() const override { return outputs_; }

  std::map<std::string, std::string> values() const override {
    std::map<std::string, std::string> names;
    names_.collect(&names);
    return names;
  }

  std::vector<std::string> files() const override { return files_read(request_, *loaded_); }

  Expected<std::vector<Array>> run(const std::vector<Array>& inputs, const ValueSink* sink) override {
    std::vector<Array> arrays = inputs;
    BERTH_TRY(set_inputs(*loaded_, arrays));
    ValueReader reader(names_, loaded_->machine.registry());
    reader.begin(sink);
    method().set_observer(sink == nullptr ? nullptr : &reader);
    const Error error = method().execute();
    method().set_observer(nullptr);
    if (error != Error::kOk) return failure_of(request_, method());
    arrays.clear();
    for (size_t i = 0; i < method().outputs_size(); ++i) {
      const EValue value = method().get_output(i);
      if (value.is_tensor()) {
        BERTH_ASSIGN_OR_RETURN(Array array,
                               array_of(value.tensor(), loaded_->machine.registry(), "output " + std::to_string(i)));
        arrays.push_back(std::move(array));
      } else if (value.is_scalar()) {
        arrays.push_back(array_of_scalar(value));
      } else {
        return Failure{Error::kNotSupported, request_.program,
                       "output " + printable(outputs_[i]) + " is neither a tensor nor a number"};
      }
    }
    return arrays;
  }

 private:
  Method& method() { return loaded_->method->method(); }

  Status describe() {
    const MethodMeta meta = method().meta();
    for (size_t i = 0; i < meta.num_inputs(); ++i) {
      const std::string name = port_name(meta.input_names(i).name, true, i);
      const auto info = meta.input_tensor_meta(i);
      if (!info.ok()) return not_a_tensor(request_.program, name);
      Port port{name, info->dtype, {}, {info->sizes.begin(), info->sizes.end()}};
      port.lower = info->dynamism == ShapeDynamism::kStatic ? port.upper : std::vector<int64_t>(port.upper.size(), 0);
      inputs_.push_back(std::move(port));
    }
    for (size_t i = 0; i < meta.num_outputs(); ++i) outputs_.push_back(port_name(meta.output_names(i).name, false, i));
    return Done{};
  }

  Status find_names() {
    BERTH_ASSIGN_OR_RETURN(const ProgramFile file, open_program(request_.program));
    const int index = file.view.find_method(method().meta().name());
    if (index >= 0) names_ = NodeNames::of(file.view, index);
    return Done{};
  }

  LoadRequest request_;
  std::unique_ptr<LoadedMethod> loaded_;
  std::vector<Port> inputs_;
  std::vector<std::string> outputs_;
  NodeNames names_;
};

}  // namespace

Expected<std::unique_ptr<Runnable>> open_runnable(const RunnableRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const auto file, MappedFile::open(request.load.program));
  return is_program(*file) ? LoadedProgram::open(request) : EvaluatedModel::open(request);
}

}  // namespace berth::tool
