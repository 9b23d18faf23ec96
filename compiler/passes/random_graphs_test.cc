// Random graphs through the whole list of passes: outputs stay what the evaluator gave before. A failing graph is
// printed, so that it can become a test of the pass that broke it.
#include <cstdlib>

#include "compiler/passes/testing.h"

namespace berth::passes {
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
    method().name = "forward";
  }

  ir::Module make() {
    input({2, 3});
    input({1, 4, 5, 5});
    input({4, 6});
    for (int i = 0; i < 40; ++i) step();
    for (int i = 0; i < 4; ++i) method().body.outputs.push_back(values_[values_.size() - 1 - pick(8)]);
    return std::move(module_);
  }

 private:
  ir::Method& method() { return module_.methods[0]; }
  size_t pick(size_t count) { return static_cast<size_t>(random_() % count); }
  int64_t number(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(pick(static_cast<size_t>(high - low + 1)));
  }
  ValueId any() { return values_[pick(values_.size())]; }
  int64_t rank(ValueId v) { return method().tensor(v).rank(); }
  const std::vector<Dim>& shape(ValueId v) { return method().tensor(v).shape; }

  void input(const std::vector<int64_t>& sizes) {
    ir::TensorType type;
    type.shape = ir::dims(sizes);
    values_.push_back(method().add_input(type, "x"));
  }

  // Mostly small numbers; often one that passes look for, everywhere or not.
  ValueId constant(const std::vector<Dim>& sizes) {
    ir::Builder build(module_, method(), method().body);
    const double special[] = {0, 1, -0.5, 2};
    if (pick(3) == 0) return build.splat(DType::kF32, sizes, special[pick(4)]);
    ir::TensorType type;
    type.shape = sizes;
    std::vector<uint8_t> bytes;
    for (int64_t i = 0; i < ir::max_numel(type, module_.symbols); ++i) {
      const std::vector<uint8_t> one = ir::element_bytes(DType::kF32, static_cast<double>(number(-8, 8)) / 8 + 0.0625);
      bytes.insert(bytes.end(), one.begin(), one.end());
    }
    return build.constant(type, ir::Blob::owned(std::move(bytes)));
  }

  // Appends the node if its arguments fit; nothing otherwise.
  template <typename... A>
  void node(OpId op, A&&... arguments) {
    std::vector<Argument> args;
    args.reserve(sizeof...(arguments));
    (args.emplace_back(std::forward<A>(arguments)), ...);
    ir::Builder build(module_, method(), method().body);
    const auto results = build.create(op, std::move(args), "");
    if (!results.ok()) return;
    for (ValueId result : *results) {
      const ir::TensorType& type = method().tensor(result);
      const int64_t size = ir::max_numel(type, module_.symbols);
      if (type.dtype == DType::kF32 && size > 0 && size < 4096) values_.push_back(result);
    }
  }

  void step() {
    const ValueId x = any();
    switch (pick(12)) {
      case 0:
      case 1: return unary(x);
      case 2: return binary(x);
      case 3: return with_constant(x);
      case 4: return view(x);
      case 5: return reorder(x);
      case 6: return cut(x);
      case 7: return node(OpId::cat_out, ir::ValueList{x, pick(3) == 0 ? any() : x}, Dim(number(-2, 1)));
      case 8: return product(x);
      case 9: return convolution(x);
      case 10: return norm(x);
      default: return reduce(x);
    }
  }

  void unary(ValueId x) {
    const OpId ops[] = {OpId::relu_out, OpId::neg_out, OpId::tanh_out, OpId::sigmoid_out, OpId::abs_out};
    switch (pick(8)) {
      case 0: return node(OpId::clone_out, x);
      case 1: return node(OpId::add_Scalar_out, x, Dim(number(-1, 1)), Dim(1));
      case 2: return node(OpId::mul_Scalar_out, x, static_cast<double>(number(0, 2)) / 2);
      default: return node(ops[pick(5)], x);
    }
  }

  void binary(ValueId x) {
    const OpId ops[] = {OpId::add_out, OpId::sub_out, OpId::mul_out, OpId::maximum_out};
    node(ops[pick(4)], x, any());
  }

  // With a constant of x's shape, of some of its dimensions, or of its channels.
  void with_constant(ValueId x) {
    std::vector<Dim> sizes = shape(x);
    const size_t kept = pick(3);
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (kept == 0 || (kept == 1 && d != 1)) sizes[d] = Dim(1);
    }
    if (pick(3) == 0 && !sizes.empty()) sizes.erase(sizes.begin());
    const ValueId c = constant(sizes);
    const OpId ops[] = {OpId::add_out, OpId::sub_out, OpId::mul_out};
    const OpId op = ops[pick(3)];
    if (pick(3) == 0) {
      node(op, c, x);
    } else {
      node(op, x, c);
    }
    // Constants meet each other too.
    if (pick(2) == 0) values_.push_back(c);
  }

  void view(ValueId x) {
    const int64_t size = ir::max_numel(method().tensor(x), module_.symbols);
    switch (pick(5)) {
      case 0: return node(OpId::view_copy_out, x, DimList{Dim(-1)});
      case 1: return node(OpId::view_copy_out, x, DimList{Dim(size % 2 == 0 ? 2 : 1), Dim(-1)});
      case 2: return node(OpId::unsqueeze_copy_out, x, Dim(number(-1, 1)));
      case 3: return node(OpId::squeeze_copy_dim_out, x, Dim(number(-1, 1)));
      default: return node(OpId::view_copy_out, x, DimList(shape(x)));
    }
  }

  void reorder(ValueId x) {
    if (pick(2) == 0) return node(OpId::transpose_copy_int_out, x, Dim(number(-2, 1)), Dim(number(-2, 1)));
    DimList order;
    for (int64_t d = 0; d < rank(x); ++d) order.push_back(Dim(d));
    std::shuffle(order.begin(), order.end(), random_);
    node(OpId::permute_copy_out, x, order);
  }

  void cut(ValueId x) {
    switch (pick(5)) {
      case 0: return node(OpId::slice_copy_Tensor_out, x, Dim(number(-2, 1)), Dim(number(0, 1)), Dim(number(1, 9)));
      case 1: return node(OpId::select_copy_int_out, x, Dim(number(-2, 1)), Dim(0));
      case 2: return node(OpId::constant_pad_nd_out, x, DimList{Dim(number(0, 1)), Dim(0)}, Dim(0));
      case 3: return node(OpId::expand_copy_out, x, DimList{Dim(2), Dim(number(1, 3)), Dim(-1)});
      default: return node(OpId::flip_out, x, DimList{Dim(number(-2, 1))});
    }
  }

  void product(ValueId x) {
    if (rank(x) != 2) return;
    const Dim columns(number(1, 5));
    const ValueId w = constant({shape(x)[1], columns});
    const ValueId bias = constant({columns});
    if (pick(2) == 0) return node(OpId::mm_out, x, w);
    node(OpId::addmm_out, bias, x, w, Dim(1), Dim(pick(4) == 0 ? 2 : 1));
  }

  void convolution(ValueId x) {
    if (rank(x) != 4) return;
    const Dim channels = shape(x)[1];
    const bool transposed = pick(3) == 0;
    const bool depthwise = pick(3) == 0;
    const Dim other(number(1, 3));
    const Dim groups = depthwise ? channels : Dim(1);
    const ValueId w = transposed
                          ? constant({channels, other, Dim(2), Dim(2)})
                          : constant({depthwise ? channels : other, depthwise ? Dim(1) : channels, Dim(2), Dim(2)});
    const Dim out = transposed ? Dim(other.value * groups.value) : depthwise ? channels : other;
    Argument bias;
    if (pick(2) == 0) bias.emplace<ValueId>(constant({out}));
    node(OpId::convolution_out, x, w, bias, DimList{Dim(1)}, DimList{Dim(1)}, DimList{Dim(1)}, transposed,
         DimList{Dim(0)}, groups);
  }

  void norm(ValueId x) {
    if (rank(x) < 2) return;
    const std::vector<Dim> channels = {shape(x)[1]};
    Argument weight;
    if (pick(3) != 0) weight.emplace<ValueId>(constant(channels));
    const ValueId bias = constant(channels);
    const ValueId mean = constant(channels);
    ir::Builder build(module_, method(), method().body);
    const ValueId variance = build.splat(DType::kF32, channels, 0.25);
    node(OpId::native_batch_norm_legit_no_training_out, x, weight, bias, mean, variance, 0.1, 1e-3);
  }

  void reduce(ValueId x) {
    const OpId op = pick(2) == 0 ? OpId::mean_out : OpId::sum_IntList_out;
    node(op, x, DimList{Dim(number(-1, 1))}, pick(2) == 0, None{});
  }

  std::mt19937 random_;
  ir::Module module_;
  std::vector<ValueId> values_;
};

void check(unsigned seed) {
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  ir::Module module = Generator(seed).make();
  const Status sound = ir::verify(module);
  ASSERT_TRUE(sound.ok()) << sound.error().text();
  const std::string text = ir::print(module);
  const std::vector<eval::Item> inputs = random_inputs(module, module.methods[0], seed);
  const auto expected = eval::evaluate(module, module.methods[0], inputs);
  ASSERT_TRUE(expected.ok()) << expected.error().text() << "\n" << text;
  Options options;
  options.verify = true;
  const Status done = run(pipeline(), module, options);
  ASSERT_TRUE(done.ok()) << done.error().text() << "\n" << text;
  const auto found = eval::evaluate(module, module.methods[0], inputs);
  ASSERT_TRUE(found.ok()) << found.error().text() << "\n" << text;
  for (size_t i = 0; i < expected->size(); ++i) {
    SCOPED_TRACE("output " + std::to_string(i));
    expect_close((*expected)[i], (*found)[i], 1e-4);
    if (testing::Test::HasFailure()) FAIL() << text << "\nafter\n" << ir::print(module);
  }
}

TEST(RandomGraphs, KeepTheirOutputs) {
  if (const char* seed = std::getenv("BERTH_SEED")) return check(static_cast<unsigned>(std::atoi(seed)));
  for (unsigned seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) check(seed);
}

}  // namespace
}  // namespace berth::passes
