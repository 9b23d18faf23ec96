#include "compiler/emit/delegates.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/backend_facts.h"
#include "base/math.h"
#include "base/version.h"
#include "compiler/emit/emit_method.h"
#include "compiler/emit/lent_results.h"
#include "compiler/emit/lives.h"
#include "compiler/emit/method_meta.h"
#include "compiler/emit/order_method.h"
#include "compiler/emit/plan_method.h"
#include "compiler/emit/region_module.h"
#include "compiler/ir/delegate.h"
#include "format/nested.h"
#include "format/write/write_program.h"

namespace berth::emit {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;

/// What the vectorised kernels of the host want.
constexpr int64_t kCpuAlignment = 64;
/// A scratch over 2 GiB is a tensor of two dimensions, the inner one of this size.
constexpr int64_t kScratchRow = int64_t{1} << 20;

/// Of a scratch, one part in so many is the least that results are lent for.
constexpr int64_t kLeastGain = 64;

struct Nested {
  std::vector<uint8_t> payload;
  int64_t scratch_bytes = 0;
  int64_t own_scratch_bytes = 0;  // it would be, if nothing lay in results
  int64_t lower_bound = 0;
  int64_t saved_by_order = 0;
  uint64_t nodes = 0;
  uint64_t instructions = 0;
  std::vector<uint64_t> lent_bytes;  // of each output
  std::vector<Life> lives;
};

/// Names stay out of it, so that delegates that do the same have the same bytes.
format::NamedDataDesc nested_meta(const RegionModule& region, const ir::Method& method, const Lifetimes& lifetimes,
                                  const plan::Plan& plan, const EmittedMethod& emitted, bool names) {
  format::MetaDesc meta;
  meta.producer = "berth " BERTH_VERSION;
  meta.methods.push_back(method_meta(region.module, method, lifetimes, plan, emitted, names));
  return format::meta_blob(meta);
}

Expected<std::vector<uint8_t>> with_header(const format::ProgramDesc& program, uint32_t version) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<uint8_t> file, format::program_bytes(program));
  const format::NestedHeader header = format::make_nested_header(file.size(), version);
  std::vector<uint8_t> payload(header.bytes, header.bytes + format::kNestedHeaderSize);
  payload.insert(payload.end(), file.begin(), file.end());
  return payload;
}

int64_t scratch_of(const PlannedMethod& planned) { return planned.plan.spaces[0].height; }

/// What is lent, and what cannot lie in it in any order of the nodes: storages that are larger than all of it.
class Lent {
 public:
  /// All must outlive it.
  Lent(const ir::Module& module, const PlannedMethod& own, const std::vector<bool>& lent)
      : module_(module), method_(own.in_order(module.methods.front())), large_(own.lifetimes) {
    int64_t largest = 0;
    for (size_t k = 0; k < lent.size(); ++k) {
      const auto* value = std::get_if<ir::ValueId>(&method_.body.outputs[k]);
      if (!lent[k] || value == nullptr) continue;
      const int64_t size = ir::max_bytes(method_.tensor(*value), module.symbols);
      bytes_ += size;
      largest = std::max(largest, size);
    }
    for (plan::Storage& storage : large_.problem.storages) {
      if (storage.size <= largest) storage.size = 0;
    }
  }

  int64_t bytes() const { return bytes_; }
  /// Whether what cannot lie in it takes `bytes` of scratch in every order.
  bool leaves(int64_t bytes) const {
    plan::Plan plan;
    plan.spaces = {{bytes, 0}};
    return is_lowest_of_all_orders(module_, method_, large_, plan);
  }

 private:
  const ir::Module& module_;
  const ir::Method& method_;
  Lifetimes large_;
  int64_t bytes_ = 0;
};

/// The plan with the least scratch: one without the bytes of results, and one with those that are `lent`. The first
/// when the other is hardly better, or cannot be: a proof that no order is lower is worth more than a few bytes.
Expected<PlannedMethod> plan_nested(const ir::Module& module, MemoryOptions memory, const std::vector<bool>& lent,
                                    Planning* planning, int64_t* own_scratch) {
  const ir::Method& given = module.methods.front();
  const bool before = planning->order_optimal;
  BERTH_ASSIGN_OR_RETURN(PlannedMethod own, plan_in_order(module, given, memory, {}, planning));
  *own_scratch = scratch_of(own);
  const int64_t gain = std::max<int64_t>(*own_scratch / kLeastGain, 1);
  const Lent results(module, own, lent);
  if (results.bytes() < gain || *own_scratch == 0 || results.leaves(*own_scratch - gain + 1)) return own;
  memory.lent_outputs = lent;
  const bool own_optimal = planning->order_optimal;
  planning->order_optimal = before;
  BERTH_ASSIGN_OR_RETURN(PlannedMethod with, plan_in_order(module, given, memory, {}, planning));
  cut_lent(&with.lifetimes, &with.plan);
  if (scratch_of(with) > *own_scratch - gain) {
    planning->order_optimal = own_optimal;
    return own;
  }
  if (scratch_of(with) == 0 || results.leaves(scratch_of(with))) {
    planning->order_optimal = before;
    with.plan.spaces[0].lower_bound = scratch_of(with);
  }
  return with;
}

Expected<Nested> emit_nested(const RegionModule& region, int64_t alignment, const std::vector<bool>& lent,
                             const EmitOptions& options, DelegateConstants* constants, Planning* planning) {
  const ir::Method& given = region.module.methods.front();
  MemoryOptions memory = memory_options(options);
  memory.alignments.host = alignment;
  memory.plan_inputs_and_outputs = false;
  int64_t own_scratch = 0;
  BERTH_ASSIGN_OR_RETURN(const PlannedMethod planned,
                         plan_nested(region.module, std::move(memory), lent, planning, &own_scratch));
  const ir::Method& method = planned.in_order(given);
  const Lifetimes& lifetimes = planned.lifetimes;
  const plan::Plan& plan = planned.plan;
  MethodOptions method_options;
  method_options.stack_traces = options.stack_traces;
  method_options.external_key = [&](ir::ConstantId id) {
    return constants->key(region.constants[static_cast<size_t>(id)]);
  };
  Pools pools;
  BERTH_ASSIGN_OR_RETURN(EmittedMethod emitted,
                         emit_method(region.module, method, lifetimes, plan, {}, method_options, &pools));
  format::ProgramDesc program;
  if (options.meta)
    program.named_data.push_back(nested_meta(region, method, lifetimes, plan, emitted, options.stack_traces));
  Nested nested;
  nested.instructions = emitted.desc.instructions.size();
  nested.lives = lives_of(lifetimes, plan, emitted);
  nested.lent_bytes.resize(method.body.outputs.size());
  for (size_t a = 1; a < plan.spaces.size(); ++a)
    nested.lent_bytes[a - 1] = static_cast<uint64_t>(plan.spaces[a].height);
  program.methods.push_back(std::move(emitted.desc));
  const uint32_t version = lifetimes.arenas.size() > 1 ? format::kNestedLentVersion : format::kNestedVersion;
  BERTH_ASSIGN_OR_RETURN(nested.payload, with_header(program, version));
  nested.scratch_bytes = plan.spaces[0].height;
  nested.own_scratch_bytes = own_scratch;
  nested.lower_bound = plan.spaces[0].lower_bound;
  nested.nodes = method.body.nodes.size();
  nested.saved_by_order = planned.saved_by_order;
  return nested;
}

Expected<int64_t> scratch_tensor_bytes(int64_t bytes) {
  constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();
  if (bytes <= kMaxSize) return bytes;
  if (bytes <= kMaxSize * kScratchRow) return align_up(bytes, kScratchRow);
  return Failure{Error::kOutOfResources, "", "its scratch would take " + std::to_string(bytes) + " bytes"};
}

class Calls {
 public:
  Calls(const Module& module, const ir::Method& method, const EmitOptions& options, DelegateData* data,
        Planning* planning)
      : module_(module), method_(method), options_(options), data_(data), planning_(planning) {
    out_.index.assign(method.nodes.size(), -1);
    out_.scratch_bytes.assign(method.nodes.size(), 0);
  }

  Expected<DelegateCalls> run() {
    BERTH_TRY(visit(method_.body));
    return std::move(out_);
  }

 private:
  Status visit(const ir::Graph& graph) {
    for (const NodeId id : graph.nodes) {
      const Node& node = method_.node(id);
      if (!node.is(OpId::delegate)) {
        for (const ir::Graph& region : node.regions) BERTH_TRY(visit(region));
        continue;
      }
      const Status called = call(id);
      if (!called.ok()) return named(node, called.error());
    }
    return Done{};
  }

  Failure named(const Node& node, const Failure& failure) const {
    const size_t d = static_cast<size_t>(node.delegate);
    const bool exists = node.delegate >= 0 && d < module_.delegates.size();
    std::string place = "method " + method_.name + ": delegate " + (exists ? "@" + module_.delegates[d].name : "call");
    if (!failure.place.empty()) place += ": " + failure.place;
    return Failure{failure.code, std::move(place), failure.message};
  }

  Status call(NodeId id) {
    const Node& node = method_.node(id);
    if (node.delegate < 0 || static_cast<size_t>(node.delegate) >= module_.delegates.size()) {
      return Failure{Error::kInvalidArgument, "", "the call names no delegate of the module"};
    }
    const ir::Delegate& delegate = module_.delegates[static_cast<size_t>(node.delegate)];
    const size_t n = static_cast<size_t>(id.index);
    // What was compiled elsewhere may keep something from one call to the next, so its calls share one handle.
    const auto known = compiled_.find(node.delegate);
    if (known != compiled_.end()) {
      out_.index[n] = known->second;
      return Done{};
    }
    DelegateReport report;
    BERTH_ASSIGN_OR_RETURN(report.device, ir::delegate_device(delegate));
    format::DelegateDesc desc;
    desc.id = delegate.backend;
    for (const ir::CompileSpec& spec : delegate.specs) {
      desc.compile_specs.push_back({spec.key, {spec.value.begin(), spec.value.end()}});
    }
    if (delegate.payload.has_value()) {
      compiled_.emplace(node.delegate, static_cast<int32_t>(out_.delegates.size()));
      report.payload_bytes = delegate.payload->size();
      desc.payload = data_->payloads.add(*delegate.payload) - 1;
    } else {
      BERTH_ASSIGN_OR_RETURN(Nested nested, compile(node, report.device));
      BERTH_ASSIGN_OR_RETURN(out_.scratch_bytes[n], scratch_tensor_bytes(nested.scratch_bytes));
      report.nodes = nested.nodes;
      report.payload_bytes = nested.payload.size();
      report.own_scratch_bytes = static_cast<uint64_t>(nested.own_scratch_bytes);
      report.scratch_lower_bound = static_cast<uint64_t>(nested.lower_bound);
      report.saved_by_order = nested.saved_by_order;
      report.instructions = nested.instructions;
      report.lent_bytes = std::move(nested.lent_bytes);
      report.lives = std::move(nested.lives);
      desc.payload = data_->payloads.add(ir::Blob::owned(std::move(nested.payload))) - 1;
    }
    report.method = method_.name;
    report.id = static_cast<int32_t>(out_.delegates.size());
    report.name = delegate.name;
    report.backend = delegate.backend;
    report.scratch_bytes = static_cast<uint64_t>(out_.scratch_bytes[n]);
    out_.index[n] = report.id;
    out_.delegates.push_back(std::move(desc));
    out_.reports.push_back(std::move(report));
    return Done{};
  }

  Expected<Nested> compile(const Node& node, Device device) {
    BERTH_ASSIGN_OR_RETURN(const RegionModule region, region_module(module_, method_, node));
    const int64_t alignment = alignments_of(module_, method_, options_).of(device);
    std::vector<bool> lent;
    if (options_.lend_results) lent = lendable_results(method_, node, options_);
    return emit_nested(region, alignment, lent, options_, &data_->constants, planning_);
  }

  const Module& module_;
  const ir::Method& method_;
  const EmitOptions& options_;
  DelegateData* const data_;
  Planning* const planning_;
  std::map<ir::DelegateId, int32_t> compiled_;  // of delegates with a payload: their index in the method
  DelegateCalls out_;
};

}  // namespace

Alignments alignments_of(const Module& module, const ir::Method& method, const EmitOptions& options) {
  Alignments alignments{options.alignment, options.device_alignment};
  for (const Node& node : method.nodes) {
    const size_t d = static_cast<size_t>(node.delegate);
    if (node.delegate < 0 || d >= module.delegates.size()) continue;
    const bool cpu = module.delegates[d].backend == "berth.cpu";
    alignments.host = std::max(alignments.host, cpu ? kCpuAlignment : kDelegateAlignment);
    alignments.device = std::max(alignments.device, kDelegateAlignment);
  }
  return alignments;
}

Expected<DelegateCalls> emit_delegates(const Module& module, const ir::Method& method, const EmitOptions& options,
                                       DelegateData* data, Planning* planning) {
  return Calls(module, method, options, data, planning).run();
}

}  // namespace berth::emit
