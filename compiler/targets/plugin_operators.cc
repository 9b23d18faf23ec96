#include "compiler/targets/plugin_operators.h"

#include <algorithm>

#include "compiler/ir/text.h"
#include "compiler/targets/graph_view.h"

namespace berth {
namespace {

using ir::Dim;

// Sizes that are only known at run time, as numbers: the first is BERTH_NO_NUMBER - 1. Equal sizes have one number.
class Sizes {
 public:
  explicit Sizes(ir::Symbols& symbols) : symbols_(symbols) {}

  int64_t number(Dim dim) {
    if (dim.is_constant()) return dim.value;
    const auto known = std::find(known_.begin(), known_.end(), dim);
    const int64_t index = known - known_.begin();
    if (known == known_.end()) known_.push_back(dim);
    return BERTH_NO_NUMBER - 1 - index;
  }
  /// False for a number that stands for nothing.
  bool find(int64_t number, Dim* dim) const {
    if (number >= -kMost && number <= kMost) {
      *dim = Dim(number);
      return true;
    }
    if (number >= BERTH_NO_NUMBER || number < BERTH_NO_NUMBER - static_cast<int64_t>(known_.size())) return false;
    *dim = known_[BERTH_NO_NUMBER - number - 1];
    return true;
  }
  ir::Symbols& symbols() { return symbols_; }

 private:
  static constexpr int64_t kMost = int64_t{1} << 40;

  ir::Symbols& symbols_;
  std::vector<Dim> known_;
};

/// What a shape rule calls (berth_types), and what it has answered.
struct Answers {
  Sizes sizes;
  const targets::GraphView& view;
  const ir::Method& method;
  const ir::OwnCall& call;
  std::vector<ir::TensorType> results = {};
  std::string wrong = {};  // the first thing that cannot be

  static Answers& of(void* self) { return *static_cast<Answers*>(self); }
  void complain(const std::string& what) {
    if (wrong.empty()) wrong = what;
  }

  static int64_t dim(void* self, int32_t value, int32_t dimension) {
    Answers& own = of(self);
    const ir::ValueId id = own.view.value_at(value);
    const ir::TensorType* type = id.valid() ? own.method.value(id).tensor() : nullptr;
    if (type != nullptr && dimension >= 0 && dimension < type->rank()) return own.sizes.number(type->shape[dimension]);
    own.complain("asks for dimension " + std::to_string(dimension) + " of value " + std::to_string(value) +
                 ", which does not exist");
    return 0;
  }

  template <typename Operation>
  static int64_t compute(void* self, int64_t a, int64_t b, const char* name, const Operation& operation) {
    Answers& own = of(self);
    Dim x;
    Dim y;
    if (own.sizes.find(a, &x) && own.sizes.find(b, &y)) return own.sizes.number(operation(own.sizes.symbols(), x, y));
    own.complain(std::string(name) + " is given what is not a size");
    return 0;
  }
  static int64_t add(void* self, int64_t a, int64_t b) {
    return compute(self, a, b, "add", [](ir::Symbols& s, Dim x, Dim y) { return s.add(x, y); });
  }
  static int64_t multiply(void* self, int64_t a, int64_t b) {
    return compute(self, a, b, "multiply", [](ir::Symbols& s, Dim x, Dim y) { return s.mul(x, y); });
  }
  static int64_t divide(void* self, int64_t a, int64_t b) {
    if (b < 1) {
      of(self).complain("divides by what is not a number from 1 on");
      return 0;
    }
    return compute(self, a, b, "divide", [](ir::Symbols& s, Dim x, Dim y) { return s.floor_div(x, y); });
  }

  static int64_t contents(void* self, int64_t most) {
    Answers& own = of(self);
    Dim bound;
    if (!own.sizes.find(most, &bound)) {
      own.complain("asks for a size by contents of at most " + std::to_string(most) + ", which is not a size");
      return 0;
    }
    const Expected<Dim> size = own.call.size_by_contents(own.sizes.symbols().upper(bound));
    if (size.ok()) return own.sizes.number(*size);
    own.complain(size.error().message);
    return 0;
  }

  static void result(void* self, int32_t dtype, const int64_t* sizes, int32_t rank) {
    constexpr size_t kMostResults = 4096;  // of a list
    Answers& own = of(self);
    const std::string which = "result " + std::to_string(own.results.size());
    if (own.results.size() >= kMostResults)
      return own.complain("gives more than " + std::to_string(kMostResults) + " results");
    ir::TensorType type;
    if (!is_valid_dtype(dtype)) {
      return own.complain("gives " + which + " the element type " + std::to_string(dtype) + ", which does not exist");
    }
    type.dtype = static_cast<DType>(dtype);
    if (rank < 0 || rank > kMaxRank || (rank > 0 && sizes == nullptr)) {
      return own.complain("gives " + which + " " + std::to_string(rank) + " dimensions; expected 0 to " +
                          std::to_string(kMaxRank));
    }
    for (int32_t d = 0; d < rank; ++d) {
      Dim dim;
      if (!own.sizes.find(sizes[d], &dim) || own.sizes.symbols().upper(dim) < 0) {
        return own.complain("gives dimension " + std::to_string(d) + " of " + which + " the size " +
                            std::to_string(sizes[d]) + ", which cannot be");
      }
      type.shape.push_back(dim);
    }
    own.results.push_back(std::move(type));
  }
};

Expected<std::vector<ir::TensorType>> infer(const berth_operator& op, const ir::OwnCall& call) {
  ir::Node node;
  node.op = &call.query.op;
  node.args = call.query.args;
  const targets::GraphView view(call.query.module, call.query.method, node);
  Answers answers{Sizes(call.sizes()), view, call.query.method, call};
  const berth_types types = {sizeof(berth_types), &answers,        Answers::dim,    Answers::add,
                             Answers::multiply,   Answers::divide, Answers::result, Answers::contents};
  berth_message message = {};
  const int32_t code = call_plugin(&message, [&] { return op.infer(op.self, &view.graph(), &types, &message); });
  if (code != BERTH_OK) {
    const std::string why = text_of(message);
    return Failure{plugin_error(code), "", "the plug-in says: " + (why.empty() ? "no reason given" : why)};
  }
  if (!answers.wrong.empty()) return Failure{Error::kInvalidArgument, "", "its shape rule " + answers.wrong};
  return std::move(answers.results);
}

}  // namespace

Expected<std::shared_ptr<const ir::OperatorSet>> plugin_operators(Span<const Plugin* const> plugins) {
  ir::OperatorSet set;
  for (const Plugin* plugin : plugins) {
    for (const berth_operator& op : plugin->operators()) {
      if (op.infer == nullptr) continue;
      ir::OwnOperator own;
      own.name = op.name;
      own.schema = op.schema;
      own.infer = [&op](const ir::OwnCall& call) { return infer(op, call); };
      own.in_place_arguments = op.in_place;
      own.has_effects = op.has_effects != 0;
      own.sized_by_contents = op.sized_by_contents != 0;
      if (op.out_overload != nullptr) own.out_overload = op.out_overload;
      const Status added = set.add(std::move(own));
      if (!added.ok()) {
        const Failure& why = added.error();
        return Failure{why.code, "plug-in " + plugin->place() + ": " + why.place, why.message};
      }
    }
  }
  if (set.empty()) return std::shared_ptr<const ir::OperatorSet>();
  return std::shared_ptr<const ir::OperatorSet>(std::make_shared<ir::OperatorSet>(std::move(set)));
}

}  // namespace berth
