// Random graphs of what convolutional networks are made of, fused as in a delegate of the cpu target: outputs stay what
// the evaluator gave before. A failing graph is printed.
#include <cstdlib>
#include <map>
#include <sstream>

#include "compiler/fuse/testing.h"

namespace berth::fuse {
namespace {

using ir::Argument;
using ir::Dim;
using ir::DimList;
using ir::None;
using ir::OpId;
using ir::ValueId;

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {
    module_.methods.emplace_back();
    module_.methods[0].name = "forward";
  }

  ir::Module make() {
    input({1, 4, 6, 6});
    input({2, 3, 5, 4});
    input({3, 6});
    input({1, 5, 6});
    for (int i = 0; i < 30; ++i) step();
    // Distinct values that nodes made: what a caller gets.
    for (size_t i = values_.size(); i-- > 4 && method().body.outputs.size() < 4;) {
      method().body.outputs.emplace_back(values_[i]);
      i -= pick(3);
    }
    return std::move(module_);
  }

 private:
  ir::Method& method() { return module_.methods[0]; }
  size_t pick(size_t count) { return static_cast<size_t>(random_() % count); }
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(pick(static_cast<size_t>(high - low + 1)));
  }
  // Mostly one of the latest.
  ValueId any() {
    return values_[pick(3) == 0 ? pick(values_.size())
                                : values_.size() - 1 - pick(std::min<size_t>(4, values_.size()))];
  }
  const std::vector<Dim>& shape(ValueId v) { return method().tensor(v).shape; }

  void input(const std::vector<int64_t>& sizes) {
    ir::TensorType type;
    type.shape = ir::dims(sizes);
    values_.push_back(method().add_input(type, "x"));
  }

  ValueId constant(const std::vector<Dim>& sizes) {
    ir::TensorType type;
    type.shape = sizes;
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < ir::max_numel(type, module_.symbols); ++i) {
      const std::vector<uint8_t> one = ir::element_bytes(DType::kF32, static_cast<double>(number(-8, 8)) / 16);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    ir::Builder build(module_, method(), method().body);
    return build.constant(type, ir::Blob::owned(std::move(bytes)));
  }

  // Appends the node if its arguments fit; nothing otherwise.
  template <typename... A>
  ValueId node(OpId op, A&&... arguments) {
    std::vector<Argument> args;
    args.reserve(sizeof...(arguments));
    (args.emplace_back(std::forward<A>(arguments)), ...);
    ir::Builder build(module_, method(), method().body);
    const auto results = build.create(op, std::move(args), "");
    if (!results.ok()) return {};
    for (ValueId result : *results) {
      const ir::TensorType& type = method().tensor(result);
      const int64_t size = ir::max_numel(type, module_.symbols);
      if (type.dtype == DType::kF32 && size > 0 && size < 4096) values_.push_back(result);
    }
    return (*results)[0];
  }

  void step() {
    const ValueId x = any();
    switch (pick(12)) {
      case 0:
      case 1:
      case 2: return convolution(x);
      case 3:
      case 4: return unary(x);
      case 5: return binary(x);
      case 6: return product(x);
      case 7: return pool(x);
      case 8: return move(x);
      case 9: return join(x);
      case 10: return shuffle(x);
      default: return reduce(x);
    }
  }

  void unary(ValueId x) {
    const OpId ops[] = {OpId::relu_out, OpId::sigmoid_out, OpId::tanh_out, OpId::neg_out, OpId::abs_out};
    switch (pick(6)) {
      case 0: {
        const ValueId a = node(OpId::add_Scalar_out, x, 3.0, Dim(1));
        const ValueId h = node(OpId::hardtanh_out, a, 0.0, 6.0);
        const ValueId m = node(OpId::mul_out, x, h);
        node(OpId::mul_Scalar_out, m, 1.0 / 6);
        return;
      }
      case 1: node(OpId::mul_out, x, node(OpId::sigmoid_out, x)); return;
      case 2: node(OpId::clamp_out, x, -0.25, 0.75); return;
      case 3: node(OpId::gelu_out, x, std::string(pick(2) == 0 ? "none" : "tanh")); return;
      default: node(ops[pick(5)], x);
    }
  }

  void binary(ValueId x) {
    const OpId ops[] = {OpId::add_out, OpId::add_out, OpId::sub_out, OpId::mul_out, OpId::maximum_out};
    const OpId op = ops[pick(5)];
    if (pick(3) == 0) {
      std::vector<Dim> sizes = shape(x);
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (pick(2) == 0) sizes[d] = Dim(1);
      }
      node(op, x, constant(sizes));
      return;
    }
    // Often one of x's own shape.
    ValueId other = any();
    for (int i = 0; i < 6 && shape(other) != shape(x); ++i) other = any();
    node(op, x, other);
  }

  void product(ValueId x) {
    const std::vector<Dim> sizes = shape(x);
    if (sizes.empty() || sizes.back().value == 0) return;
    const Dim columns(number(1, 6));
    const ValueId w = constant({sizes.back(), columns});
    const ValueId bias = constant({columns});
    const ValueId rows = node(OpId::view_copy_out, x, DimList{Dim(-1), sizes.back()});
    if (!rows.valid()) return;
    const ValueId y = pick(2) == 0 ? node(OpId::mm_out, rows, w) : node(OpId::addmm_out, bias, rows, w, Dim(1), Dim(1));
    DimList back = sizes;
    back.back() = columns;
    if (y.valid()) node(OpId::view_copy_out, y, back);
  }

  void convolution(ValueId x) {
    if (shape(x).size() != 4) return;
    const Dim channels = shape(x)[1];
    const bool depthwise = pick(3) == 0;
    const Dim other = pick(2) == 0 ? channels : Dim(number(1, 6));
    const Dim size(number(1, 3));
    const ValueId w = depthwise ? constant({channels, Dim(1), size, size}) : constant({other, channels, size, size});
    Argument bias;
    if (pick(2) == 0) bias.emplace<ValueId>(constant({depthwise ? channels : other}));
    node(OpId::convolution_out, x, w, bias, DimList{Dim(pick(3) == 0 ? 2 : 1)}, DimList{Dim(size.value / 2)},
         DimList{Dim(1)}, false, DimList{Dim(0)}, depthwise ? channels : Dim(1));
  }

  void pool(ValueId x) {
    const DimList two = {Dim(2), Dim(2)};
    switch (pick(3)) {
      case 0:
        node(OpId::max_pool2d_with_indices_out, x, two, two, DimList{Dim(0), Dim(0)}, DimList{Dim(1), Dim(1)},
             pick(2) == 0);
        return;
      case 1: node(OpId::avg_pool2d_out, x, two, two, DimList{Dim(1), Dim(1)}, false, pick(2) == 0, None{}); return;
      default: node(OpId::upsample_nearest2d_vec_out, x, None{}, ir::FloatList{2.0, 2.0});
    }
  }

  void move(ValueId x) {
    switch (pick(4)) {
      case 0: node(OpId::view_copy_out, x, DimList{Dim(-1), Dim(1)}); return;
      case 1: node(OpId::transpose_copy_int_out, x, Dim(number(-2, 1)), Dim(number(-2, 1))); return;
      case 2:
        node(OpId::slice_copy_Tensor_out, x, Dim(number(-2, 1)), Dim(number(0, 1)), Dim(number(1, 9)), Dim(1));
        return;
      default: node(OpId::softmax_out, x, Dim(-1), false);
    }
  }

  void join(ValueId x) {
    if (pick(2) == 0) {
      node(OpId::cat_out, ir::ValueList{x, x}, Dim(1));
      return;
    }
    if (shape(x).size() != 4 || shape(x)[1].value < 2) return;
    node(OpId::split_with_sizes_copy_out, x, DimList{Dim(1), Dim(shape(x)[1].value - 1)}, Dim(1));
  }

  void shuffle(ValueId x) {
    const std::vector<Dim> s = shape(x);
    if (s.size() != 4) return;
    if (s[1].value % 2 != 0) {
      const ValueId rows = node(OpId::view_copy_out, x, DimList{s[0], s[1], Dim(s[2].value * s[3].value)});
      node(OpId::permute_copy_out, rows, ir::dims({0, 2, 1}));
      return;
    }
    const ValueId cut = node(OpId::view_copy_out, x, DimList{s[0], Dim(2), Dim(s[1].value / 2), s[2], s[3]});
    const ValueId turned = node(OpId::permute_copy_out, cut, ir::dims({0, 2, 1, 3, 4}));
    node(OpId::view_copy_out, turned, DimList(s));
  }

  void reduce(ValueId x) {
    if (shape(x).size() != 4) return;
    node(OpId::mean_out, x, ir::dims({2, 3}), pick(2) == 0, None{});
  }

  std::mt19937 random_;
  ir::Module module_;
  std::vector<ValueId> values_;
};

// How often each operator stood in what came out.
using Counts = std::map<std::string, int>;

void count(const std::string& operators, Counts* counts) {
  std::istringstream words(operators);
  for (std::string word; words >> word;) ++(*counts)[word];
}

void check(unsigned seed, Counts* counts) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  ir::Module module = Generator(seed).make();
  const Status sound = ir::verify(module);
  ASSERT_TRUE(sound.ok()) << sound.error().text();
  if (module.methods[0].body.outputs.empty()) return;
  count(fuse_module(std::move(module), seed, 1e-4).operators(), counts);
}

TEST(RandomGraphs, KeepTheirOutputsWhenFused) {
  Counts counts;
  if (const char* seed = std::getenv("BERTH_SEED")) return check(static_cast<unsigned>(std::atoi(seed)), &counts);
  for (unsigned seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) check(seed, &counts);
  for (const char* fused : {"berth::conv", "berth::linear", "berth::elementwise"})
    EXPECT_GT(counts[fused], 100) << fused;
}

}  // namespace
}  // namespace berth::fuse
