#include "compiler/emit/delegates.h"

#include <map>

#include "base/version.h"
#include "compiler/emit/emit_method.h"
#include "compiler/emit/live_ranges.h"
#include "compiler/emit/method_meta.h"
#include "compiler/ir/delegate.h"
#include "format/nested.h"
#include "format/write/write_program.h"

namespace berth::emit {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::OpId;

struct Nested {
  std::vector<uint8_t> payload;
  int64_t instructions = 0;
  std::vector<LiveRange> live_ranges;
};

/// Names stay out of it, so that delegates that do the same have the same bytes.
format::NamedDataDesc nested_meta(const Module& module, const ir::Method& method, const memory::MethodPlan& plan,
                                  const EmittedMethod& emitted, bool names) {
  format::MetaDesc meta;
  meta.producer = "berth " BERTH_VERSION;
  meta.methods.push_back(method_meta(module, method, plan, emitted, names));
  return format::meta_blob(meta);
}

Expected<std::vector<uint8_t>> with_header(const format::ProgramDesc& program, uint32_t version) {
  BERTH_ASSIGN_OR_RETURN(const std::vector<uint8_t> file, format::program_bytes(program));
  const format::NestedHeader header = format::make_nested_header(file.size(), version);
  std::vector<uint8_t> payload(header.bytes, header.bytes + format::kNestedHeaderSize);
  payload.insert(payload.end(), file.begin(), file.end());
  return payload;
}

Expected<Nested> emit_nested(const memory::DelegatePlan& delegate, const EmitOptions& options,
                             DelegateConstants* constants) {
  const Module& module = delegate.region.module;
  const memory::MethodPlan& plan = delegate.plan;
  const ir::Method& method = plan.scheduled(module.methods.front());
  MethodOptions method_options;
  method_options.stack_traces = options.stack_traces;
  method_options.external_key = [&](ir::ConstantId id, const format::TensorDesc& tensor) {
    return constants->key(delegate.region.constants[id], tensor);
  };
  constants->expect(delegate.region.constants);
  Pools pools;
  BERTH_ASSIGN_OR_RETURN(EmittedMethod emitted, emit_method(module, method, plan, {}, method_options, &pools));
  format::ProgramDesc program;
  if (options.meta) program.named_data.push_back(nested_meta(module, method, plan, emitted, options.stack_traces));
  Nested nested;
  nested.instructions = static_cast<int64_t>(emitted.desc.instructions.size());
  nested.live_ranges = live_ranges(plan, emitted);
  program.methods.push_back(std::move(emitted.desc));
  const uint32_t version = !delegate.scratch_ports.empty() ? format::kNestedPortInScratchVersion
                           : delegate.state_ports > 0      ? format::kNestedInPlaceVersion
                           : plan.model.arenas.size() > 1  ? format::kNestedOutputScratchVersion
                                                           : format::kNestedVersion;
  BERTH_ASSIGN_OR_RETURN(nested.payload, with_header(program, version));
  return nested;
}

class DelegateEmitter {
 public:
  DelegateEmitter(const Module& module, const memory::MemoryPlan& memory, const EmitOptions& options,
                  DelegateData* data)
      : module_(module), method_(module.methods[memory.method]), memory_(memory), options_(options), data_(data) {
    out_.index.assign(method_.nodes.size(), -1);
    out_.scratch_bytes.assign(method_.nodes.size(), 0);
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
      if (!called.ok()) return memory::in_delegate_call(module_, method_, node, called.error());
    }
    return Done{};
  }

  Status call(NodeId id) {
    const Node& node = method_.node(id);
    const ir::Delegate& delegate = module_.delegates[node.delegate];
    // What was compiled elsewhere may keep something from one call to the next, so its calls share one handle.
    if (delegate.payload.has_value()) out_.scratch_bytes[id] = ir::delegate_specs(delegate).scratch;
    const auto known = compiled_.find(node.delegate);
    if (known != compiled_.end()) {
      out_.index[id] = known->second;
      return Done{};
    }
    DelegateReport report;
    BERTH_ASSIGN_OR_RETURN(report.device, ir::delegate_device(delegate));
    format::DelegateDesc desc;
    desc.id = delegate.backend;
    for (const ir::CompileSpec& spec : delegate.specs) {
      desc.compile_specs.push_back({spec.key, {spec.value.begin(), spec.value.end()}});
    }
    const memory::DelegatePlan* plan = memory_.delegate(id);
    if (plan == nullptr) {
      compiled_.emplace(node.delegate, static_cast<int32_t>(out_.delegates.size()));
      report.scratch_bytes = out_.scratch_bytes[id];
      report.state_bytes = ir::delegate_specs(delegate).state;
      report.own_scratch_bytes = report.scratch_lower_bound = report.scratch_bytes;
      report.payload_bytes = static_cast<int64_t>(delegate.payload->size());
      desc.payload = data_->payloads.add(*delegate.payload) - 1;
    } else {
      BERTH_ASSIGN_OR_RETURN(Nested nested, emit_nested(*plan, options_, &data_->constants));
      out_.scratch_bytes[id] = plan->scratch_bytes;
      report_plan(*plan, &report);
      report.payload_bytes = static_cast<int64_t>(nested.payload.size());
      report.instructions = nested.instructions;
      report.live_ranges = std::move(nested.live_ranges);
      desc.payload = data_->payloads.add(ir::Blob::owned(std::move(nested.payload))) - 1;
    }
    report.method = method_.name;
    report.id = static_cast<int32_t>(out_.delegates.size());
    report.name = delegate.name;
    report.backend = delegate.backend;
    out_.index[id] = report.id;
    out_.delegates.push_back(std::move(desc));
    out_.reports.push_back(std::move(report));
    return Done{};
  }

  static void report_plan(const memory::DelegatePlan& delegate, DelegateReport* report) {
    const std::vector<packing::SpaceUse>& spaces = delegate.plan.packing.spaces;
    const ir::Method& method = delegate.region.module.methods.front();
    report->nodes = static_cast<int64_t>(method.body.nodes.size());
    report->scratch_bytes = delegate.scratch_bytes;
    report->scratch_inputs = static_cast<int64_t>(delegate.scratch_ports.inputs.size());
    report->scratch_outputs = static_cast<int64_t>(delegate.scratch_ports.outputs.size());
    report->own_scratch_bytes = delegate.own_scratch_bytes;
    report->scratch_lower_bound = spaces[0].lower_bound;
    report->output_scratch_bytes.resize(method.body.outputs.size());
    for (size_t a = 1; a < spaces.size(); ++a) report->output_scratch_bytes[a - 1] = spaces[a].height;
  }

  const Module& module_;
  const ir::Method& method_;
  const memory::MemoryPlan& memory_;
  const EmitOptions& options_;
  DelegateData* const data_;
  std::map<ir::DelegateId, int32_t> compiled_;  // of delegates with a payload: their index in the method
  DelegateCalls out_;
};

}  // namespace

Expected<DelegateCalls> emit_delegates(const Module& module, const memory::MemoryPlan& memory,
                                       const EmitOptions& options, DelegateData* data) {
  return DelegateEmitter(module, memory, options, data).run();
}

}  // namespace berth::emit
