// Memory of several devices: which arenas a method has, in what order, and what lies where.
#include "base/text_testing.h"
#include "compiler/emit/delegates.h"
#include "compiler/emit/emit_testing.h"

namespace berth::emit {
namespace {

using testing::listing;
using testing::module_of;
using testing::only_method;
using testing::program_of;
using testing::value_text;

std::string arenas_text(const format::MethodDesc& method) {
  std::string text;
  for (const format::ArenaDesc& arena : method.arenas) {
    text += (text.empty() ? "" : ", ") + std::string(to_text(arena.device).text) + " " + std::to_string(arena.bytes);
  }
  return text;
}

/// The devices that the file lists for its arenas: "2 cuda:0, 3 cuda:1".
std::string list_in_file(const EmittedProgram& emitted) {
  const auto bytes = format::program_bytes(emitted.program);
  format::ProgramView view;
  EXPECT_TRUE(bytes.ok() && format::ProgramView::open(*bytes, &view, nullptr) == Error::kOk);
  const auto* list = view.method(0).non_const_buffer_device();
  if (list == nullptr) return "absent";
  std::string text;
  for (const auto* entry : *list) {
    const Device device(static_cast<DeviceType>(entry->device_type()), entry->device_index());
    text += (text.empty() ? "" : ", ") + std::to_string(entry->buffer_idx()) + " " + to_text(device).text;
  }
  return text;
}

/// A method in which `count` values follow each other, value i on `devices[i]`, each made by a delegate there; copies
/// between them. The first is an input of the host, the last goes back there.
std::string chain(const std::vector<std::string>& devices, int64_t elements = 64) {
  const std::string type = "f32[" + std::to_string(elements) + "]";
  std::string delegates;
  std::string body;
  std::string value = "%in";
  std::string home;
  for (size_t i = 0; i < devices.size(); ++i) {
    const std::string n = std::to_string(i);
    const std::string& device = devices[i];
    const std::string at = device.empty() ? "" : "@" + device;
    if (device != home) {
      const std::string copy = home.empty()     ? "et_copy::_h2d_copy"
                               : device.empty() ? "et_copy::_d2h_copy"
                                                : "berth::_d2d_copy";
      body += filled(R"(
        %c$n: $type = $copy($value)
      )",
                     {{"n", n}, {"type", type + at}, {"copy", copy}, {"value", value}});
      value = "%c" + n;
      home = device;
    }
    if (device.empty()) {
      body += filled(R"(
        %v$n: $type = aten::relu($value)
      )",
                     {{"n", n}, {"type", type}, {"value", value}});
    } else {
      delegates += filled(R"(
        delegate @d$n "berth.sim" {target_device = "$device"}
      )",
                          {{"n", n}, {"device", device}});
      body += filled(R"(
        %v$n: $type = berth::delegate([$value]) @d$n { (%a$n: $type)
          %b$n: $type = aten::relu(%a$n)
          yield %b$n
        }
      )",
                     {{"n", n}, {"type", type + at}, {"value", value}});
    }
    value = "%v" + n;
  }
  if (!home.empty()) {
    body += "%out: " + type + " = et_copy::_d2h_copy(" + value + ")";
    value = "%out";
  }
  return filled(R"(
    $delegates
    method forward(%in: $type) {
      $body
      return $value
    })",
                {{"delegates", delegates}, {"type", type}, {"body", body}, {"value", value}});
}

// Holds row 167, row 215, row 217.
TEST(EmitDevices, HostProgramsMentionNoDevices) {
  const EmittedProgram emitted = program_of(chain({"", "", ""}));
  EXPECT_EQ(arenas_text(only_method(emitted)), "cpu 256");
  EXPECT_EQ(list_in_file(emitted), "absent");
  const auto bytes = format::program_bytes(emitted.program);
  format::ProgramView view;
  ASSERT_EQ(format::ProgramView::open(*bytes, &view, nullptr), Error::kOk);
  for (const fb::EValue* value : *view.method(0).values()) {
    const fb::Tensor* tensor = value->val_as_Tensor();
    EXPECT_TRUE(tensor == nullptr || tensor->extra_tensor_info() == nullptr);
  }
}

// Holds row 168, row 216.
TEST(EmitDevices, AMethodOfOneDeviceHasNoEmptyArena) {
  const EmittedProgram emitted = program_of(R"(
    delegate @d0 "berth.cuda" {target_device = "cuda:0"}
    delegate @d1 "berth.cuda" {target_device = "cuda:0"}
    method forward(%x: f32[64]@cuda:0) {
      %y: f32[64]@cuda:0 = berth::delegate([%x]) @d0 { (%a: f32[64]@cuda:0)
        %b: f32[64]@cuda:0 = aten::relu(%a)
        yield %b
      }
      %z: f32[64]@cuda:0 = berth::delegate([%y]) @d1 { (%c: f32[64]@cuda:0)
        %d: f32[64]@cuda:0 = aten::exp(%c)
        yield %d
      }
      return %z
    })");
  EXPECT_EQ(arenas_text(only_method(emitted)), "cuda:0 256");
  EXPECT_EQ(list_in_file(emitted), "1 cuda:0");
  ASSERT_EQ(emitted.arenas.size(), 1u);
  EXPECT_EQ(emitted.arenas[0].device, Device(DeviceType::kCuda, 0));
}

// Holds row 169, row 214.
TEST(EmitDevices, EachDeviceHasItsOwnArenaAfterTheHosts) {
  const EmittedProgram emitted = program_of(chain({"cuda:0", "", "cuda:0"}));
  EXPECT_EQ(list_in_file(emitted), "2 cuda:0");
  const format::MethodDesc& method = only_method(emitted);
  ASSERT_EQ(method.arenas.size(), 2u);
  for (const format::ValueDesc& value : method.values) {
    const auto* tensor = std::get_if<format::TensorDesc>(&value);
    if (tensor == nullptr) continue;
    ASSERT_TRUE(tensor->planned.has_value());
    EXPECT_EQ(tensor->planned->memory_id, tensor->device.is_cpu() ? 1u : 2u);
    EXPECT_TRUE(tensor->device.is_cpu() || tensor->device == Device(DeviceType::kCuda, 0));
  }
}

// Holds row 170.
TEST(EmitDevices, OneTensorOnADeviceLiesAtItsArenasStart) {
  const EmittedProgram emitted = program_of(R"(
    method forward(%x: f32[5]) {
      %h: f32[5] = aten::exp(%x)
      %d: f32[5]@cuda:0 = et_copy::_h2d_copy(%h)
      %y: f32[5] = et_copy::_d2h_copy(%d)
      return %y
    })");
  const format::MethodDesc& method = only_method(emitted);
  EXPECT_EQ(arenas_text(method), "cpu 20, cuda:0 20");
  EXPECT_EQ(listing(method), dedent(R"(
    aten::exp.out(v0, v1, v1)
    et_copy::_h2d_copy.out(v1, v2, v2)
    et_copy::_d2h_copy.out(v2, v3, v3)
  )"));
  EXPECT_EQ(value_text(method, 2), "f32[5]@2+0");
}

// Holds row 171.
TEST(EmitDevices, DevicesNeverShareBytesWhateverTheirLiveRanges) {
  const EmittedProgram emitted = program_of(chain({"sim:0", "", "sim:1", "", "sim:0", "sim:1", ""}));
  const format::MethodDesc& method = only_method(emitted);
  for (const format::ValueDesc& value : method.values) {
    const auto* tensor = std::get_if<format::TensorDesc>(&value);
    if (tensor == nullptr || !tensor->planned.has_value()) continue;
    EXPECT_EQ(method.arenas.at(tensor->planned->memory_id - 1).device, tensor->device);
  }
}

// Holds row 172, row 175.
TEST(EmitDevices, ArenasAreSortedByTypeAndIndex) {
  EXPECT_EQ(list_in_file(program_of(chain({"cuda:1", "", "cuda:0"}))), "2 cuda:0, 3 cuda:1");
  EXPECT_EQ(list_in_file(program_of(chain({"sim:1", "cuda:1", "sim:0", "cuda:0"}))),
            "2 cuda:0, 3 cuda:1, 4 sim:0, 5 sim:1");
}

// Holds row 173.
TEST(EmitDevices, TheDeviceIndexIsWrittenUnchanged) {
  EXPECT_EQ(list_in_file(program_of(chain({"cuda:3"}))), "2 cuda:3");
}

// Holds row 167, row 217.
TEST(EmitDevices, AlignmentIsTheDevicesAndInMeta) {
  const auto alignments = [](const std::string& text) {
    const EmittedProgram emitted = program_of(text);
    const auto bytes = format::program_bytes(emitted.program);
    format::ProgramView view;
    EXPECT_EQ(format::ProgramView::open(*bytes, &view, nullptr), Error::kOk);
    std::string all;
    for (const fb::ArenaPlan* arena : *view.meta()->methods()->Get(0)->arenas()) {
      all += (all.empty() ? "" : " ") + std::to_string(arena->alignment());
    }
    for (const format::ValueDesc& value : only_method(emitted).values) {
      const auto* tensor = std::get_if<format::TensorDesc>(&value);
      if (tensor == nullptr) continue;
      const uint32_t a = view.meta()->methods()->Get(0)->arenas()->Get(tensor->planned->memory_id - 1)->alignment();
      EXPECT_EQ(tensor->planned->offset % a, 0u);
    }
    return all;
  };
  EXPECT_EQ(alignments(chain({"", ""}, 3)), "16");
  EXPECT_EQ(alignments(chain({"", "cuda:0", "sim:0"}, 3)), "16 256 256");
  EXPECT_EQ(alignments(R"(
    delegate @d0 "berth.cpu"
    method forward(%x: f32[3]) {
      %h: f32[3] = aten::exp(%x)
      %y: f32[3] = berth::delegate([%h]) @d0 { (%a: f32[3])
        %b: f32[3] = aten::exp(%a)
        %c: f32[3] = aten::relu(%b)
        yield %c
      }
      return %y
    })"),
            "64");
}

// Holds row 158. Three banks on a device and two on the host: ExecuTorch's pools.
TEST(EmitDevices, BanksAndDevicesCombineEachWithItsCapacity) {
  const ir::Module module = module_of(chain({"sim:0", "sim:0", "sim:0", "", ""}));
  const Device sim(DeviceType::kSim, 0);
  memory::MemoryOptions options;
  options.banks = {{"rest", sim}, {"a", sim, 4096}, {"main", Device()}, {"b", Device(), 256}, {"c", sim, 256}};
  options.bank_of = [](const ir::Method& method, ir::ValueId value) {
    const std::string& name = method.value(value).name;
    return name == "v0" ? 4 : name == "v1" ? 1 : name == "v3" ? 3 : -1;
  };
  auto emitted = testing::plan_and_emit(module, options);
  ASSERT_TRUE(emitted.ok()) << emitted.error().text();
  testing::expect_sound_file(emitted->program);
  EXPECT_EQ(arenas_text(only_method(*emitted)), "cpu 256, cpu 256, sim:0 256, sim:0 256, sim:0 256");
  EXPECT_EQ(list_in_file(*emitted), "3 sim:0, 4 sim:0, 5 sim:0");
  EXPECT_EQ(emitted->arenas[4].bank, "c");

  options.banks[3].capacity = 255;
  auto full = testing::plan_and_emit(module, options);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, Error::kOutOfResources);
  EXPECT_EQ(full.error().text(), "method forward: %v3: has 256 bytes, 1 more than its bank");

  options.banks[3] = {"b", sim, 256};
  auto astray = testing::plan_and_emit(module, options);
  ASSERT_FALSE(astray.ok());
  EXPECT_EQ(astray.error().text(), "method forward: %v3: it lives on cpu, and bank b is memory of sim:0");
}

TEST(EmitDevices, TheCallersDeviceMemoryIsNotPlanned) {
  const EmittedProgram emitted = program_of(R"(
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    method forward(%x: f32[4]@sim:0, %h: f32[4]) {
      %c: f32[4]@sim:0 = et_copy::_h2d_copy(%h)
      %y: f32[4]@sim:0, %z: f32[4]@sim:0 = berth::delegate([%x, %c]) @d0 { (%a: f32[4]@sim:0, %b: f32[4]@sim:0)
        %s: f32[4]@sim:0 = aten::add.Tensor(%a, %b)
        %t: f32[4]@sim:0 = aten::mul.Tensor(%a, %b)
        yield %s, %t
      }
      %k: f32[4] = et_copy::_d2h_copy(%z)
      return %y, %k, %x, %y
    })");
  const format::MethodDesc& method = only_method(emitted);
  EXPECT_EQ(value_text(method, method.inputs[0]), "f32[4]?");
  EXPECT_EQ(value_text(method, method.inputs[1]), "f32[4]+0");
  for (const size_t k : {0u, 2u, 3u}) EXPECT_EQ(value_text(method, method.outputs[k]), "f32[4]?");
  EXPECT_EQ(value_text(method, method.outputs[1]).substr(0, 7), "f32[4]+");
  // Each output is memory of its own: the input and the first output are copied, on the device.
  EXPECT_NE(method.outputs[2], method.inputs[0]);
  EXPECT_NE(method.outputs[3], method.outputs[0]);
  const auto& last = std::get<format::KernelCallDesc>(method.instructions.back());
  EXPECT_EQ(method.operators[last.op_index].name, "berth::_d2d_copy");
}

// The state lies in an arena of its own on its device, and what a run leaves there is copied on the device.
TEST(EmitDevices, StateOfADeviceHasItsOwnArenaThere) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[4]@sim:0 = splat<2>
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    method forward(%x: f32[4]@sim:0) {
      %old: f32[4]@sim:0 = berth::state_read() @s
      %new: f32[4]@sim:0 = berth::delegate([%x, %old]) @d0 { (%a: f32[4]@sim:0, %b: f32[4]@sim:0)
        %s: f32[4]@sim:0 = aten::add.Tensor(%a, %b)
        yield %s
      }
      berth::state_write(%new) @s
      return %old
    })");
  const format::MethodDesc& method = only_method(emitted);
  EXPECT_EQ(list_in_file(emitted), "1 sim:0, 2 sim:0");
  EXPECT_EQ(method.instructions.size(), 3u) << "the call, the old value for the caller, the new one into the state";
  EXPECT_EQ(value_text(method, std::get<format::KernelCallDesc>(method.instructions[2]).args[1]), "f32[4]@2+0#1");
}

// Whatever other devices a method uses: shared arenas are found by their number.
// Holds row 258.
TEST(EmitDevices, StateArenasHaveOneNumberInEveryMethod) {
  const EmittedProgram emitted = program_of(R"(
    state @s: f32[4]@sim:1 = splat<2>
    delegate @d0 "berth.sim" {target_device = "sim:0"}
    delegate @d1 "berth.sim" {target_device = "sim:1"}
    method first(%x: f32[4]@sim:0) {
      %y: f32[4]@sim:0 = berth::delegate([%x]) @d0 { (%a: f32[4]@sim:0)
        %r: f32[4]@sim:0 = aten::relu(%a)
        yield %r
      }
      %old: f32[4]@sim:1 = berth::state_read() @s
      %z: f32[4]@sim:1 = berth::delegate([%old]) @d1 { (%b: f32[4]@sim:1)
        %t: f32[4]@sim:1 = aten::relu(%b)
        yield %t
      }
      return %y, %z
    }
    method second(%x: f32[4]@sim:1) {
      berth::state_write(%x) @s
      return %x
    })");
  const auto& methods = emitted.program.methods;
  ASSERT_EQ(methods.size(), 2u);
  std::vector<std::vector<Device>> devices(2);
  for (size_t m = 0; m < 2; ++m) {
    for (const auto& arena : methods[m].arenas) devices[m].push_back(arena.device);
  }
  EXPECT_EQ(devices[0], devices[1]);
  EXPECT_EQ(emitted.program.methods[0].arenas.back().bytes, emitted.program.methods[1].arenas.back().bytes);
}

TEST(EmitDevices, CopiesAreCountedByDirection) {
  const EmittedProgram emitted = program_of(chain({"sim:0", "sim:1", "", "sim:0"}, 100));
  std::string text;
  for (const CopyReport& copy : emitted.copies) {
    text += std::string(to_text(copy.from).text) + "->" + to_text(copy.to).text + " " + std::to_string(copy.count) +
            " " + std::to_string(copy.bytes) + "\n";
  }
  EXPECT_EQ(text, dedent(R"(
    cpu->sim:0 2 800
    sim:0->sim:1 1 400
    sim:1->cpu 1 400
    sim:0->cpu 1 400
  )"));
}

}  // namespace
}  // namespace berth::emit
