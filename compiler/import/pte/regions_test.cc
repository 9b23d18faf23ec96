// Sizes that are symbols, branches, loops and delegates. The figures are worked out by hand.
#include "compiler/import/pte/import_testing.h"

namespace berth::pte::testing {
namespace {

// y = view(-x, [n * 3]): the size is computed, the view an instruction.
TEST(Regions, SizesOfInputsBecomeSymbols) {
  MethodDesc m;
  m.values = {bounded({4, 3}, 0),  int64_t{0},       int64_t{0},        int64_t{3},        int64_t{0},
              bounded({4, 3}, 64), IntListDesc{{4}}, bounded({12}, 64), bounded({12}, 128)};
  m.inputs = {0};
  m.outputs = {8, 4};
  m.operators = {{"aten::sym_size", "int"},
                 {"executorch_prim::mul", "Scalar"},
                 {"aten::neg", "out"},
                 {"executorch_prim::et_view", "default"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 2}}, KernelCallDesc{1, {2, 3, 4}}, KernelCallDesc{2, {0, 5, 5}},
                    KernelCallDesc{3, {5, 6, 7}}, KernelCallDesc{2, {7, 8, 8}}};
  const ir::Module module = imported(program_of(m));
  const auto outputs = run(module, {floats({2, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(outputs[0]), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(std::get<int64_t>(outputs[1]), 6);
}

// The file bounds both sizes of x; that the second is 3 follows from what is added.
TEST(Regions, SizesAreNumbersWhereOperatorsLeaveNoChoice) {
  MethodDesc m;
  m.values = {bounded({4, 3}, 0), constant({3}, 1), int64_t{1}, bounded({4, 3}, 64)};
  m.inputs = {0};
  m.outputs = {3};
  m.operators = {{"aten::add", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 2, 3, 3}}};
  ProgramDesc program = program_of(m);
  program.constants = {format::Bytes::of(bytes_of<float>({10, 20, 30}))};
  const ir::Module module = imported(program);
  has(ir::print(module), "%v0: f32[s0_0,3]");
  EXPECT_EQ(numbers(run(module, {floats({1, 3}, {1, 2, 3})})[0]), (Floats{11, 22, 33}));
}

// A number that is read from a tensor stays there: as an output it is a tensor, and no operator takes it as a number
// (numbers_test.cc has those that take the tensor).
TEST(Regions, NumbersOutOfTensorsStayTensors) {
  MethodDesc m;
  m.values = {tensor({1}, 0), 0.0, tensor({1}, 16)};
  m.inputs = {0};
  m.outputs = {1};
  m.operators = {{"aten::_local_scalar_dense", ""}, {"aten::leaky_relu", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 1}}};
  EXPECT_EQ(numbers(run(imported(program_of(m)), {floats({1}, {2.5F})})[0]), (Floats{2.5F}));
  m.instructions.emplace_back(KernelCallDesc{1, {0, 1, 2, 2}});
  has(refusal(program_of(m)), "instruction 1 aten::leaky_relu.out: gets a number that is read from a tensor");
  m.values[0] = tensor({2}, 0);
  EXPECT_NE(refusal(program_of(m)), "");
}

// if p.item(): -x else x + x
TEST(Regions, NumbersOutOfTensorsDecideBranches) {
  MethodDesc m;
  m.values = {tensor({}, 0, DType::kBool), tensor({2}, 16), false, false, int64_t{1}, tensor({2}, 32)};
  m.inputs = {0, 1};
  m.outputs = {5};
  m.operators = {{"aten::_local_scalar_dense", ""}, {"aten::neg", "out"}, {"aten::add", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 2}}, JumpFalseDesc{2, 4}, KernelCallDesc{1, {1, 5, 5}}, JumpFalseDesc{3, 5},
                    KernelCallDesc{2, {1, 1, 4, 5, 5}}};
  const ir::Module module = imported(program_of(m));
  EXPECT_EQ(numbers(run(module, {truth(true), floats({2}, {3, 5})})[0]), (Floats{-3, -5}));
  EXPECT_EQ(numbers(run(module, {truth(false), floats({2}, {3, 5})})[0]), (Floats{6, 10}));
}

// p ? -x : x + x, as ExecuTorch writes it, then negated.
ProgramDesc branches() {
  MethodDesc m;
  m.values = {tensor({}, 0, DType::kBool),
              tensor({2}, 16),
              false,
              tensor({2}, 32),
              tensor({2}, 48),
              int64_t{1},
              tensor({2}, 64),
              tensor({2}, 80)};
  m.inputs = {0, 1};
  m.outputs = {7};
  m.operators = {{"aten::neg", "out"}, {"aten::add", "out"}};
  m.instructions = {JumpFalseDesc{0, 4},         KernelCallDesc{0, {1, 3, 3}},       MoveDesc{3, 6},
                    JumpFalseDesc{2, 6},         KernelCallDesc{1, {1, 1, 5, 4, 4}}, MoveDesc{4, 6},
                    KernelCallDesc{0, {6, 7, 7}}};
  return program_of(m);
}

TEST(Regions, BranchesBecomeRegions) {
  const ir::Module module = imported(branches());
  has(ir::print(module), "berth::if");
  EXPECT_EQ(numbers(run(module, {truth(true), floats({2}, {3, 5})})[0]), (Floats{3, 5}));
  EXPECT_EQ(numbers(run(module, {truth(false), floats({2}, {3, 5})})[0]), (Floats{-6, -10}));
}

// Both branches write one place, and no MoveCall says so: as Berth's own programs do.
TEST(Regions, BranchesThatWriteOneOffsetGiveOneResult) {
  ProgramDesc program = branches();
  MethodDesc& m = program.methods[0];
  m.instructions = {JumpFalseDesc{0, 3}, KernelCallDesc{0, {1, 6, 6}}, JumpFalseDesc{2, 4},
                    KernelCallDesc{1, {1, 1, 5, 6, 6}}, KernelCallDesc{0, {6, 7, 7}}};
  const ir::Module module = imported(program);
  EXPECT_EQ(numbers(run(module, {truth(true), floats({2}, {3, 5})})[0]), (Floats{3, 5}));
  EXPECT_EQ(numbers(run(module, {truth(false), floats({2}, {3, 5})})[0]), (Floats{-6, -10}));
}

// A value that one branch alone gives, read behind both.
TEST(Regions, BranchesDoNotDefineWhatOnlyOneOfThemGives) {
  ProgramDesc program = branches();
  MethodDesc& m = program.methods[0];
  m.instructions[6] = KernelCallDesc{0, {3, 7, 7}};
  EXPECT_FALSE(import(program).ok());
}

// Branches on what is known now are not branches: only the one taken is read.
TEST(Regions, BranchesOnConstantsAreFollowed) {
  ProgramDesc program = branches();
  program.methods[0].values[0] = true;
  program.methods[0].inputs = {1};
  const ir::Module module = imported(program);
  EXPECT_EQ(ir::print(module).find("berth::if"), std::string::npos);
  EXPECT_EQ(numbers(run(module, {floats({2}, {3, 5})})[0]), (Floats{3, 5}));
}

// ExecuTorch's map: -row for each row of x[3, 2].
ProgramDesc map_rows() {
  MethodDesc m;
  m.values = {tensor({3, 2}, 0), int64_t{0},          int64_t{0}, int64_t{0}, tensor({2}, 32),
              tensor({2}, 48),   bounded({3, 2}, 64), int64_t{1}, false,      tensor({3, 2}, 96)};
  m.inputs = {0};
  m.outputs = {9};
  m.operators = {{"aten::sym_size", "int"},
                 {"aten::select_copy", "int_out"},
                 {"aten::neg", "out"},
                 {"executorch_prim::et_copy_index", "tensor"},
                 {"executorch_prim::add", "Scalar"},
                 {"executorch_prim::eq", "Scalar"},
                 {"executorch_prim::sub", "Scalar"}};
  m.instructions = {KernelCallDesc{0, {0, 1, 2}}, KernelCallDesc{1, {0, 1, 3, 4, 4}}, KernelCallDesc{2, {4, 5, 5}},
                    KernelCallDesc{3, {6, 5, 3}}, KernelCallDesc{4, {3, 7, 3}},       KernelCallDesc{5, {3, 2, 8}},
                    JumpFalseDesc{8, 1},          KernelCallDesc{6, {3, 2, 3}},       KernelCallDesc{2, {6, 9, 9}}};
  return program_of(m);
}

TEST(Regions, MapsBecomeScans) {
  const ir::Module module = imported(map_rows());
  const std::string text = ir::print(module);
  has(text, "berth::scan(3");
  const Floats rows = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(numbers(run(module, {floats({3, 2}, rows)})[0]), rows);
}

// The running sum of the rows: what goes around is written by copy_.
TEST(Regions, LoopsCarryWhatIsCopied) {
  ProgramDesc program = map_rows();
  MethodDesc& m = program.methods[0];
  m.values.push_back(tensor({2}, 128));  // 10: the sum
  m.values.push_back(constant({2}, 1));  // 11: where it starts
  m.operators.push_back({"aten::copy_", ""});
  m.operators.push_back({"aten::add", "out"});
  m.instructions = {
      KernelCallDesc{0, {0, 1, 2}},        KernelCallDesc{7, {10, 11, 8, 10}}, KernelCallDesc{1, {0, 1, 3, 4, 4}},
      KernelCallDesc{8, {10, 4, 7, 5, 5}}, KernelCallDesc{7, {10, 5, 8, 10}},  KernelCallDesc{3, {6, 5, 3}},
      KernelCallDesc{4, {3, 7, 3}},        KernelCallDesc{5, {3, 2, 8}},       JumpFalseDesc{8, 2},
      KernelCallDesc{6, {3, 2, 3}},        KernelCallDesc{2, {6, 9, 9}}};
  m.outputs = {9, 10};
  program.constants = {format::Bytes::of(bytes_of<float>({100, 200}))};
  const auto outputs = run(imported(program), {floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(outputs[0]), (Floats{-101, -202, -104, -206, -109, -212}));
  EXPECT_EQ(numbers(outputs[1]), (Floats{109, 212}));
}

TEST(Regions, OtherLoopsAreRefused) {
  ProgramDesc program = map_rows();
  MethodDesc& m = program.methods[0];
  m.operators[5] = {"executorch_prim::ge", "Scalar"};
  has(refusal(program), "is not a loop that ExecuTorch's map or scan makes");
  program = map_rows();
  program.methods[0].values[3] = int64_t{1};  // from the second row on
  has(refusal(program), "is not a loop that ExecuTorch's map or scan makes");
}

// Berth's while: x doubled as long as its first element is below 10. Value 1 goes around; 5 is free for the body.
ProgramDesc doubling() {
  MethodDesc m;
  m.values = {
      tensor({2}, 0), tensor({2}, 16), tensor({}, 32),  int64_t{0}, 10.0, tensor({2}, 48), tensor({}, 64, DType::kBool),
      int64_t{1},     false,           tensor({2}, 80), NullDesc{}};
  m.inputs = {0};
  m.outputs = {9};
  m.operators = {{"aten::clone", "out"},
                 {"aten::select_copy", "int_out"},
                 {"aten::lt", "Scalar_out"},
                 {"aten::add", "out"},
                 {"aten::neg", "out"}};
  m.instructions = {KernelCallDesc{0, {0, 10, 1, 1}},    // goes around
                    KernelCallDesc{1, {1, 3, 3, 2, 2}},  // 1: head
                    KernelCallDesc{2, {2, 4, 6, 6}},
                    JumpFalseDesc{6, 7},  // out
                    KernelCallDesc{3, {1, 1, 7, 5, 5}},
                    KernelCallDesc{0, {5, 10, 1, 1}},
                    JumpFalseDesc{8, 1},  // back
                    KernelCallDesc{4, {1, 9, 9}}};
  return program_of(m);
}

TEST(Regions, BerthsWhileBecomesAWhile) {
  const ir::Module module = imported(doubling());
  has(ir::print(module), "berth::while");
  EXPECT_EQ(numbers(run(module, {floats({2}, {3, 5})})[0]), (Floats{-12, -20}));
  EXPECT_EQ(numbers(run(module, {floats({2}, {30, 5})})[0]), (Floats{-30, -5}));
}

// What lay where the body works is dead before the loop; it does not go around.
TEST(Regions, LoopsDoNotCarryMemoryThatWasFreeBefore) {
  ProgramDesc program = doubling();
  MethodDesc& m = program.methods[0];
  m.values.push_back(tensor({4}, 48));  // 11: dead once 12 is made
  m.values.push_back(tensor({4}, 96));
  m.values.push_back(constant({4}, 1));
  program.constants = {format::Bytes::of(bytes_of<float>({1, 2, 3, 4}))};
  m.instructions.insert(m.instructions.begin(), {KernelCallDesc{4, {13, 11, 11}}, KernelCallDesc{4, {11, 12, 12}}});
  m.instructions[5] = JumpFalseDesc{6, 9};
  m.instructions[8] = JumpFalseDesc{8, 3};
  const ir::Module module = imported(program);
  EXPECT_EQ(numbers(run(module, {floats({2}, {3, 5})})[0]), (Floats{-12, -20}));
}

// Berth's scan: the running sum of the rows of x [3, 2], and each row's negation stacked.
ProgramDesc summed_rows() {
  MethodDesc m;
  m.values = {tensor({3, 2}, 0), tensor({2}, 32), constant({2}, 1),    int64_t{0}, int64_t{3}, false,
              tensor({2}, 48),   tensor({2}, 64), tensor({3, 2}, 128), int64_t{1}, int64_t{0}, false,
              NullDesc{},        tensor({2}, 96)};
  m.inputs = {0};
  m.outputs = {1, 8};
  m.operators = {{"aten::clone", "out"},
                 {"executorch_prim::sub", "Scalar"},
                 {"executorch_prim::lt", "Scalar"},
                 {"aten::select_copy", "int_out"},
                 {"aten::add", "out"},
                 {"aten::neg", "out"},
                 {"executorch_prim::et_copy_index", "tensor"},
                 {"executorch_prim::add", "Scalar"}};
  m.instructions = {KernelCallDesc{0, {2, 12, 1, 1}},
                    KernelCallDesc{1, {3, 3, 3}},
                    KernelCallDesc{2, {3, 4, 5}},  // 2: head
                    JumpFalseDesc{5, 11},
                    KernelCallDesc{3, {0, 10, 3, 6, 6}},
                    KernelCallDesc{4, {1, 6, 9, 7, 7}},
                    KernelCallDesc{5, {6, 13, 13}},
                    KernelCallDesc{6, {8, 13, 3}},
                    KernelCallDesc{0, {7, 12, 1, 1}},
                    KernelCallDesc{7, {3, 9, 3}},
                    JumpFalseDesc{11, 2}};
  ProgramDesc program = program_of(m);
  program.constants = {format::Bytes::of(bytes_of<float>({100, 200}))};
  return program;
}

TEST(Regions, BerthsScanBecomesAScan) {
  const ir::Module module = imported(summed_rows());
  has(ir::print(module), "berth::scan(3");
  const auto outputs = run(module, {floats({3, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(outputs[0]), (Floats{109, 212}));
  EXPECT_EQ(numbers(outputs[1]), (Floats{-1, -2, -3, -4, -5, -6}));
}

// The rows of an input whose columns lie together are put in order first; a row's type says nothing of the old order.
TEST(Regions, LoopsReadRowsOfAnotherDimensionOrder) {
  ProgramDesc program = summed_rows();
  std::get<TensorDesc>(program.methods[0].values[0]).dim_order = {1, 0};
  const ir::Module module = imported(program);
  const ir::Method& method = module.methods[0];
  int loops = 0;
  for (const ir::NodeId id : method.body.nodes) {
    const ir::Node& node = method.node(id);
    if (node.op->id != ir::OpId::scan) continue;
    ++loops;
    for (const ir::ValueId input : node.regions[0].inputs) EXPECT_TRUE(method.tensor(input).dim_order.size() <= 1);
  }
  EXPECT_EQ(loops, 1);
}

// Sizes of a delegate's results that the file only bounds.
TEST(Regions, DelegatesMayGiveSizesKnownOnlyToThem) {
  MethodDesc m;
  m.values = {tensor({4}, 0), bounded({4}, 16), bounded({4}, 32)};
  m.inputs = {0};
  m.outputs = {2};
  m.operators = {{"aten::neg", "out"}};
  m.delegates = {{"Chip", 0, {}}};
  m.instructions = {DelegateCallDesc{0, {0, 1}}, KernelCallDesc{0, {1, 2, 2}}};
  ProgramDesc program = program_of(m);
  program.payloads = {format::Bytes::of({1, 2, 3})};
  has(ir::print(imported(program)), "%v1: f32[v1_0]");
}

// What a MoveCall in each branch names has no write of its own: it is read by the delegate all the same, not given.
TEST(Regions, DelegatesReadWhatBranchesGive) {
  ProgramDesc program = branches();
  MethodDesc& m = program.methods[0];
  m.delegates = {{"Chip", 0, {}}};
  m.instructions.back() = DelegateCallDesc{0, {6, 7}};
  program.payloads = {format::Bytes::of({1, 2, 3})};
  const auto module = import(program);
  ASSERT_TRUE(module.ok()) << module.error().text();
  has(ir::print(*module), "%v7: f32[2] = berth::delegate([%v6])");
}

TEST(Regions, DelegatesKeepTheirContents) {
  MethodDesc m;
  m.values = {tensor({4}, 0), tensor({4}, 16), tensor({4}, 32)};
  m.inputs = {0};
  m.outputs = {2};
  m.operators = {{"aten::neg", "out"}};
  m.delegates = {{"Chip", 0, {{"mode", {'f', 0, 's', 't'}}}}};
  m.instructions = {DelegateCallDesc{0, {0, 1}}, KernelCallDesc{0, {1, 2, 2}}};
  ProgramDesc program = program_of(m);
  program.payloads = {format::Bytes::of({1, 2, 3})};
  const ir::Module module = imported(program);
  ASSERT_EQ(module.delegates.size(), 1u);
  const ir::Delegate& delegate = module.delegates[{0}];
  EXPECT_EQ(delegate.backend, "Chip");
  ASSERT_TRUE(delegate.payload.has_value());
  EXPECT_EQ(delegate.payload->to_vector(), (std::vector<uint8_t>{1, 2, 3}));
  ASSERT_EQ(delegate.specs.size(), 1u);
  EXPECT_EQ(delegate.specs[0].key, "mode");
  EXPECT_EQ(delegate.specs[0].value, std::string("f\0st", 4));
  has(ir::print(module), "%v1: f32[4] = berth::delegate([%v0])");
}

TEST(Regions, DelegatesKeepTheDataTheyFindByName) {
  MethodDesc m;
  m.values = {tensor({4}, 0), tensor({4}, 16)};
  m.inputs = {0};
  m.outputs = {1};
  m.delegates = {{"Chip", 0, {}}};
  m.instructions = {DelegateCallDesc{0, {0, 1}}};
  ProgramDesc program = program_of(m);
  program.payloads = {format::Bytes::of({1, 2, 3})};
  program.named_data = {{"weights", format::Bytes::of({4, 5}), 16}, format::meta_blob({"berth test", {}})};
  const ir::Module module = imported(program);
  ASSERT_EQ(module.named_data.size(), 1u);
  EXPECT_EQ(module.named_data[0].key, "weights");
  EXPECT_EQ(module.named_data[0].blob.to_vector(), (std::vector<uint8_t>{4, 5}));
  program.methods[0].delegates.clear();
  program.methods[0].operators = {{"aten::neg", "out"}};
  program.methods[0].instructions = {KernelCallDesc{0, {0, 1, 1}}};
  EXPECT_TRUE(imported(program).named_data.empty());
}

// The fear: a small file with many names for its largest segment, and a program of all of them.
TEST(Regions, DelegatesShareDataWithTwoNames) {
  MethodDesc m;
  m.values = {tensor({4}, 0), tensor({4}, 16)};
  m.inputs = {0};
  m.outputs = {1};
  m.delegates = {{"Chip", 0, {}}};
  m.instructions = {DelegateCallDesc{0, {0, 1}}};
  ProgramDesc program = program_of(m);
  program.payloads = {format::Bytes::of({1, 2, 3})};
  program.named_data = {{"a", format::Bytes::of(std::vector<uint8_t>(1000, 7)), 16}, {"b", {}, 16, 0}};
  const ir::Module module = imported(program);
  ASSERT_EQ(module.named_data.size(), 2u);
  EXPECT_EQ(module.named_data[0].blob.size(), 1000u);
  EXPECT_EQ(module.named_data[1].blob.bytes().data(), module.named_data[0].blob.bytes().data());
}

}  // namespace
}  // namespace berth::pte::testing
