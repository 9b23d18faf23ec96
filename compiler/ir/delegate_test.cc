// Calls of delegates in the text and for the verifier.
#include "compiler/ir/delegate.h"

#include <gtest/gtest.h>

#include "base/target_device.h"
#include "compiler/ir/parse.h"
#include "compiler/ir/parse_testing.h"
#include "compiler/ir/print.h"
#include "compiler/ir/verify.h"

namespace berth::ir {
namespace {

Expected<Module> parsed(const std::string& text) { return parse(text, "t"); }

constexpr char kTwoKinds[] = R"(symbol n in [1, 8]
const @w: f32[3] = dense<[1, 2, 3]>
delegate @d0 "berth.sim" {target_device = "sim:1", level = "3"}
delegate @"odd name" "XnnpackBackend" {$"a key" = "\x00\xff\"", empty = ""} = hex"00ff10"
delegate @bare "B" = hex""
data "layer.weight" = hex"0102"
data "" = hex""

method forward(%x: f32[n,3]) {
  %w: f32[3] = const @w
  %a: f32[n,3]@sim:1 = et_copy::_h2d_copy(%x)
  %b: f32[n,3]@sim:1, %c: f32[n,3]@sim:1 = berth::delegate([%a, %a]) @d0 {
    (%i: f32[n,3]@sim:1, %j: f32[n,3]@sim:1)
    %k: f32[n,3]@sim:1 = aten::add.Tensor(%i, %w, 1) "Add_1"
    yield %k, %j
  } "Partition_0"
  %d: f32[n,3]@sim:1 = berth::_d2d_copy(%b)
  %e: f32[n,3] = et_copy::_d2h_copy(%d)
  %f: f32[2] = berth::delegate([%e, %e]) @"odd name"
  %g: f32[2] = berth::delegate([%f]) @bare
  return %g, %c
}
)";

TEST(Delegate, PrintsAndParsesBackWordByWord) {
  const auto module = parsed(kTwoKinds);
  ASSERT_TRUE(module.ok()) << module.error().text();
  // Holds row 99.
  EXPECT_EQ(print(*module), kTwoKinds);
  ASSERT_EQ(module->delegates.size(), 3u);
  const Delegate& foreign = module->delegates[{1}];
  EXPECT_EQ(foreign.name, "odd name");
  EXPECT_EQ(foreign.backend, "XnnpackBackend");
  ASSERT_EQ(foreign.specs.size(), 2u);
  EXPECT_EQ(foreign.specs[0].key, "a key");
  EXPECT_EQ(foreign.specs[0].value, std::string("\0\xff\"", 3));
  EXPECT_EQ(foreign.specs[1].value, "");
  ASSERT_TRUE(foreign.payload.has_value());
  EXPECT_EQ(foreign.payload->to_vector(), (std::vector<uint8_t>{0, 255, 16}));
  EXPECT_FALSE(module->delegates[{0}].payload.has_value());
  EXPECT_EQ(module->delegates[{2}].payload->size(), 0u);
  ASSERT_EQ(module->named_data.size(), 2u);
  EXPECT_EQ(module->named_data[0].key, "layer.weight");
  EXPECT_EQ(module->named_data[0].blob.to_vector(), (std::vector<uint8_t>{1, 2}));
  EXPECT_EQ(error_of("data \"a\" = hex\"\"\ndata \"a\" = hex\"\"\n"), "t:2: the data \"a\" are declared twice");
}

TEST(Delegate, ATensorIsOnTheHostUnlessItsTypeSaysOtherwise) {
  // Holds row 100.
  EXPECT_EQ(TensorType().device, Device(DeviceType::kCpu, 0));
  EXPECT_EQ(print(Type(TensorType()), Symbols()), "f32[]");
}

Delegate with_devices(const std::vector<std::string>& values) {
  Delegate delegate;
  delegate.name = "d";
  delegate.backend = "b";
  delegate.specs.push_back({"other", "7"});
  for (const std::string& value : values) delegate.specs.push_back({kTargetDevice, value});
  return delegate;
}

TEST(Delegate, TargetDeviceIsParsedStrictly) {
  const auto device = [](const std::string& text) { return delegate_device(with_devices({text})); };
  // Holds row 90.
  ASSERT_TRUE(device("cuda:0").ok());
  EXPECT_EQ(*device("cuda:0"), Device(DeviceType::kCuda, 0));
  EXPECT_EQ(*device("cuda:1"), Device(DeviceType::kCuda, 1));
  EXPECT_EQ(*device("cpu"), Device());
  // Holds row 92.
  EXPECT_EQ(*device("CUDA:0"), Device(DeviceType::kCuda, 0));
  EXPECT_EQ(*device("Cuda:2"), Device(DeviceType::kCuda, 2));
  EXPECT_EQ(*device("sim:127"), Device(DeviceType::kSim, 127));
  // Holds row 91.
  const auto unknown = device("tpu:0");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().text(),
            std::string("delegate @d: target_device \"tpu:0\" is not a device; expected one of the types ") +
                device_type_names() + ", all but cpu with an index from 0 to 127 as in cuda:0");
  for (const char* bad : {"cuda:-1", "cuda:300", "cuda:128", "cuda:", "cuda:01", "cuda: 1", "cuda:1 ", "", "cpu:1"}) {
    const auto refused = device(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_EQ(refused.error().code, Error::kInvalidArgument) << bad;
  }
}

TEST(Delegate, CallsOfWhatIsCompiledElsewhereHaveEffectsUnlessItSaysThatItIsPure) {
  Module module;
  Delegate delegate;
  delegate.backend = "acme.npu";
  module.delegates.push_back(delegate);
  Method method;
  Node node;
  node.op = &operator_of(OpId::delegate);
  node.delegate = DelegateId{0};
  const auto has_effects = [&] { return may_have_effects(module, method, node); };
  EXPECT_FALSE(has_effects()) << "a region of Berth's own operators";
  module.delegates[DelegateId{0}].payload = Blob::owned({1, 2, 3});
  EXPECT_TRUE(has_effects());
  module.delegates[DelegateId{0}].specs = {{kPureSpec, "1"}};
  EXPECT_FALSE(has_effects());
  module.delegates[DelegateId{0}].specs = {{kPureSpec, "yes"}};
  EXPECT_TRUE(has_effects());
  module.delegates[DelegateId{0}].backend = "berth.sim";
  EXPECT_FALSE(has_effects());
}

TEST(Delegate, TargetDeviceMayBeAbsentOrTwice) {
  // Holds row 93.
  EXPECT_EQ(*delegate_device(with_devices({})), Device());
  EXPECT_EQ(*delegate_device(with_devices({"cuda:0"})), Device(DeviceType::kCuda, 0));
  EXPECT_TRUE(delegate_device(with_devices({"cuda:0", "CUDA:0"})).ok());
  const auto conflict = delegate_device(with_devices({"cuda:0", "cuda:1"}));
  ASSERT_FALSE(conflict.ok());
  EXPECT_NE(conflict.error().text().find("target_device is both cuda:0 and cuda:1"), std::string::npos);
}

// A call of @d with this text behind it.
std::string call(const std::string& declaration, const std::string& behind) {
  return R"(
    const @w: f32[2] = splat<1>
    state @s: f32[2]
  )" + declaration +
         R"(
    method f(%x: f32[2], %y: f32[2]) {
      %w: f32[2] = const @w
      %r: f32[2] = berth::delegate([%x]))" +
         behind + R"(
    return %r, %y, %w
    })";
}

TEST(Delegate, ACallWithoutRegionAndPayloadIsRefused) {
  const std::string open = "delegate @d \"b\"";
  EXPECT_EQ(error_of(call(open, "@d {\n    (%i: f32[2])\n    yield %i\n  }")), "");
  // Holds row 101.
  EXPECT_NE(error_of(call(open, "@d")).find("expected one region, or a delegate that is compiled already"),
            std::string::npos);
  EXPECT_NE(error_of(call(open, "")).find("expected the name of a delegate"), std::string::npos);
  EXPECT_NE(error_of(call(open, "@e")).find("the delegate @e is not declared"), std::string::npos);
  EXPECT_NE(error_of(call(open + " = hex\"00\"", "@d {\n    (%i: f32[2])\n    yield %i\n  }")).find("compiled already"),
            std::string::npos);
  EXPECT_EQ(error_of(call(open + " = hex\"00\"", "@d")), "");
}

TEST(Delegate, ARegionSeesOnlyConstantsFromOutside) {
  const std::string open = "delegate @d \"b\"";
  EXPECT_EQ(
      error_of(call(open, "@d {\n    (%i: f32[2])\n    %k: f32[2] = aten::add.Tensor(%w, %i, 1)\n    yield %k\n  }")),
      "");
  EXPECT_NE(
      error_of(call(open, "@d {\n    (%i: f32[2])\n    %k: f32[2] = aten::add.Tensor(%i, %y, 1)\n    yield %k\n  }"))
          .find("uses %y, which its delegate's region neither takes nor has defined yet"),
      std::string::npos);
  EXPECT_NE(error_of(call(open, "@d {\n    (%i: f32[2])\n    yield %y\n  }")).find("uses %y"), std::string::npos);
  EXPECT_NE(error_of(call(open, "@d {\n    ()\n    yield %w\n  }")).find("inputs of the region"), std::string::npos);
  EXPECT_NE(error_of(call(open, "@d {\n    (%i: f32[2])\n    yield %i, none\n  }")).find("yields tensors"),
            std::string::npos);
  EXPECT_NE(error_of(call(open, "@d {\n    (%i: f32[2])\n    yield 1\n  }")).find("yields tensors"), std::string::npos);
  EXPECT_NE(error_of(call(open, "@d {\n    (%i: f32[2])\n    berth::state_write(%i) @s\n    yield %i\n  }"))
                .find("expected a region of operators, found berth::state_write"),
            std::string::npos);
}

TEST(Delegate, NamesBackendsAndSpecsAreChecked) {
  EXPECT_NE(error_of(R"(
    delegate @d "b"
    delegate @d "b")")
                .find("declared twice"),
            std::string::npos);
  EXPECT_NE(error_of("delegate @d \"\"").find("expected the name of a backend"), std::string::npos);
  EXPECT_NE(error_of("delegate @d \"b\" {target_device = \"gpu\"}").find(std::string("types ") + device_type_names()),
            std::string::npos);
  EXPECT_NE(error_of("delegate @d \"b\" {a}").find("expected '='"), std::string::npos);
  EXPECT_NE(error_of("delegate @d \"b\" {a = 1}").find("a compile spec's value in quotes"), std::string::npos);
  EXPECT_NE(error_of("delegate @d \"b\" = hex\"0\"").find("odd number"), std::string::npos);
  EXPECT_NE(error_of("delegate @d \"b\" = splat<1>").find("expected hex"), std::string::npos);
  EXPECT_NE(error_of("delegate @d \"b\" = ...").find("left out when the text was printed"), std::string::npos);
}

}  // namespace
}  // namespace berth::ir
