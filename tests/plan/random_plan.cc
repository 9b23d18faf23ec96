#include "tests/plan/random_plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "backends/sim/sim_allocator.h"
#include "backends/sim/sim_backend.h"
#include "compiler/check_program.h"
#include "compiler/emit/plan_and_emit_testing.h"
#include "compiler/eval/evaluate.h"
#include "compiler/ir/print.h"
#include "compiler/ir/random_steps_testing.h"
#include "compiler/ir/verify.h"
#include "compiler/memory/spill.h"
#include "compiler/passes/pipeline.h"
#include "compiler/placement/placement.h"
#include "format/write/write_program.h"
#include "kernels/portable/portable.h"
#include "runtime/host/host_method.h"
#include "tests/plan/lives_at_sizes.h"
#include "tests/plan/poison.h"

namespace berth::plan_test {
namespace {

constexpr int kRounds = 3;
constexpr int64_t kMostArena = 256 << 10;
// Planning is cut short then, which random plans reach under sanitizers alone: the fuzzer takes 20 s for stuck.
constexpr double kMostSeconds = 2;

/// One run of one method, and what it is to give.
struct Round {
  size_t method = 0;
  int64_t symbol = 0;
  std::vector<eval::Item> inputs;
  std::vector<eval::Item> outputs;
};

const char* name_of(packing::Planner planner) {
  switch (planner) {
    case packing::Planner::kNaive: return "naive";
    case packing::Planner::kGreedy: return "greedy";
    case packing::Planner::kBreadth: return "breadth";
    case packing::Planner::kBestFit: return "best fit";
    case packing::Planner::kBest: return "best";
    case packing::Planner::kHeuristic: return "heuristic";
  }
  return "?";
}

std::string describe(const memory::MemoryOptions& options) {
  return std::string("planner ") + name_of(options.planner) + (options.in_place ? "" : ", nothing in place") +
         (options.alias ? "" : ", no views") + (options.reorder ? "" : ", in the given order") + ", alignment " +
         std::to_string(options.alignments.host) +
         (options.banks.empty() ? "" : ", " + std::to_string(options.banks.size()) + " banks");
}

std::string describe(const std::vector<memory::MemoryOptions>& options) {
  std::string text = describe(options.front());
  for (size_t m = 1; m < options.size(); ++m) text += "; " + describe(options[m]);
  return text;
}

/// Two simulated devices.
struct Simulated {
  Simulated() { registry.register_allocator(&allocator); }

  SimAllocator allocator{{2, uint64_t{1} << 26, true}};
  SimBackend backend{&allocator};
  DeviceAllocatorRegistry registry;
};

class Trial {
 public:
  explicit Trial(unsigned seed) : random_(seed ^ 0x9E3779B9u) {
    const unsigned methods = pick(3) == 0 ? 2 : 1;
    const int64_t rows = pick(4) == 0 ? 1 : 4;
    const bool regions = pick(4) != 0;
    module_ = ir::testing::RandomModule(seed, ir::testing::any_module(rows, regions)).make(methods);
    tried_.methods = static_cast<int>(methods);
  }

  Tried run() {
    transform();
    if (tried_.problem.empty()) evaluate();
    if (tried_.problem.empty() && pick(4) == 0) place();
    // The default, and no reuse at all; then some that are not needed.
    memory::MemoryOptions none;
    none.planner = packing::Planner::kNaive;
    none.in_place = none.alias = none.reorder = false;
    std::vector<std::vector<memory::MemoryOptions>> all;
    for (const memory::MemoryOptions& alike : {memory::MemoryOptions(), none, random_options(), random_options()}) {
      all.emplace_back(module_.methods.size(), alike);
    }
    // Each method in its own way.
    if (module_.methods.size() > 1) {
      all.emplace_back();
      for (size_t m = 0; m < module_.methods.size(); ++m) all.back().push_back(random_options());
    }
    for (std::vector<memory::MemoryOptions>& options : all) {
      for (memory::MemoryOptions& own : options) own.time_limit = kMostSeconds;
      if (!tried_.problem.empty() || rounds_.empty()) break;
      compare(options);
      if (!tried_.problem.empty()) tried_.problem = describe(options) + ": " + tried_.problem;
    }
    if (!tried_.problem.empty()) tried_.problem += "\n" + ir::print(module_);
    return tried_;
  }

 private:
  unsigned pick(size_t count) { return static_cast<unsigned>(random_() % count); }
  void fail(std::string problem) { tried_.problem = std::move(problem); }
  void fail(const Failure& failure) { fail(failure.text()); }

  memory::MemoryOptions random_options() {
    constexpr packing::Planner kPlanners[] = {packing::Planner::kGreedy, packing::Planner::kBreadth,
                                              packing::Planner::kBestFit, packing::Planner::kBest};
    memory::MemoryOptions options;
    options.planner = kPlanners[pick(4)];
    options.in_place = pick(4) != 0;
    options.alias = pick(4) != 0;
    options.reorder = pick(2) == 0;
    options.output_scratch = pick(4) != 0;
    options.inputs_in_scratch = pick(4) != 0;
    options.outputs_in_scratch = pick(4) != 0;
    if (pick(3) == 0) options.alignments.host = int64_t{16} << pick(6);
    if (pick(4) == 0) options.in_place_set = some_operators();
    if (pick(3) == 0) add_banks(&options);
    return options;
  }

  /// Of each device, or of some: a small bank or two, and one that holds the rest.
  void add_banks(memory::MemoryOptions* options) {
    std::vector<Device> devices = {Device()};
    for (const ir::Method& method : module_.methods) {
      for (const ir::Value& value : method.values) {
        if (value.tensor() == nullptr) continue;
        const Device device = value.tensor()->device;
        if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
      }
    }
    for (const Device device : devices) {
      if (pick(4) == 0) continue;
      for (unsigned i = 1 + pick(2); i > 0; --i) {
        const std::string name = "bank" + std::to_string(options->banks.size());
        options->banks.push_back({name, device, int64_t{16} << pick(10), pick(2) == 0});
      }
      const bool far = pick(2) == 0;
      if (far) options->banks.push_back({"near" + std::to_string(options->banks.size()), device, 16});
      options->banks.push_back(
          {"rest" + std::to_string(options->banks.size()), device, packing::kUnlimited, false, far});
    }
    if (options->banks.empty() || has_far_banks(*options) || pick(2) == 0) return;
    const unsigned salt = pick(1000);
    options->bank_of = [banks = options->banks, salt](const ir::Method& method, ir::ValueId value) -> int32_t {
      const unsigned number = static_cast<unsigned>(value.index) * 2654435761u + salt;
      if (method.value(value).tensor() == nullptr || (number >> 7) % 8 != 0) return -1;
      // Into the one that holds everything: another may not hold this.
      for (size_t k = banks.size(); k-- > 0;) {
        const bool whole = banks[k].capacity == packing::kUnlimited;
        if (whole && banks[k].device == method.tensor(value).device) return static_cast<int32_t>(k);
      }
      return -1;
    };
  }

  /// About half of those that work in place.
  memory::InPlaceSet some_operators() {
    std::vector<std::string> entries;
    for (size_t id = 0; id < static_cast<size_t>(ir::OpId::kCount); ++id) {
      const ir::Operator& op = ir::operator_of(static_cast<ir::OpId>(id));
      if (op.in_place != ir::InPlaceClass::kNever && pick(2) == 0) entries.push_back(op.functional_name);
    }
    auto set = memory::InPlaceSet::only(entries);
    if (!set.ok()) fail(set.error());
    return set.ok() ? *set : memory::InPlaceSet();
  }

  /// Any passes in any order.
  void transform() {
    for (const ir::Method& method : module_.methods) {
      for (const ir::Node& node : method.nodes) tried_.has_regions = tried_.has_regions || !node.regions.empty();
    }
    std::vector<passes::Pass> list;
    for (unsigned i = pick(6); i > 0; --i) list.push_back(passes::pipeline()[pick(passes::pipeline().size())]);
    const Status done = passes::run(list, module_, {});
    if (!done.ok()) return fail(done.error());
    const Status sound = ir::verify(module_);
    if (!sound.ok()) fail(sound.error());
  }

  /// Some nodes to one device, some to the other.
  void place() {
    placement::Options options;
    auto targets = targets::parse_targets("sim:0,sim:1");
    if (!targets.ok()) return fail(targets.error());
    options.targets = std::move(targets).value();
    const unsigned salt = pick(1000);
    options.node_device = [salt](const ir::Method&, const ir::Node& node) -> std::optional<Device> {
      const bool simple = node.results.size() == 1 && node.regions.empty() && !node.state.valid();
      const bool mobile = node.is(ir::OpId::exp_out) || node.is(ir::OpId::relu_out) || node.is(ir::OpId::neg_out) ||
                          node.is(ir::OpId::mul_out) || node.is(ir::OpId::cat_out) || node.is(ir::OpId::softmax_out);
      if (!simple || !mobile) return Device();
      const unsigned where = (static_cast<unsigned>(node.results[0].index) * 2654435761u + salt) >> 7 & 3;
      if (where == 3) return Device();
      return Device(DeviceType::kSim, static_cast<DeviceIndex>(where & 1));
    };
    const Status placed = placement::place(module_, options);
    if (!placed.ok()) return fail(placed.error());
    simulated_ = std::make_unique<Simulated>();
    tried_.has_delegates = !module_.delegates.empty();
  }

  eval::Item random_input(const ir::TensorType& type, int64_t symbol) {
    eval::Array array;
    for (const ir::Dim dim : type.shape)
      array.sizes.push_back(static_cast<int32_t>(dim.is_constant() ? dim.value : symbol));
    std::vector<float> numbers(array.numel());
    for (float& number : numbers) number = static_cast<float>(static_cast<int>(pick(2001)) - 1000) / 1000.0f;
    const auto* bytes = reinterpret_cast<const uint8_t*>(numbers.data());
    array.bytes.assign(bytes, bytes + numbers.size() * sizeof(float));
    return array;
  }

  /// Methods in turns, states kept; ends where a method does not work on its inputs.
  void evaluate() {
    std::map<ir::StateId, eval::Array> states;
    eval::EvaluateOptions options;
    options.max_bytes = 16 << 20;
    options.max_nodes = 20'000;
    options.states = &states;
    for (size_t r = 0; r < kRounds * module_.methods.size(); ++r) {
      Round round;
      round.method = r % module_.methods.size();
      const ir::Method& method = module_.methods[round.method];
      const int64_t symbol = round.symbol = 1 + pick(5);
      for (const ir::ValueId input : method.body.inputs) {
        round.inputs.push_back(random_input(method.tensor(input), symbol));
      }
      auto outputs = eval::evaluate(module_, method, round.inputs, options);
      if (!outputs.ok()) return;
      round.outputs = std::move(outputs).value();
      rounds_.push_back(std::move(round));
    }
  }

  static bool has_far_banks(const memory::MemoryOptions& options) {
    return std::any_of(options.banks.begin(), options.banks.end(), [](const auto& bank) { return bank.far; });
  }

  /// What lies in a far bank is copied there or set by the caller, and read by copies and the caller alone.
  void check_spilled(const ir::Module& module, const std::vector<memory::MemoryOptions>& options) {
    for (size_t m = 0; m < module.methods.size(); ++m) {
      const ir::Method& method = module.methods[m];
      for (const ir::NodeId id : method.body.nodes) {
        const ir::Node& node = method.node(id);
        if (node.is(ir::OpId::clone_out) || node.is(ir::OpId::d2d_copy_out)) continue;
        const auto near = [&](const ir::ValueId& value) {
          if (options[m].spilled.count(value) > 0) fail("%" + method.value(value).name + " is read in a far bank");
        };
        ir::for_each_mention(method, node, near);
        for (const ir::ValueId result : node.results) near(result);
      }
      tried_.spilled += static_cast<int>(options[m].spilled.size());
    }
  }

  /// Near banks that hold a part of what the method takes.
  bool tighten_near_banks(size_t method, memory::MemoryOptions* options) {
    memory::MemoryOptions whole = *options;
    whole.banks.clear();
    whole.bank_of = nullptr;
    const auto plan = memory::plan_memory(module_, method, whole);
    if (!plan.ok()) fail(plan.error());
    if (!plan.ok()) return false;
    const memory::MethodPlan& made = plan->plan;
    for (memory::MemoryBank& bank : options->banks) {
      if (bank.name.compare(0, 4, "near") != 0) continue;
      for (size_t s = 0; s < made.model.arenas.size(); ++s) {
        if (made.model.arenas[s].device != bank.device || made.model.arenas[s].holds_state) continue;
        bank.capacity = std::max<int64_t>(16, made.packing.spaces[s].height * (80 + pick(20)) / 100);
      }
    }
    return true;
  }

  void compare(std::vector<memory::MemoryOptions> options) {
    if (std::none_of(options.begin(), options.end(), has_far_banks)) return compare(module_, options);
    for (size_t m = 0; m < options.size(); ++m) {
      if (!tighten_near_banks(m, &options[m])) return;
    }
    ir::Module spilled = module_;
    const Status done = memory::spill_to_far_banks(&spilled, &options);
    // The near banks may be too small for a node.
    if (!done.ok() && done.error().code == Error::kOutOfResources) return;
    if (!done.ok()) return fail(done.error());
    const Status sound = ir::verify(spilled);
    if (!sound.ok()) return fail(sound.error());
    check_spilled(spilled, options);
    if (tried_.problem.empty()) compare(spilled, options);
  }

  void compare(const ir::Module& module, const std::vector<memory::MemoryOptions>& options) {
    const auto plans = memory::plan_memory(module, options);
    const auto apart = [](const Failure& failure) {
      return failure.message.find("cannot share it") != std::string::npos;
    };
    if (!plans.ok() && options.size() > 1 && apart(plans.error())) return;
    if (!plans.ok()) return fail(plans.error());
    const auto emitted = emit::emit(module, *plans);
    if (!emitted.ok()) return fail(emitted.error());
    for (const ArenaReport& arena : emitted->arenas) {
      if (arena.bytes > kMostArena) return;
    }
    for (const DelegateReport& delegate : emitted->delegates) {
      if (delegate.scratch_bytes > delegate.own_scratch_bytes)
        return fail("outputs used as scratch make the scratch larger");
      tried_.inputs_in_scratch += delegate.scratch_inputs;
      tried_.outputs_in_scratch += delegate.scratch_outputs;
      for (const int64_t bytes : delegate.output_scratch_bytes) tried_.outputs_as_scratch += bytes > 0 ? 1 : 0;
    }
    tried_.in_place += emitted->in_place;
    tried_.elided += emitted->elided;
    tried_.reordered += emitted->saved_by_order > 0 ? 1 : 0;
    const auto bytes = format::program_bytes(emitted->program);
    if (!bytes.ok()) return fail(bytes.error());
    const Status sound = check_program(*bytes);
    if (!sound.ok()) return fail(sound.error());
    BufferLoader loader(*bytes);
    LoadOptions load_options;
    Report report;
    load_options.report = &report;
    Backend* backends[] = {simulated_ == nullptr ? nullptr : &simulated_->backend};
    if (simulated_ != nullptr) {
      load_options.registry = &simulated_->registry;
      load_options.backends = backends;
    }
    const auto program = Program::load(loader, portable::kernels(), load_options);
    if (!program.ok()) return fail(report.message);
    run_all(*emitted, *program);
  }

  /// A method with its poison.
  struct Loaded {
    std::optional<HostMethod> method;
    std::unique_ptr<Poison> poison;
    const format::MethodDesc* desc = nullptr;
    const std::vector<LiveRange>* lives = nullptr;
  };

  void run_all(const emit::EmittedProgram& emitted, const Program& program) {
    auto arenas = HostArenas::make(program);
    if (!arenas.ok()) return fail("no memory for arenas");
    std::vector<Loaded> loaded(module_.methods.size());
    for (size_t m = 0; m < loaded.size(); ++m) {
      if (!load(emitted, program, *arenas, m, &loaded[m])) return;
    }
    for (size_t r = 0; r < rounds_.size() && tried_.problem.empty(); ++r) {
      run(rounds_[r], &loaded[rounds_[r].method]);
      if (!tried_.problem.empty()) tried_.problem = "run " + std::to_string(r) + ": " + tried_.problem;
    }
    for (const Loaded& one : loaded) {
      tried_.poisoned += one.poison->bytes();
      tried_.poisoned_inside += one.poison->inner_bytes();
    }
  }

  bool load(const emit::EmittedProgram& emitted, const Program& program, const HostArenas& arenas, size_t m,
            Loaded* loaded) {
    const std::string& name = module_.methods[m].name;
    Report report;
    HostOptions options;
    options.arenas = &arenas;
    options.report = &report;
    auto method = HostMethod::load(program, name.c_str(), options);
    if (!method.ok()) {
      fail(std::string(to_string(method.error())) + ": " + report.place + ": " + report.message);
      return false;
    }
    loaded->method.emplace(std::move(*method));
    HostArenas::View view = arenas.view(loaded->method->method().meta());
    for (size_t k = 0; k < view.spans.size(); ++k) {
      Span<uint8_t>& span = view.spans[k];
      if (view.devices.empty() || view.devices[k].is_cpu()) continue;
      void* reached = simulated_->allocator.alias(span.data(), span.size(), view.devices[k].index);
      span = {static_cast<uint8_t*>(reached), span.size()};
    }
    for (size_t k = 0; k < emitted.program.methods.size(); ++k) {
      const format::MethodDesc& desc = emitted.program.methods[k];
      if (desc.name != name) continue;
      loaded->poison = std::make_unique<Poison>(emitted.live_ranges[k], desc.instructions.size(), view.spans);
      loaded->desc = &desc;
      loaded->lives = &emitted.live_ranges[k];
      // Where their arenas follow the sizes, it is not known here what is dead in them.
      if (!loaded->method->method().follows_sizes()) enter_delegates(emitted, desc, loaded->poison.get());
    }
    loaded->method->method().set_observer(loaded->poison.get());
    return true;
  }

  void enter_delegates(const emit::EmittedProgram& emitted, const format::MethodDesc& desc, Poison* poison) {
    const auto reach = [this](const Tensor& tensor) {
      const size_t bytes = static_cast<size_t>(tensor.capacity()) * element_size(tensor.dtype());
      return static_cast<uint8_t*>(simulated_->allocator.alias(tensor.raw(), bytes, tensor.device().index));
    };
    for (size_t i = 0; i < desc.instructions.size(); ++i) {
      const auto* call = std::get_if<format::DelegateCallDesc>(&desc.instructions[i]);
      if (call == nullptr) continue;
      for (const DelegateReport& delegate : emitted.delegates) {
        if (delegate.method == desc.name && delegate.id == call->delegate_index) poison->enter(i, delegate, reach);
      }
    }
  }

  void run(const Round& round, Loaded* loaded) {
    Method& method = loaded->method->method();
    loaded->poison->begin_run();
    for (size_t i = 0; i < round.inputs.size(); ++i) {
      const auto& array = std::get<eval::Array>(round.inputs[i]);
      if (method.set_input(i, array.bytes.data(), array.sizes, array.dtype) != Error::kOk) {
        return fail(method.last_report().message);
      }
    }
    if (method.follows_sizes()) {
      loaded->poison->follow(lives_at_size(*loaded->lives, *loaded->desc, *method.meta().names(), round.symbol));
      ++tried_.followed;
    }
    const Error error = method.execute();
    if (error != Error::kOk) {
      const Report& report = method.last_report();
      return fail(std::string(to_string(error)) + ": " + report.place + ": " + report.message);
    }
    loaded->poison->end_run();
    ++tried_.runs;
    for (size_t k = 0; k < round.outputs.size(); ++k) {
      const auto* want = std::get_if<eval::Array>(&round.outputs[k]);
      const Tensor& got = method.get_output(k).tensor();
      const bool equal = want != nullptr && got.nbytes() == want->bytes.size() &&
                         (got.nbytes() == 0 || std::memcmp(got.raw(), want->bytes.data(), got.nbytes()) == 0);
      if (!equal) {
        return fail("method " + std::string(method.meta().name()) + " gives other numbers in output " +
                    std::to_string(k));
      }
    }
  }

  std::mt19937 random_;
  ir::Module module_;
  std::vector<Round> rounds_;
  std::unique_ptr<Simulated> simulated_;  // null: everything runs on the host
  Tried tried_;
};

}  // namespace

Tried try_random_plan(unsigned seed) { return Trial(seed).run(); }

}  // namespace berth::plan_test
