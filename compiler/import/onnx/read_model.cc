// The walk over a model file: one function a message, all of one shape (fields by number, unknown ones skipped).
#include <algorithm>
#include <cctype>
#include <string>

#include "compiler/import/onnx/model.h"
#include "compiler/import/onnx/order_nodes.h"
#include "compiler/import/onnx/wire.h"

namespace berth::onnx {
namespace {

// Numbers in attributes and shapes; tensors' elements are not counted here, they stay in the file.
constexpr size_t kMaxNumbers = size_t{1} << 24;
// Bodies of If, Loop and Scan lie within each other.
constexpr int kMaxMessageDepth = 16;

bool as_bytes(const WireReader& r, std::string_view& out) {
  out = r.bytes();
  return r.type() == WireType::kBytes;
}

bool as_integer(const WireReader& r, int64_t& out) {
  out = r.integer();
  return r.type() == WireType::kVarint;
}

bool as_integer(const WireReader& r, int32_t& out) {
  out = static_cast<int32_t>(r.integer());
  return r.type() == WireType::kVarint;
}

class Walk {
 public:
  explicit Walk(size_t file_size) : budget_(4 * file_size + (size_t{256} << 20)) {}

  bool model(std::string_view bytes, Model& out) {
    return message("model", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return as_integer(r, out.ir_version);
        case 2: return as_bytes(r, out.producer);
        case 7: return sub(r, [&] { return graph(r.bytes(), out.graph); });
        case 8: return sub(r, [&] { return opset(r.bytes(), add(out.opsets)); });
        case 25: return sub(r, [&] { return function(r.bytes(), add(out.functions)); });
        default: return true;
      }
    });
  }

  Failure failure() const {
    if (too_deep_) {
      return Failure{Error::kNotSupported, "onnx model",
                     "graphs lie more than " + std::to_string(kMaxMessageDepth) + " deep within each other"};
    }
    if (exhausted_) {
      return Failure{Error::kOutOfResources, "onnx model",
                     "its structure would take more than 4 × the file + 256 MB of memory"};
    }
    return Failure{Error::kInvalidProgram, "onnx model",
                   "damaged: the message '" + std::string(where_) + "' is cut short or holds a field of a wrong kind"};
  }

 private:
  template <typename Field>
  bool message(std::string_view what, std::string_view bytes, Field&& field) {
    WireReader reader(bytes);
    while (reader.next()) {
      if (!field(reader)) return damaged(what);
      if (exhausted_) return false;
    }
    return !reader.failed() || damaged(what);
  }

  // The innermost message is the one to name.
  bool damaged(std::string_view what) {
    if (where_.empty()) where_ = what;
    return false;
  }

  template <typename Read>
  bool sub(const WireReader& r, Read&& read) {
    return r.type() == WireType::kBytes && read();
  }

  template <typename T>
  T& add(std::vector<T>& list) {
    // Growth doubles, so what is asked for may stand in memory three times over for a moment.
    charge(3 * sizeof(T));
    list.emplace_back();
    return list.back();
  }

  bool integers(const WireReader& r, std::vector<int64_t>& out) {
    const size_t before = out.size();
    if (!append_integers(r, kMaxNumbers, out)) return false;
    charge(3 * sizeof(int64_t) * (out.size() - before));
    return true;
  }

  void charge(size_t cost) {
    exhausted_ = exhausted_ || cost > budget_;
    budget_ -= exhausted_ ? 0 : cost;
  }

  bool opset(std::string_view bytes, OpsetImport& out) {
    return message("opset_import", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return as_bytes(r, out.domain);
        case 2: return as_integer(r, out.version);
        default: return true;
      }
    });
  }

  bool graph(std::string_view bytes, Graph& out) {
    return message("graph", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return sub(r, [&] { return node(r.bytes(), add(out.nodes)); });
        case 2: return as_bytes(r, out.name);
        case 5: return sub(r, [&] { return tensor(r.bytes(), add(out.initializers)); });
        case 11: return sub(r, [&] { return value_info(r.bytes(), add(out.inputs)); });
        case 12: return sub(r, [&] { return value_info(r.bytes(), add(out.outputs)); });
        case 15: return sub(r, [&] { return sparse(r.bytes(), add(out.sparse_initializers)); });
        default: return true;
      }
    });
  }

  bool inner_graph(std::string_view bytes, Attribute& out) {
    too_deep_ = too_deep_ || depth_ == kMaxMessageDepth;
    charge(sizeof(Graph));
    if (too_deep_ || exhausted_) return false;
    auto inner = std::make_shared<Graph>();
    ++depth_;
    const bool fine = graph(bytes, *inner);
    order_nodes(inner->nodes);
    --depth_;
    out.graph = std::move(inner);
    return fine;
  }

  bool function(std::string_view bytes, Function& out) {
    const bool fine = message("function", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return as_bytes(r, out.name);
        case 4: return as_bytes(r, add(out.inputs));
        case 5: return as_bytes(r, add(out.outputs));
        case 6: return as_bytes(r, add(out.attributes));
        case 7: return sub(r, [&] { return node(r.bytes(), add(out.nodes)); });
        case 9: return sub(r, [&] { return opset(r.bytes(), add(out.opsets)); });
        case 10: return as_bytes(r, out.domain);
        case 11: return sub(r, [&] { return attribute(r.bytes(), add(out.attribute_defaults)); });
        case 13: return as_bytes(r, out.overload);
        default: return true;
      }
    });
    if (fine) order_nodes(out.nodes);
    return fine;
  }

  bool node(std::string_view bytes, Node& out) {
    return message("node", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return as_bytes(r, add(out.inputs));
        case 2: return as_bytes(r, add(out.outputs));
        case 3: return as_bytes(r, out.name);
        case 4: return as_bytes(r, out.op_type);
        case 5: return sub(r, [&] { return attribute(r.bytes(), add(out.attributes)); });
        case 7: return as_bytes(r, out.domain);
        case 8: return as_bytes(r, out.overload);
        default: return true;
      }
    });
  }

  bool attribute(std::string_view bytes, Attribute& out) {
    AttributeType seen = AttributeType::kUndefined;
    const auto value = [&](AttributeType type, bool fine) {
      seen = type;
      return fine;
    };
    const bool fine = message("attribute", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return as_bytes(r, out.name);
        case 2: out.f = r.real(); return value(AttributeType::kFloat, r.type() == WireType::kFixed32);
        case 3: return value(AttributeType::kInt, as_integer(r, out.i));
        case 4: return value(AttributeType::kString, as_bytes(r, out.s));
        case 5:
          out.tensors.clear();
          return value(AttributeType::kTensor, sub(r, [&] { return tensor(r.bytes(), add(out.tensors)); }));
        case 6: return value(AttributeType::kGraph, sub(r, [&] { return inner_graph(r.bytes(), out); }));
        case 7: return value(AttributeType::kFloats, append_floats(r, kMaxNumbers, out.floats));
        case 8: return value(AttributeType::kInts, integers(r, out.ints));
        case 9: return value(AttributeType::kStrings, as_bytes(r, add(out.strings)));
        case 10: return value(AttributeType::kTensors, sub(r, [&] { return tensor(r.bytes(), add(out.tensors)); }));
        case 11: return value(AttributeType::kGraphs, r.type() == WireType::kBytes);
        case 20: {
          int64_t type = 0;
          const bool number = as_integer(r, type);
          out.type = type > 0 && type <= 14 ? static_cast<AttributeType>(type) : AttributeType::kUndefined;
          return number;
        }
        case 21: return as_bytes(r, out.reference);
        case 22:
          out.sparses.clear();
          return value(AttributeType::kSparseTensor, sub(r, [&] { return sparse(r.bytes(), add(out.sparses)); }));
        default: return true;
      }
    });
    // Files of IR version 1 do not say the type.
    if (out.type == AttributeType::kUndefined && out.reference.empty()) out.type = seen;
    return fine;
  }

  bool tensor(std::string_view bytes, Tensor& out) {
    return message("tensor", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return integers(r, out.dims);
        case 2: return as_integer(r, out.element_type);
        case 4: return typed(r, TypedData::kFloat, WireType::kFixed32, out);
        case 5: return typed(r, TypedData::kInt32, WireType::kVarint, out);
        case 6: return typed(r, TypedData::kString, WireType::kBytes, out);
        case 7: return typed(r, TypedData::kInt64, WireType::kVarint, out);
        case 8: return as_bytes(r, out.name);
        case 9: out.has_raw = true; return as_bytes(r, out.raw);
        case 10: return typed(r, TypedData::kDouble, WireType::kFixed64, out);
        case 11: return typed(r, TypedData::kUint64, WireType::kVarint, out);
        case 13: return sub(r, [&] { return entry(r.bytes(), add(out.external_entries)); });
        case 14: {
          int64_t location = 0;
          const bool fine = as_integer(r, location);
          out.external = location == 1;
          return fine && (location == 0 || location == 1);
        }
        default: return true;
      }
    });
  }

  bool typed(const WireReader& r, TypedData kind, WireType unpacked, Tensor& out) {
    if (r.type() != unpacked && r.type() != WireType::kBytes) return false;
    if (out.typed != TypedData::kNone && out.typed != kind) return false;
    out.typed = kind;
    if (kind != TypedData::kString) add(out.typed_chunks) = r.bytes();
    return true;
  }

  bool entry(std::string_view bytes, std::pair<std::string_view, std::string_view>& out) {
    return message("external_data", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return as_bytes(r, out.first);
        case 2: return as_bytes(r, out.second);
        default: return true;
      }
    });
  }

  bool sparse(std::string_view bytes, SparseTensor& out) {
    return message("sparse_tensor", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return sub(r, [&] { return tensor(r.bytes(), out.values); });
        case 2: return sub(r, [&] { return tensor(r.bytes(), out.indices); });
        case 3: return integers(r, out.dims);
        default: return true;
      }
    });
  }

  bool value_info(std::string_view bytes, ValueInfo& out) {
    return message("value_info", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return as_bytes(r, out.name);
        case 2: return sub(r, [&] { return type(r.bytes(), out); });
        default: return true;
      }
    });
  }

  bool type(std::string_view bytes, ValueInfo& out) {
    return message("type", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: out.is_tensor = true; return sub(r, [&] { return tensor_type(r.bytes(), out); });
        case 4: out.is_sequence = true; return sub(r, [&] { return element_type(r.bytes(), out); });
        case 9: out.is_optional = true; return sub(r, [&] { return element_type(r.bytes(), out); });
        default: return true;  // maps: is_tensor stays false
      }
    });
  }

  bool element_type(std::string_view bytes, ValueInfo& out) {
    too_deep_ = too_deep_ || depth_ == kMaxMessageDepth;
    if (too_deep_) return false;
    ++depth_;
    const bool fine = message("element type", bytes, [&](const WireReader& r) {
      if (r.field() != 1) return true;
      return sub(r, [&] { return type(r.bytes(), out); });
    });
    --depth_;
    return fine;
  }

  bool tensor_type(std::string_view bytes, ValueInfo& out) {
    return message("tensor_type", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: return as_integer(r, out.element_type);
        case 2: out.has_shape = true; return sub(r, [&] { return shape(r.bytes(), out); });
        default: return true;
      }
    });
  }

  bool shape(std::string_view bytes, ValueInfo& out) {
    return message("shape", bytes, [&](const WireReader& r) {
      if (r.field() != 1) return true;
      return sub(r, [&] { return dimension(r.bytes(), add(out.shape)); });
    });
  }

  // PaddlePaddle's exporter writes -1 for a size that is open, and calls every such size "?": that names none.
  bool dimension(std::string_view bytes, Dimension& out) {
    const bool fine = message("dimension", bytes, [&](const WireReader& r) {
      switch (r.field()) {
        case 1: out.has_value = true; return as_integer(r, out.value);
        case 2: return as_bytes(r, out.symbol);
        default: return true;
      }
    });
    if (out.value < 0) out.has_value = false;
    const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
    if (std::none_of(out.symbol.begin(), out.symbol.end(), is_letter)) out.symbol = {};
    return fine;
  }

  size_t budget_;
  bool exhausted_ = false;
  bool too_deep_ = false;
  int depth_ = 0;  // of graphs within nodes
  std::string_view where_;
};

}  // namespace

Expected<Model> read_model(std::string_view file) {
  Model model;
  Walk walk(file.size());
  if (!walk.model(file, model)) return walk.failure();
  order_nodes(model.graph.nodes);
  return model;
}

}  // namespace berth::onnx
