#include "compiler/eval/evaluate.h"

#include <cstring>
#include <optional>

#include "compiler/eval/call.h"
#include "compiler/ir/arguments.h"
#include "compiler/ir/print.h"
#include "compiler/ir/text.h"

namespace berth::eval {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Interpreter {
 public:
  Interpreter(const ir::Module& module, const ir::Method& method, const EvaluateOptions& options)
      : module_(module),
        method_(method),
        options_(options),
        binding_(module.symbols),
        items_(method.values.size()),
        uses_(ir::count_uses(method)),
        nodes_left_(options.max_nodes) {}

  Expected<std::vector<Item>> run(const std::vector<Item>& inputs) {
    const std::vector<ValueId>& wanted = method_.body.inputs;
    if (inputs.size() != wanted.size()) {
      return fail("expected " + std::to_string(wanted.size()) + " inputs, found " + std::to_string(inputs.size()));
    }
    for (size_t i = 0; i < inputs.size(); ++i) BERTH_TRY(take_input(wanted[i], inputs[i]));
    BERTH_ASSIGN_OR_RETURN(std::vector<Item> outputs, graph(method_.body));
    if (options_.states != nullptr) {
      for (auto& [state, array] : written_) (*options_.states)[state] = std::move(array);
    }
    return outputs;
  }

 private:
  Failure fail(const std::string& message) const {
    return Failure{Error::kInvalidArgument, "method " + method_.name, message};
  }

  std::optional<Item>& slot(ValueId id) { return items_[id]; }

  Status take_input(ValueId id, const Item& item) {
    const ir::Value& value = method_.value(id);
    const Failure mismatch = fail("expected " + ir::named('%', value.name) + " as " +
                                  ir::print(value.type, module_.symbols) + ", found something else");
    if (const ir::TensorType* type = value.tensor()) {
      const Array* array = std::get_if<Array>(&item);
      if (array == nullptr || array->dtype != type->dtype || array->sizes.size() != type->shape.size()) return mismatch;
      for (size_t d = 0; d < array->sizes.size(); ++d) {
        if (!binding_.bind(type->shape[d], array->sizes[d])) return mismatch;
      }
      const int64_t bytes = array->numel() * static_cast<int64_t>(element_size(array->dtype));
      if (bytes != static_cast<int64_t>(array->bytes.size()) || array->dim_order != type->dim_order) return mismatch;
    }
    put(id, item);
    return Done{};
  }

  void put(ValueId id, Item item) {
    if (const Array* array = std::get_if<Array>(&item)) live_bytes_ += static_cast<int64_t>(array->bytes.size());
    slot(id) = std::move(item);
  }

  void drop(ValueId id) {
    std::optional<Item>& item = slot(id);
    if (!item.has_value()) return;
    if (const Array* array = std::get_if<Array>(&*item)) live_bytes_ -= static_cast<int64_t>(array->bytes.size());
    item.reset();
  }

  // The item of a value; constants are read when they are first asked for.
  const Item& get(ValueId id) {
    std::optional<Item>& item = slot(id);
    if (!item.has_value()) {
      const ir::Constant* constant = ir::constant_of(module_, method_, id);
      BERTH_CHECK(constant != nullptr);
      put(id, array_of(constant->type, constant->blob));
    }
    return *item;
  }

  Expected<Item> literal(const ir::Argument& argument) {
    if (const ValueId* id = std::get_if<ValueId>(&argument)) return Item(get(*id));
    if (const ir::Dim* dim = std::get_if<ir::Dim>(&argument)) {
      int64_t number = 0;
      if (!binding_.find(*dim, &number)) return fail("the size " + module_.symbols.text(*dim) + " is not known");
      return Item(number);
    }
    if (const double* real = std::get_if<double>(&argument)) return Item(*real);
    if (const bool* truth = std::get_if<bool>(&argument)) return Item(*truth);
    if (const std::string* text = std::get_if<std::string>(&argument)) return Item(*text);
    return Item(ir::None{});
  }

  Expected<std::vector<Item>> graph(const Graph& graph) {
    for (NodeId id : graph.nodes) {
      const Status status = node(method_.node(id));
      if (status.ok()) {
        if (&graph == &method_.body && options_.on_value) show(method_.node(id));
        continue;
      }
      Failure failure = status.error();
      const std::string& source = method_.node(id).source;
      if (!source.empty()) failure.place += " " + ir::quoted(source);
      return failure;
    }
    std::vector<Item> outputs;
    for (const ir::Argument& output : graph.outputs) {
      BERTH_ASSIGN_OR_RETURN(Item item, literal(output));
      outputs.push_back(std::move(item));
    }
    return outputs;
  }

  void show(const Node& node) {
    for (ValueId result : node.results) {
      const std::optional<Item>& item = slot(result);
      const Array* array = item.has_value() ? std::get_if<Array>(&*item) : nullptr;
      if (array != nullptr) options_.on_value(result, *array);
    }
  }

  Status node(const Node& node) {
    if (--nodes_left_ < 0) {
      return Failure{Error::kOutOfResources, node.op->functional_name,
                     "more than " + std::to_string(options_.max_nodes) + " operators would run"};
    }
    if (node.op->is_device_copy()) {
      put(node.results[0], get(std::get<ValueId>(node.args[arg::device_copy::self])));
      let_go(node);
      return Done{};
    }
    switch (node.op->id) {
      case ir::OpId::if_: return run_if(node);
      case ir::OpId::while_: return run_while(node);
      case ir::OpId::scan: return run_scan(node);
      case ir::OpId::delegate: return run_delegate(node);
      case ir::OpId::state_read: return read_state(node);
      case ir::OpId::state_write:
        written_[node.state] = std::get<Array>(get(std::get<ValueId>(node.args[arg::state_write::value])));
        return Done{};
      default: return run_kernel(node);
    }
  }

  Status run_kernel(const Node& node) {
    const auto operand_of = [&](ValueId id) -> Operand {
      const Item& item = get(id);
      if (const Array* array = std::get_if<Array>(&item)) return view_of(*array);
      if (const int64_t* whole = std::get_if<int64_t>(&item)) return *whole;
      if (const double* real = std::get_if<double>(&item)) return *real;
      return std::get<bool>(item);
    };
    auto arrays = call(method_, node, binding_, operand_of, options_.max_bytes - live_bytes_);
    if (!arrays.ok()) return arrays.error();
    for (size_t i = 0; i < arrays->size(); ++i) put(node.results[i], std::move((*arrays)[i]));
    let_go(node);
    return Done{};
  }

  // Within loops a value is read again, so only the body lets values go, and what stands in it.
  void let_go(const Node& node) {
    if (depth_ > 0) return;
    for (const ir::Argument& argument : node.args) {
      ir::for_each_value(argument, [&](const ValueId& id) {
        if (--uses_[id] == 0) drop(id);
      });
    }
  }

  // As if the region's nodes stood in place of the call.
  Status run_delegate(const Node& node) {
    if (node.regions.empty()) {
      const ir::Delegate& delegate = module_.delegates[node.delegate];
      return Failure{
          Error::kNotSupported, node.op->functional_name,
          ir::named('@', delegate.name) + " is compiled already, only " + ir::quoted(delegate.backend) + " can run it"};
    }
    const Graph& body = node.regions[0];
    std::vector<Item> inputs = items_of(node.args[arg::delegate::inputs]);
    let_go(node);
    for (size_t i = 0; i < inputs.size(); ++i) {
      drop(body.inputs[i]);
      put(body.inputs[i], std::move(inputs[i]));
    }
    BERTH_ASSIGN_OR_RETURN(std::vector<Item> outputs, graph(body));
    if (depth_ == 0) {
      for (const ir::Argument& output : body.outputs) drop(std::get<ValueId>(output));
      for (ValueId input : body.inputs) drop(input);
    }
    put_all(node.results, std::move(outputs));
    return Done{};
  }

  Expected<std::vector<Item>> region(const Graph& body, const std::vector<Item>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      drop(body.inputs[i]);
      put(body.inputs[i], inputs[i]);
    }
    ++depth_;
    auto outputs = graph(body);
    --depth_;
    return outputs;
  }

  void put_all(const std::vector<ValueId>& ids, std::vector<Item> items) {
    for (size_t i = 0; i < ids.size(); ++i) {
      drop(ids[i]);
      put(ids[i], std::move(items[i]));
    }
  }

  static bool truth(const Item& item) {
    if (const bool* scalar = std::get_if<bool>(&item)) return *scalar;
    const Array* array = std::get_if<Array>(&item);
    return array != nullptr && !array->bytes.empty() && array->bytes[0] != 0;
  }

  Status run_if(const Node& node) {
    BERTH_ASSIGN_OR_RETURN(const Item condition, literal(node.args[arg::if_::cond]));
    BERTH_ASSIGN_OR_RETURN(std::vector<Item> outputs, region(node.regions[truth(condition) ? 0 : 1], {}));
    put_all(node.results, std::move(outputs));
    return Done{};
  }

  std::vector<Item> items_of(const ir::Argument& list) {
    std::vector<Item> items;
    for (ValueId id : std::get<ir::ValueList>(list)) items.push_back(get(id));
    return items;
  }

  Status run_while(const Node& node) {
    std::vector<Item> carried = items_of(node.args[arg::while_::init]);
    for (;;) {
      if (--nodes_left_ < 0) break;
      BERTH_ASSIGN_OR_RETURN(const std::vector<Item> condition, region(node.regions[0], carried));
      if (!truth(condition[0])) {
        put_all(node.results, std::move(carried));
        return Done{};
      }
      BERTH_ASSIGN_OR_RETURN(carried, region(node.regions[1], carried));
    }
    return Failure{Error::kOutOfResources, node.op->functional_name,
                   "more than " + std::to_string(options_.max_nodes) + " operators would run"};
  }

  static Array slice(const Array& whole, int64_t index) {
    Array part;
    part.dtype = whole.dtype;
    part.sizes.assign(whole.sizes.begin() + 1, whole.sizes.end());
    const size_t bytes = part.numel() * element_size(part.dtype);
    const uint8_t* begin = whole.bytes.data() + index * bytes;
    part.bytes.assign(begin, begin + bytes);
    return part;
  }

  Status run_scan(const Node& node) {
    BERTH_ASSIGN_OR_RETURN(const Item length_item, literal(node.args[arg::scan::length]));
    const int64_t* length = std::get_if<int64_t>(&length_item);
    if (length == nullptr || *length < 0) return fail("a scan's length is not a number of at least 0");
    std::vector<Item> carried = items_of(node.args[arg::scan::carried]);
    const std::vector<Item> scanned = items_of(node.args[arg::scan::scanned]);
    std::vector<Array> stacked(node.results.size() - carried.size());
    for (int64_t step = 0; step < *length; ++step) {
      if (--nodes_left_ < 0) return Failure{Error::kOutOfResources, node.op->functional_name, "too many steps"};
      std::vector<Item> inputs = carried;
      for (const Item& item : scanned) inputs.push_back(slice(std::get<Array>(item), step));
      BERTH_ASSIGN_OR_RETURN(std::vector<Item> outputs, region(node.regions[0], inputs));
      for (size_t i = 0; i < stacked.size(); ++i) {
        const Array& part = std::get<Array>(outputs[carried.size() + i]);
        stacked[i].sizes = part.sizes;
        stacked[i].bytes.insert(stacked[i].bytes.end(), part.bytes.begin(), part.bytes.end());
      }
      outputs.resize(carried.size());
      carried = std::move(outputs);
    }
    std::vector<Item> results = std::move(carried);
    for (Array& array : stacked) {
      const ir::TensorType& type = method_.tensor(node.results[results.size()]);
      array.dtype = type.dtype;
      array.sizes.clear();
      for (ir::Dim dim : type.shape) {
        int64_t size = 0;
        if (!binding_.find(dim, &size)) return fail("a scan's result has a size that is not known");
        array.sizes.push_back(static_cast<int32_t>(size));
      }
      results.push_back(std::move(array));
    }
    put_all(node.results, std::move(results));
    return Done{};
  }

  Status read_state(const Node& node) {
    const ir::State& state = module_.states[node.state];
    if (options_.states != nullptr && options_.states->count(node.state) != 0) {
      put(node.results[0], options_.states->find(node.state)->second);
      return Done{};
    }
    const size_t bytes = ir::max_bytes(state.type, module_.symbols);
    if (static_cast<int64_t>(bytes) > options_.max_bytes) return fail("a state is larger than memory may be used");
    const uint8_t zero = 0;
    put(node.results[0], array_of(state.type, state.initial.value_or(ir::Blob::splat({&zero, 1}, bytes))));
    return Done{};
  }

  const ir::Module& module_;
  const ir::Method& method_;
  const EvaluateOptions& options_;
  Binding binding_;
  IdVector<ValueId, std::optional<Item>> items_;
  IdVector<ValueId, int> uses_;
  std::map<ir::StateId, Array> written_;
  int64_t nodes_left_;
  int64_t live_bytes_ = 0;
  int depth_ = 0;
};

}  // namespace

Array array_of(const ir::TensorType& type, const ir::Blob& blob) {
  Array array;
  array.dtype = type.dtype;
  array.dim_order = type.dim_order;
  for (ir::Dim dim : type.shape) array.sizes.push_back(static_cast<int32_t>(dim.value));
  array.bytes = blob.to_vector();
  return array;
}

Expected<std::vector<Item>> evaluate(const ir::Module& module, const ir::Method& method,
                                     const std::vector<Item>& inputs, const EvaluateOptions& options) {
  return Interpreter(module, method, options).run(inputs);
}

Expected<std::vector<ir::Blob>> evaluate_node(const ir::Module& module, const ir::Method& method, const ir::Node& node,
                                              int64_t max_bytes) {
  // Bytes are read where they stand, but for a repeated element, and for a place in a file that the element's type may
  // not stand at.
  const auto readable = [](const ir::Constant& constant) {
    return !constant.blob.is_splat() &&
           reinterpret_cast<uintptr_t>(constant.blob.bytes().data()) % element_size(constant.type.dtype) == 0;
  };
  std::map<ValueId, std::vector<uint8_t>> written_out;
  std::vector<const ir::Blob*> blobs;
  for (const ir::Argument& argument : node.args) {
    bool known = true;
    int64_t bytes = 0;
    ir::for_each_value(argument, [&](const ValueId& id) {
      const ir::Constant* constant = ir::constant_of(module, method, id);
      known = known && constant != nullptr;
      if (constant == nullptr) return;
      blobs.push_back(&constant->blob);
      if (readable(*constant) || written_out.count(id) != 0) return;
      bytes += static_cast<int64_t>(constant->blob.size());
      if (bytes > max_bytes) return;
      written_out[id] = constant->blob.to_vector();
      constant->blob.release();
    });
    if (!known) return Failure{Error::kInvalidArgument, node.op->functional_name, "an argument is not constant"};
    max_bytes -= bytes;
    if (max_bytes < 0) {
      return Failure{Error::kOutOfResources, node.op->functional_name, "its constants take more memory than allowed"};
    }
  }
  const auto operand_of = [&](ValueId id) -> Operand {
    const ir::Constant& constant = *ir::constant_of(module, method, id);
    View view{constant.type.dtype, {}, constant.type.dim_order, nullptr};
    for (ir::Dim dim : constant.type.shape) view.sizes.push_back(static_cast<int32_t>(dim.value));
    view.data = readable(constant) ? constant.blob.bytes().data() : written_out[id].data();
    return view;
  };
  Binding binding(module.symbols);
  auto arrays = call(method, node, binding, operand_of, max_bytes);
  for (const ir::Blob* blob : blobs) blob->release();
  if (!arrays.ok()) return arrays.error();
  std::vector<ir::Blob> results;
  for (Array& array : *arrays) results.push_back(ir::Blob::owned(std::move(array.bytes)));
  return results;
}

}  // namespace berth::eval
