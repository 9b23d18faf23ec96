#include "tools/program_file.h"

#include <algorithm>
#include <cstring>

#include "format/tensor_facts.h"
#include "format/verify.h"
#include "format/verify_plan.h"

namespace berth::tool {
namespace {

Failure in_file(const std::string& path, const format::Report& report) {
  const std::string place = report.place[0] == '\0' ? path : path + ": " + report.place;
  return Failure{report.code, place, report.message};
}

/// First and last step at which each value is mentioned; an instruction's step is its number plus one.
struct Mentions {
  std::vector<int64_t> first, last;

  explicit Mentions(size_t values) : first(values, -1), last(values, -1) {}
  void add(int64_t value, int64_t step) {
    const size_t v = static_cast<size_t>(value);
    if (first[v] < 0) first[v] = step;
    last[v] = std::max(last[v], step);
  }
};

void mention_arguments(const fb::ExecutionPlan& method, const flatbuffers::Vector<int32_t>& args, int64_t step,
                       Mentions& mentions) {
  for (const int32_t arg : args) {
    mentions.add(arg, step);
    const fb::EValue& value = *method.values()->Get(static_cast<uint32_t>(arg));
    if (const auto* list = value.val_as_TensorList()) {
      for (const int32_t item : *list->items()) mentions.add(item, step);
    } else if (const auto* optional = value.val_as_OptionalTensorList()) {
      for (const int32_t item : *optional->items()) {
        if (item >= 0) mentions.add(item, step);
      }
    }
  }
}

Mentions mentions_of(const fb::ExecutionPlan& method, int64_t* steps) {
  Mentions mentions(method.values()->size());
  for (const int32_t input : *method.inputs()) mentions.add(input, 0);
  int64_t step = 0;
  for (const fb::Chain* chain : *method.chains()) {
    if (chain->instructions() == nullptr) continue;
    for (const fb::Instruction* instruction : *chain->instructions()) {
      ++step;
      if (const auto* call = instruction->instr_args_as_KernelCall()) {
        mention_arguments(method, *call->args(), step, mentions);
      } else if (const auto* delegate = instruction->instr_args_as_DelegateCall()) {
        mention_arguments(method, *delegate->args(), step, mentions);
      } else if (const auto* move = instruction->instr_args_as_MoveCall()) {
        mentions.add(move->move_from(), step);
        mentions.add(move->move_to(), step);
      }
    }
  }
  *steps = step + 2;
  for (const int32_t output : *method.outputs()) mentions.add(output, step + 1);
  return mentions;
}

}  // namespace

bool is_program(const MappedFile& file) {
  return file.bytes().size() >= 8 && std::memcmp(file.bytes().data() + 4, "ET", 2) == 0;
}

Expected<ProgramFile> open_program(const std::string& path) {
  BERTH_ASSIGN_OR_RETURN(auto file, MappedFile::open(path));
  ProgramFile program{path, std::move(file), {}};
  format::Report report;
  if (format::ProgramView::open(program.file->bytes(), &program.view, &report) != Error::kOk ||
      format::verify_program(program.view, &report) != Error::kOk) {
    return in_file(path, report);
  }
  return program;
}

Expected<PlanCheck> check_plan(const ProgramFile& program) {
  PlanCheck check;
  std::vector<uint8_t> scratch;
  for (size_t method = 0; method < program.view.method_count(); ++method) {
    format::Report report;
    format::PlanFacts facts;
    scratch.resize(format::plan_scratch_bytes(program.view, method));
    if (format::verify_plan(program.view, method, scratch, &facts, &report) != Error::kOk) {
      return in_file(program.path, report);
    }
    check.inferred = check.inferred || facts.inferred;
    check.unknown_operators += facts.unknown_operators;
  }
  return check;
}

ArenaPicture arena_picture(const fb::ExecutionPlan& method, uint32_t memory_id) {
  ArenaPicture picture;
  int64_t steps = 0;
  const Mentions mentions = mentions_of(method, &steps);
  int64_t height = 0;
  for (uint32_t v = 0; v < method.values()->size(); ++v) {
    const fb::Tensor* tensor = format::tensor_at(method, v);
    uint64_t bytes = 0;
    if (tensor == nullptr || !format::is_planned(*tensor) || tensor->allocation_info()->memory_id() != memory_id ||
        !format::tensor_nbytes(*tensor, &bytes) || bytes == 0 || mentions.first[v] < 0) {
      continue;
    }
    plan::Storage storage;
    storage.size = static_cast<int64_t>(bytes);
    storage.fixed = static_cast<int64_t>(format::planned_offset(*tensor->allocation_info()));
    storage.lower = mentions.first[v];
    storage.upper = mentions.last[v] + 1;
    height = std::max(height, storage.fixed + storage.size);
    picture.problem.storages.push_back(storage);
    picture.plan.offsets.push_back(storage.fixed);
  }
  picture.plan.spaces.resize(1);
  picture.plan.spaces[0].height = height;
  return picture;
}

}  // namespace berth::tool
