#include "compiler/passes/read_pieces.h"

#include <algorithm>
#include <numeric>

#include "compiler/ir/arguments.h"
#include "compiler/passes/rewrite.h"

namespace berth::passes {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::Node;
using ir::OpId;
using ir::ValueId;

constexpr int kMostPermutations = 8;

// Places [begin, begin + count) of a dimension.
struct Taken {
  int64_t axis = 0;
  int64_t begin = 0, count = 0;
  bool selected = false;  // the dimension goes
};

// A part of a join, and what is taken of it.
struct Piece {
  ValueId part;
  int64_t begin = 0;
  bool whole = false;
  bool has_axis = false;  // parts of a stack do not have its dimension
};

class PieceReader {
 public:
  PieceReader(ir::Method& method, const Options& options) : method_(method), options_(options), outputs_(method) {}

  Expected<Action> visit(ir::Builder& build, ir::NodeId id) {
    const Node node = method_.node(id);
    std::optional<Taken> taken = taken_by(node);
    if (!taken) return Action::keep();
    // The dimensions of the result, or of what it is selected from, as those of the join.
    ValueId from = std::get<ValueId>(node.args[0]);
    std::vector<int64_t> order(method_.tensor(from).rank());
    std::iota(order.begin(), order.end(), 0);
    const Node* join = defining_node(method_, from);
    for (int step = 0; join != nullptr && step < kMostPermutations; ++step) {
      const std::vector<int64_t> turned = permutation(method_, *join);
      if (turned.empty()) break;
      for (int64_t& d : order) d = turned[d];
      join = defining_node(method_, join->args[0]);
    }
    taken->axis = order[taken->axis];
    const std::optional<Piece> piece = join == nullptr ? std::nullopt : piece_of(*join, *taken);
    if (!piece) return Action::keep();
    const ir::Type wanted = method_.value(node.results[0]).type;
    if (!is_plain(join->results[0]) || !is_plain(piece->part) ||
        method_.tensor(piece->part).dtype != method_.tensor(node.results[0]).dtype) {
      return Action::keep();
    }
    BERTH_ASSIGN_OR_RETURN(const ValueId read, read_piece(build, *piece, *taken, std::move(order), node.source));
    if (method_.value(read).type != wanted) return Action::keep();
    if (outputs_.must_stay_apart(method_, node.results[0], read)) return Action::keep();
    remark(options_, "read_pieces", method_, node, "read before it is joined");
    outputs_.replace(node.results[0], read);
    return Action::replace(read);
  }

 private:
  bool is_plain(ValueId value) const { return method_.tensor(value).is_contiguous(); }

  static std::optional<int64_t> number(const Argument& argument, int64_t none) {
    if (ir::is_none(argument)) return none;
    const Dim* dim = std::get_if<Dim>(&argument);
    return dim != nullptr && dim->is_constant() ? std::optional<int64_t>(dim->value) : std::nullopt;
  }

  // Of a dimension whose size is known.
  std::optional<Taken> taken_by(const Node& node) const {
    static_assert(size_t{arg::select_copy_int_out::dim} == size_t{arg::slice_copy_Tensor_out::dim} &&
                  size_t{arg::select_copy_int_out::index} == size_t{arg::slice_copy_Tensor_out::start});
    const bool selected = node.is(OpId::select_copy_int_out);
    if (!selected && !node.is(OpId::slice_copy_Tensor_out)) return std::nullopt;
    const ValueId* from = std::get_if<ValueId>(&node.args[0]);
    if (from == nullptr || !is_plain(*from) || !is_plain(node.results[0])) return std::nullopt;
    const std::vector<Dim>& shape = method_.tensor(*from).shape;
    const int64_t rank = static_cast<int64_t>(shape.size());
    const auto dim = number(node.args[arg::select_copy_int_out::dim], 0);
    if (!dim || *dim < -rank || *dim >= rank) return std::nullopt;
    Taken taken;
    taken.axis = *dim < 0 ? *dim + rank : *dim;
    taken.selected = selected;
    if (!shape[taken.axis].is_constant()) return std::nullopt;
    const int64_t size = shape[taken.axis].value;
    const auto begin = number(node.args[arg::select_copy_int_out::index], 0);
    if (!begin) return std::nullopt;
    taken.begin = *begin < 0 ? *begin + size : *begin;
    if (selected) {
      taken.count = 1;
    } else {
      const Dim count = method_.tensor(node.results[0]).shape[taken.axis];
      if (number(node.args[arg::slice_copy_Tensor_out::step], 1) != 1 || !count.is_constant()) return std::nullopt;
      taken.count = count.value;
    }
    const bool inside = taken.begin >= 0 && taken.count > 0 && taken.begin + taken.count <= size;
    return inside ? std::optional<Taken>(taken) : std::nullopt;
  }

  // The one part that all of it lies in.
  std::optional<Piece> piece_of(const Node& join, const Taken& taken) const {
    static_assert(size_t{arg::cat_out::dim} == size_t{arg::stack_out::dim});
    const bool stack = join.is(OpId::stack_out);
    if (!stack && !join.is(OpId::cat_out)) return std::nullopt;
    const int64_t rank = method_.tensor(join.results[0]).rank();
    const int64_t dim = std::get<Dim>(join.args[arg::cat_out::dim]).value;
    if ((dim < 0 ? dim + rank : dim) != taken.axis) return std::nullopt;
    int64_t before = 0;
    for (ValueId part : std::get<ir::ValueList>(join.args[arg::cat_out::tensors])) {
      const ir::TensorType& type = method_.tensor(part);
      if (!stack && type.rank() != rank) return std::nullopt;  // an empty one, of one dimension
      const Dim size = stack ? Dim(1) : type.shape[taken.axis];
      if (!size.is_constant()) return std::nullopt;
      const int64_t after = before + size.value;
      if (taken.begin >= before && taken.begin + taken.count <= after) {
        return Piece{part, taken.begin - before, taken.count == size.value, !stack};
      }
      before = after;
    }
    return std::nullopt;
  }

  Expected<ValueId> read_piece(ir::Builder& build, const Piece& piece, const Taken& taken, std::vector<int64_t> order,
                               const std::string& source) const {
    ValueId read = piece.part;
    const Dim axis(taken.axis), begin(piece.begin);
    if (!piece.whole) {
      const std::vector<Argument> slice = {read, axis, begin, Dim(piece.begin + taken.count), Dim(1)};
      BERTH_ASSIGN_OR_RETURN(read, build.one(OpId::slice_copy_Tensor_out, slice, source));
    }
    if (taken.selected == piece.has_axis) {
      std::vector<Dim> shape = method_.tensor(read).shape;
      const ptrdiff_t at = static_cast<ptrdiff_t>(taken.axis);
      if (piece.has_axis) {
        shape.erase(shape.begin() + at);
      } else {
        shape.insert(shape.begin() + at, Dim(1));
      }
      BERTH_ASSIGN_OR_RETURN(read, build.one(OpId::view_copy_out, {read, DimList(shape)}, source));
    }
    if (taken.selected) {
      order.erase(std::find(order.begin(), order.end(), taken.axis));
      for (int64_t& d : order) d -= d > taken.axis ? 1 : 0;
    }
    if (std::is_sorted(order.begin(), order.end())) return read;
    return build.one(OpId::permute_copy_out, {read, DimList(order.begin(), order.end())}, source);
  }

  ir::Method& method_;
  const Options& options_;
  OutputSet outputs_;
};

}  // namespace

Expected<Changed> read_pieces(ir::Module& module, const Options& options) {
  return rewrite(module, [&](ir::Module&, ir::Method& method) -> Visitor {
    return [reader = PieceReader(method, options)](ir::Builder& build, ir::NodeId id, bool*) mutable {
      return reader.visit(build, id);
    };
  });
}

}  // namespace berth::passes
