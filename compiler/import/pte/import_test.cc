// Straight lines, views and state. The figures are worked out by hand.
#include <cstdio>
#include <fstream>

#include "compiler/import/pte/import_testing.h"
#include "compiler/ir/own_operators.h"

namespace berth::pte::testing {
namespace {

// The fear: out variants lose an argument, or the constant its bytes. -1, 2, -3, 4 is the constant.
TEST(ImportPte, OutVariantsBecomeFunctional) {
  const ir::Module module = imported(format::testing::add_relu());
  const std::string text = ir::print(module);
  has(text, "aten::add.Tensor(%v0, %v1, 1)");
  has(text, "aten::relu(%v3)");
  EXPECT_EQ(numbers(run(module, {floats({4}, {1, 1, 1, 1})})[0]), (Floats{0, 3, 0, 5}));
}

TEST(ImportPte, OutVariantsKeepTheNamesThatBerthWrote) {
  ProgramDesc program = format::testing::add_relu();
  format::MethodMetaDesc meta;
  meta.name = "forward";
  meta.values = {{0, "image", ""}, {3, "sum", "Add_0"}};
  program.named_data = {format::meta_blob({"berth test", {meta}})};
  const std::string text = ir::print(imported(program));
  has(text, "%image: f32[4]");
  has(text, "%sum: f32[4] = aten::add.Tensor(%image, %v1, 1) \"Add_0\"");
}

// Of a program that another compiler made: lists, two results, and an overload of its own.
TEST(ImportPte, OperatorsOfOnesOwnComeInByName) {
  MethodDesc m;
  m.values = {tensor({4}, 0),
              tensor({4}, 16),
              tensor({4}, 32),
              2.5,
              tensor({4}, 48),
              format::TensorListDesc{{0, 1}},
              format::TensorListDesc{{2, 4}}};
  m.inputs = {0};
  m.outputs = {4};
  m.operators = {{"my::gain", "out"}, {"my::parts", "List_out"}};
  m.instructions = {KernelCallDesc{0, {0, 3, 1, 1}}, KernelCallDesc{1, {5, 2, 4, 6}}};
  ir::OperatorSet set;
  const auto like = [](const ir::OwnCall& call) { return Expected<std::vector<ir::TensorType>>({call.tensor(0)}); };
  ASSERT_TRUE(set.add({"my::gain", "Tensor self, float factor -> Tensor out", like}).ok());
  const auto two = [](const ir::OwnCall& call) {
    const ir::TensorType& first = call.query.method.tensor(std::get<ir::ValueList>(call.argument(0))[0]);
    return Expected<std::vector<ir::TensorType>>({first, first});
  };
  ASSERT_TRUE(set.add({"my::parts.List", "Tensor[] parts -> Tensor a, Tensor b", two}).ok());
  ImportOptions options;
  options.operators = std::make_shared<const ir::OperatorSet>(std::move(set));
  const auto module = import(program_of(m), options);
  ASSERT_TRUE(module.ok()) << module.error().text();
  const std::string text = ir::print(*module);
  has(text, "%v1: f32[4] = my::gain(%v0, 2.5)");
  has(text, "%v2: f32[4], %v4: f32[4] = my::parts.List([%v0, %v1])");
  has(refusal(program_of(m)), "my::gain.out");
  m.operators[1].overload = "out";
  const auto other = import(program_of(m), options);
  ASSERT_FALSE(other.ok());
  has(other.error().text(), "my::parts.out");
}

// x + x into a place, that times x into the same place: the first reader has the first value.
TEST(ImportPte, AnOffsetWrittenTwiceIsTwoValues) {
  MethodDesc m;
  m.values = {tensor({2}, 0), int64_t{1}, tensor({2}, 16), tensor({2}, 32)};
  m.inputs = {0};
  m.outputs = {2, 3};
  m.operators = {{"aten::add", "out"}, {"aten::neg", "out"}, {"aten::mul", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 0, 1, 2, 2}}, KernelCallDesc{1, {2, 3, 3}}, KernelCallDesc{2, {0, 0, 2, 2}}};
  const auto outputs = run(imported(program_of(m)), {floats({2}, {3, 5})});
  EXPECT_EQ(numbers(outputs[0]), (Floats{9, 25}));
  EXPECT_EQ(numbers(outputs[1]), (Floats{-6, -10}));
}

// x[mask] of one mask for the rows; how many it picks only the data tell.
TEST(ImportPte, MasksAmongIndicesAreThePlacesOfTruth) {
  MethodDesc m;
  m.values = {tensor({3, 2}, 0), tensor({3}, 64, DType::kBool), format::OptionalTensorListDesc{{1}},
              bounded({3, 2}, 128)};
  m.inputs = {0, 1};
  m.outputs = {3};
  m.operators = {{"aten::index", "Tensor_out"}};
  m.instructions = {KernelCallDesc{0, {0, 2, 3, 3}}};
  const ir::Module module = imported(program_of(m));
  const auto picked = [&](std::vector<uint8_t> mask) {
    return numbers(run(module, {floats({3, 2}, {1, 2, 3, 4, 5, 6}), array(DType::kBool, {3}, std::move(mask))})[0]);
  };
  EXPECT_EQ(picked({1, 0, 1}), (Floats{1, 2, 5, 6}));
  EXPECT_EQ(picked({0, 0, 0}), Floats());
}

// The fear: a shorter mask picks among the first rows, and one that is longer reads behind the last.
TEST(ImportPte, MasksHaveTheSizesOfWhatTheyPick) {
  const auto indexed = [](std::vector<int32_t> mask, std::vector<int32_t> indices) {
    MethodDesc m;
    m.values = {tensor({3, 2}, 0), tensor(mask, 64, DType::kBool), format::OptionalTensorListDesc{indices},
                bounded({3, 2}, 128)};
    m.inputs = {0, 1};
    m.outputs = {3};
    m.operators = {{"aten::index", "Tensor_out"}};
    m.instructions = {KernelCallDesc{0, {0, 2, 3, 3}}};
    return program_of(m);
  };
  for (const std::vector<int32_t>& mask : {std::vector<int32_t>{2}, {4}, {3, 3}, {2, 2}, {3, 2, 1}}) {
    has(refusal(indexed(mask, {1})), "a mask of other sizes than what it picks of");
  }
  has(refusal(indexed({3}, {-1, 1})), "a mask of other sizes than what it picks of");
  EXPECT_TRUE(import(indexed({3}, {1})).ok());
}

// Value 2 lies where value 1 does, under another shape; no instruction says so.
TEST(ImportPte, ElidedViewsSeeWhatWasWrittenThere) {
  MethodDesc m;
  m.values = {tensor({4}, 0), tensor({4}, 16), tensor({2, 2}, 16), tensor({2, 2}, 32)};
  m.inputs = {0};
  m.outputs = {3};
  m.operators = {{"aten::neg", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{0, {2, 3, 3}}};
  const ir::Module module = imported(program_of(m));
  has(ir::print(module), "aten::view_copy(%v1, [2, 2])");
  EXPECT_EQ(numbers(run(module, {floats({4}, {1, 2, 3, 4})})[0]), (Floats{1, 2, 3, 4}));
}

// Values 1 and 2 lie side by side, and value 3 is both: so a `cat` ends whose parts were computed in their places.
// berth.meta says whose parts they are; without it such a plan is refused.
TEST(ImportPte, ElidedViewsCombineSeveralWrites) {
  MethodDesc m;
  m.values = {tensor({2}, 0), tensor({2}, 16), tensor({2}, 24), tensor({2, 2}, 16), tensor({2, 2}, 48)};
  m.inputs = {0};
  m.outputs = {4};
  m.operators = {{"aten::neg", "out"}, {"aten::abs", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 1}}, KernelCallDesc{1, {0, 2, 2}}, KernelCallDesc{0, {3, 4, 4}}};
  ProgramDesc program = program_of(m);
  format::MethodMetaDesc meta;
  meta.name = "forward";
  meta.relations = {{1, 3, fb::RelationKind::VIEW}, {2, 3, fb::RelationKind::VIEW}};
  program.named_data = {format::meta_blob({"berth test", {meta}})};
  EXPECT_EQ(numbers(run(imported(program), {floats({2}, {1, 2})})[0]), (Floats{1, 2, -1, -2}));
}

// [2, 3] channels-first is written column by column: its bytes, read as [6], are the columns.
TEST(ImportPte, ElidedViewsFollowTheDimensionOrder) {
  MethodDesc m;
  TensorDesc columns = tensor({2, 3}, 32);
  columns.dim_order = {1, 0};
  m.values = {tensor({2, 3}, 0), columns, tensor({6}, 32), tensor({6}, 64), true, NullDesc{}};
  m.values[4] = false;
  m.inputs = {0};
  m.outputs = {3};
  m.operators = {{"dim_order_ops::_to_dim_order_copy", "out"}, {"aten::neg", "out"}};
  m.values.push_back(int64_t{1});  // 6
  m.values.push_back(int64_t{0});  // 7
  m.values.push_back(IntListDesc{{6, 7}});
  m.instructions = {KernelCallDesc{0, {0, 4, 8, 1, 1}}, KernelCallDesc{1, {2, 3, 3}}};
  const auto outputs = run(imported(program_of(m)), {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(outputs[0]), (Floats{-1, -4, -2, -5, -3, -6}));
}

// total += x, from 10: value 1 has an initial value.
ProgramDesc counter(bool initial) {
  MethodDesc m;
  TensorDesc total = tensor({2}, 16);
  total.data_buffer_idx = initial ? 1 : 0;
  m.values = {tensor({2}, 0), total, int64_t{1}, tensor({2}, 32), false};
  m.inputs = {0};
  m.outputs = {3};
  m.operators = {{"aten::add", "out"}, {"aten::copy_", ""}};
  m.instructions = {KernelCallDesc{0, {1, 0, 2, 3, 3}}, KernelCallDesc{1, {1, 3, 4, 1}}};
  ProgramDesc program = program_of(m);
  if (initial) program.initial_values = {format::Bytes::of(bytes_of<float>({10, 20}))};
  return program;
}

TEST(ImportPte, StatePersistsFromCallToCall) {
  const ir::Module module = imported(counter(true));
  States states;
  EXPECT_EQ(numbers(run(module, {floats({2}, {1, 2})}, &states)[0]), (Floats{11, 22}));
  EXPECT_EQ(numbers(run(module, {floats({2}, {1, 2})}, &states)[0]), (Floats{12, 24}));
}

TEST(ImportPte, UnmarkedStateIsFoundByBeingReadFirst) {
  const ir::Module module = imported(counter(false));
  ASSERT_EQ(module.states.size(), 1u);
  EXPECT_FALSE(module.states[{0}].initial.has_value());
  States states;
  EXPECT_EQ(numbers(run(module, {floats({2}, {1, 2})}, &states)[0]), (Floats{1, 2}));
  EXPECT_EQ(numbers(run(module, {floats({2}, {1, 2})}, &states)[0]), (Floats{2, 4}));
}

// A second method that only gives the total.
TEST(ImportPte, StateIsSharedByMethodsAtOneOffset) {
  ProgramDesc program = counter(true);
  MethodDesc m;
  m.name = "total";
  TensorDesc total = tensor({2}, 16);
  total.data_buffer_idx = 1;
  m.values = {total, tensor({2}, 32)};
  m.outputs = {1};
  m.operators = {{"aten::neg", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 1}}};
  m.arenas = {{1024, Device()}};
  program.methods.push_back(m);
  const ir::Module module = imported(program);
  ASSERT_EQ(module.states.size(), 1u);
  States states;
  run(module, {floats({2}, {1, 2})}, &states);
  EXPECT_EQ(numbers(run(module, {}, &states, 1)[0]), (Floats{-11, -22}));
}

// The copy into the state comes before the last reader of its first value.
TEST(ImportPte, StateReadAfterItIsWrittenHasTheNewValue) {
  ProgramDesc program = counter(true);
  MethodDesc& m = program.methods[0];
  m.values.push_back(tensor({2}, 48));  // 5
  m.operators.push_back({"aten::neg", "out"});
  m.instructions.push_back(KernelCallDesc{2, {1, 5, 5}});
  m.outputs = {5};
  EXPECT_EQ(numbers(run(imported(program), {floats({2}, {1, 2})})[0]), (Floats{-11, -22}));
}

TEST(ImportPte, WeightsStayInTheFile) {
  const std::string path = ::testing::TempDir() + "pte_import_weights.pte";
  const std::vector<uint8_t> bytes = format::testing::bytes_of(format::testing::add_relu());
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto module = import_pte(path, {});
  ASSERT_TRUE(module.ok()) << module.error().text();
  ASSERT_EQ(module->constants.size(), 1u);
  EXPECT_TRUE(module->constants[{0}].blob.is_mapped());
  EXPECT_EQ(module->constants[{0}].blob.to_vector(), bytes_of<float>({-1, 2, -3, 4}));
  std::remove(path.c_str());
}

TEST(ImportPte, WeightsOfAnotherFileAreRefusedByName) {
  ProgramDesc program = format::testing::add_relu();
  TensorDesc outside = tensor({4});
  outside.name = "layer.weight";
  outside.external = true;
  program.methods[0].values[1] = outside;
  has(refusal(program), "needs \"layer.weight\" of 16 bytes, which lies in a data file (.ptd)");
}

TEST(ImportPte, UnknownOperatorsAreNamed) {
  ProgramDesc program = format::testing::add_relu();
  program.methods[0].operators[1] = {"mine::relu", "out"};
  has(refusal(program), "method forward, instruction 1 mine::relu.out");
}

TEST(ImportPte, OperatorsWithAnotherShapeThanTheFilesAreRefused) {
  ProgramDesc program = format::testing::add_relu();
  program.methods[0].values[4] = tensor({3}, 32);
  has(refusal(program), "value 4 has size 3 in dimension 0 in the file, and the operator gives 4");
}

TEST(ImportPte, BrokenFilesAreRefused) {
  std::vector<uint8_t> bytes = format::testing::bytes_of(format::testing::add_relu());
  for (size_t size : {size_t{0}, size_t{8}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_FALSE(import_pte(Span<const uint8_t>(bytes.data(), size), {}).ok()) << size;
  }
  EXPECT_TRUE(looks_like_program({bytes.data(), bytes.size()}));
  bytes[4] = 'X';
  EXPECT_FALSE(looks_like_program({bytes.data(), bytes.size()}));
}

// A value over bytes that are still to be read: the meaning of such a plan is undefined.
TEST(ImportPte, PlansThatOverwriteAreRefused) {
  ProgramDesc program = format::testing::add_relu();
  program.methods[0].values[3] = tensor({4}, 0);
  program.methods[0].instructions.push_back(KernelCallDesc{1, {0, 4, 4}});
  has(refusal(program), "it writes value 3 over bytes of value 0");
}

}  // namespace
}  // namespace berth::pte::testing
