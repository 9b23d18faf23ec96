// Symbolic sizes, and sizes that a model reads from a tensor.
#include "compiler/import/pt2/symbols.h"

#include "compiler/import/pt2/run_testing.h"

namespace berth::pt2 {
namespace {

TEST(SymbolsPt2, SymbolsStaySymbols) {
  TestProgram p;
  p.symbol("s77", 2, 8);
  p.input("x", {kS77, 3});
  p.node("aten.sym_size.int", {{"self", tensor("x")}, {"dim", integer(0)}}, json::array({sym_int("n")}));
  p.node("aten.full.default", {{"size", sym_ints({{{"as_name", "n"}}, {{"as_int", 3}}})}, {"fill_value", real(0.5)}},
         "full", {kS77, 3});
  p.node("aten.add.Tensor", {{"self", tensor("x")}, {"other", tensor("full")}}, "y", {kS77, 3});
  p.output("y");
  p.special_output(sym_int("n"), {{"user_output", {{"arg", sym_int("n")}}}});
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_TRUE(says(ir::print(*module), "symbol s77 in [2, 8]"));
  EXPECT_TRUE(says(ir::print(*module), "return %y, s77"));
  EXPECT_EQ(numbers(run(*module, {floats({2, 3}, {1, 2, 3, 4, 5, 6})})[0]), Floats({1.5, 2.5, 3.5, 4.5, 5.5, 6.5}));
}

TEST(SymbolsPt2, ASizeThatIsTwiceASymbolGivesTheSymbol) {
  TestProgram p;  // x [2 s, 3] as [s, 2, 3]
  p.symbol("s77", 2, 8);
  const std::string twice = std::string("Mul(Integer(2), ") + kS77 + ")";
  p.input("x", {twice, 3});
  p.node("aten.view.default", {{"self", tensor("x")}, {"size", integers({-1, 2, 3})}}, "view", {kS77, 2, 3});
  p.node("aten.sum.dim_IntList", {{"self", tensor("view")}, {"dim", integers({1, 2})}}, "sum", {kS77});
  p.output("sum");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_TRUE(says(ir::print(*module), "symbol x_0 in [4, 16]"));
  EXPECT_EQ(numbers(run(*module, {floats({4, 3}, Floats(12, 1))})[0]), Floats({6, 6}));
}

// Two images side by side, s77 groups of one channel each; every group has two weights of its own, and two biases. The
// fear: channels of one image or group in the place of another's.
TEST(SymbolsPt2, AnOpenNumberOfGroupsIsConvolvedOneByOne) {
  TestProgram p;
  p.symbol("s77", 2, 8);
  const std::string twice = std::string("Mul(Integer(2), ") + kS77 + ")";
  for (const char* input : {"w", "b"}) p.input(input, {kS77, 2});
  p.input("x", {kS77, 2, 2});
  p.node("aten.sym_size.int", {{"self", tensor("x")}, {"dim", integer(0)}}, json::array({sym_int("n")}));
  p.node("aten.permute.default", {{"self", tensor("x")}, {"dims", integers({1, 0, 2})}}, "images", {2, kS77, 2});
  p.node("aten.view.default", {{"self", tensor("w")}, {"size", integers({-1, 1, 1})}}, "weight", {twice, 1, 1});
  p.node("aten.view.default", {{"self", tensor("b")}, {"size", integers({-1})}}, "bias", {twice});
  p.node(
      "aten.conv1d.default",
      {{"input", tensor("images")}, {"weight", tensor("weight")}, {"bias", tensor("bias")}, {"groups", sym_int("n")}},
      "y", {2, twice, 2});
  p.output("y");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  const auto y = run(*module, {floats({2, 2}, {1, 10, 100, 1000}), floats({2, 2}, {.25, .5, .75, .125}),
                               floats({2, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8})});
  EXPECT_EQ(numbers(y[0]), Floats({1.25, 2.25, 10.5, 20.5, 300.75, 400.75, 3000.125, 4000.125,  //
                                   5.25, 6.25, 50.5, 60.5, 700.75, 800.75, 7000.125, 8000.125}));
}

// PyTorch's `F.interpolate(x, scale_factor=1.5, mode="nearest-exact")`.
TEST(SymbolsPt2, SizesThatChangeAreResampledByScales) {
  TestProgram p;
  p.symbol("s77", 2, 8);
  p.input("x", {1, 1, kS77});
  p.node("aten._upsample_nearest_exact1d.vec",
         {{"input", tensor("x")}, {"output_size", nothing()}, {"scale_factors", {{"as_floats", {1.5}}}}}, "y",
         {1, 1, kS77});
  p.output("y");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(numbers(run(*module, {floats({1, 1, 2}, {1, 2})})[0]), Floats({1, 2, 2}));
  EXPECT_EQ(numbers(run(*module, {floats({1, 1, 4}, {1, 2, 3, 4})})[0]), Floats({1, 2, 2, 3, 4, 4}));
}

// PyTorch's `F.adaptive_avg_pool1d(x, 2)`: the windows of 3 share the middle.
TEST(SymbolsPt2, SizesThatChangeArePooledAdaptively) {
  TestProgram p;
  p.symbol("s77", 2, 8);
  p.input("x", {1, 1, kS77});
  p.node("aten.adaptive_avg_pool1d.default", {{"self", tensor("x")}, {"output_size", integers({2})}}, "y", {1, 1, 2});
  p.output("y");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(numbers(run(*module, {floats({1, 1, 3}, {1, 2, 3})})[0]), Floats({1.5, 2.5}));
  EXPECT_EQ(numbers(run(*module, {floats({1, 1, 4}, {1, 2, 3, 4})})[0]), Floats({1.5, 3.5}));
}

// PyTorch's `F.pad(x, (2, 1), mode="circular")`.
TEST(SymbolsPt2, SizesThatChangeArePaddedWithTheirOwnElements) {
  TestProgram p;
  p.symbol("s77", 2, 8);
  p.input("x", {1, 1, kS77});
  p.node("aten.pad.default", {{"self", tensor("x")}, {"pad", integers({2, 1})}, {"mode", text("circular")}}, "y",
         {1, 1, kS77});
  p.output("y");
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_EQ(numbers(run(*module, {floats({1, 1, 3}, {1, 2, 3})})[0]), Floats({2, 3, 1, 2, 3, 1}));
}

// Holds row 142.
TEST(SymbolsPt2, OpenSymbolsNeedABound) {
  TestProgram p;
  p.symbol("s77", 2, nullptr);
  p.input("x", {kS77, 3});
  p.output("x");
  EXPECT_TRUE(says(failure_of(p.import()), "has no upper bound"));
  EXPECT_TRUE(says(failure_of(p.import()), "--input-shape x=1..8x3"));
  ImportOptions options;
  options.input_shapes = {{"x", "2..5x3"}};
  const auto module = p.import(options);
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_TRUE(says(ir::print(*module), "symbol s77 in [2, 5]"));
  options.input_shapes = {{"x", "4x3"}};
  EXPECT_TRUE(says(ir::print(*p.import(options)), "f32[4,3]"));
}

TEST(SymbolsPt2, SizesAreBoundedAndRelatedByName) {
  TestProgram p;
  p.symbol("s77", 0, nullptr);
  p.symbol("s12", 2, 64);
  p.input("x", {kS77, "Symbol('s12', positive=True, integer=True)"});
  p.output("x");
  EXPECT_TRUE(says(failure_of(p.import()), "or pass --where s77=1..512"));
  ImportOptions options;
  options.where = {"s77=1..60", "s77%8==0", "s12<=s77"};
  const auto module = p.import(options);
  ASSERT_TRUE(module.ok()) << module.error().text();
  EXPECT_TRUE(says(ir::print(*module), "symbol s77 in [8, 56] step 8\nsymbol s12 in [2, 56]\nwhere s12 <= s77\n"));
  options = {};
  options.input_shapes = {{"x", "TxN"}};
  options.where = {"T=8", "N<=T"};
  EXPECT_TRUE(says(ir::print(*p.import(options)), "symbol N in [2, 8]"));
  options.where = {"T=8", "N=1..4"};
  EXPECT_TRUE(says(ir::print(*p.import(options)), "symbol N in [2, 4]"));  // the model's own range holds
}

TEST(SymbolsPt2, ContradictoryOptionsAreReported) {
  TestProgram p;
  p.symbol("s77", 2, 8);
  p.input("x", {kS77, 3});
  p.output("x");
  const std::pair<const char*, const char*> kCases[] = {{"1..9x3", "--input-shape says 1..9 for dimension 0"},
                                                        {"4x4", "--input-shape says 4 for dimension 1"},
                                                        {"4x4", "export the model with that shape, or with"},
                                                        {"4", "has 1 dimensions, the input 2"},
                                                        {"4y3", "is not a shape"}};
  for (const auto& [shape, message] : kCases) {
    ImportOptions options;
    options.input_shapes = {{"x", shape}};
    EXPECT_TRUE(says(failure_of(p.import(options)), message));
  }
  ImportOptions options;
  options.input_shapes = {{"y", "4"}};
  EXPECT_TRUE(says(failure_of(p.import(options)), "names no input of the model; it has: x"));
}

// torch.full([n, 3]) where n is read from a tensor and lies from 0 to 6.
TestProgram sized_by_an_item(const json& max) {
  TestProgram p;
  p.input("x", {}, kI64);
  p.symbol("u0", 0, max);
  p.sym_int_value("n", "Symbol('u0', integer=True)");
  p.node("aten.item.default", {{"self", tensor("x")}}, json::array({sym_int("n")}));
  p.node("aten.full.default", {{"size", sym_ints({{{"as_name", "n"}}, {{"as_int", 3}}})}, {"fill_value", real(0.5)}},
         "full", {"Symbol('u0', integer=True)", 3});
  p.output("full");
  return p;
}

eval::Item whole(int64_t number) { return array(DType::kI64, {}, Ints{number}); }

// Holds row 208.
TEST(SymbolsPt2, ItemsAreSizesWithinTheirBounds) {
  const TestProgram p = sized_by_an_item(6);
  EXPECT_EQ(numbers(run(p, {whole(2)})[0]), Floats(6, 0.5F));
  EXPECT_EQ(numbers(run(p, {whole(0)})[0]), Floats());
  const auto module = p.import();
  ASSERT_TRUE(module.ok());
  const ir::Method& method = module->methods[0];
  const auto& output = std::get<ir::ValueId>(method.body.outputs[0]);
  EXPECT_EQ(module->symbols.upper(method.tensor(output).shape[0]), 6);
}

TEST(SymbolsPt2, ItemsNeedBoundsToBeSizes) {
  EXPECT_TRUE(says(failure_of(sized_by_an_item(nullptr).import()),
                   "argument 'size' is a number that only the data tell, and nothing says how large it may be; "
                   "give it bounds"));
}

TEST(SymbolsPt2, ItemsStayInTensorsWherePossible) {
  TestProgram p;
  p.input("x", {2});
  p.input("k", {});
  p.node("aten.item.default", {{"self", tensor("k")}}, json::array({{{"as_sym_float", {{"as_name", "f"}}}}}));
  p.node("aten.mul.Tensor", {{"self", tensor("x")}, {"other", {{"as_sym_float", {{"as_name", "f"}}}}}}, "mul", {2});
  p.output("mul");
  p.special_output({{"as_sym_float", {{"as_name", "f"}}}},
                   {{"user_output", {{"arg", {{"as_sym_float", {{"as_name", "f"}}}}}}}});
  const auto outputs = run(p, {floats({2}, {1, 2}), floats({}, {2.5F})});
  EXPECT_EQ(numbers(outputs[0]), Floats({2.5F, 5}));
  EXPECT_EQ(numbers<double>(outputs[1]), std::vector<double>({2.5}));
}

// A Python number is 64 bits wide, whatever tensor it came out of.
TEST(SymbolsPt2, ItemsHavePythonsElementTypes) {
  TestProgram p;
  p.input("k", {});
  p.node("aten.item.default", {{"self", tensor("k")}}, json::array({{{"as_sym_float", {{"as_name", "f"}}}}}));
  p.special_output({{"as_sym_float", {{"as_name", "f"}}}},
                   {{"user_output", {{"arg", {{"as_sym_float", {{"as_name", "f"}}}}}}}});
  const auto module = p.import();
  ASSERT_TRUE(module.ok()) << module.error().text();
  const ir::Method& method = module->methods[0];
  EXPECT_EQ(method.tensor(std::get<ir::ValueId>(method.body.outputs[0])).dtype, DType::kF64);
}

}  // namespace
}  // namespace berth::pt2
