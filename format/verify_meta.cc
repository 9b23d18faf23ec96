#include <cinttypes>

#include "base/math.h"
#include "base/result.h"
#include "format/tensor_facts.h"
#include "format/verify_parts.h"

namespace berth::format::internal {
namespace {

// Each run checks the sizes of all inputs against all of their symbolic dimensions.
constexpr uint64_t kMaxLookups = uint64_t{1} << 24;

Error verify_names(const Spot& spot, const fb::ExecutionPlan& plan, const fb::MethodMeta& method) {
  const int64_t count = plan.values()->size();
  int64_t previous = -1;
  for (uint32_t i = 0; i < length(method.values()); ++i) {
    const int64_t value = method.values()->Get(i)->value();
    if (value <= previous || value >= count) {
      return spot.at("meta.values", i)
          .fail(Error::kInvalidProgram, "value %" PRId64 " after %" PRId64 "; they ascend and there are %" PRId64,
                value, previous, count);
    }
    previous = value;
  }
  if (length(method.outputs()) > length(plan.outputs())) {
    return spot.at("meta.outputs")
        .fail(Error::kInvalidProgram, "%u names for %u outputs", length(method.outputs()), length(plan.outputs()));
  }
  return Error::kOk;
}

Error verify_operand(const Spot& spot, const fb::Operand* operand, int64_t symbol) {
  if (operand == nullptr) return spot.fail(Error::kInvalidProgram, "an operand is missing");
  if (operand->symbol() >= -1 && operand->symbol() < symbol) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "operand %d is not an earlier symbol", operand->symbol());
}

Error verify_symbols(const Spot& spot, const fb::ExecutionPlan& plan, const fb::MethodMeta& method) {
  for (uint32_t i = 0; i < length(method.symbols()); ++i) {
    const fb::Symbol& symbol = *method.symbols()->Get(i);
    const Spot here = spot.at("meta.symbols", i);
    if (symbol.kind() < fb::SymbolKind::MIN || symbol.kind() > fb::SymbolKind::MAX) {
      return here.fail(Error::kInvalidProgram, "kind %d of symbol does not exist", static_cast<int>(symbol.kind()));
    }
    if (symbol.min() > symbol.max()) {
      return here.fail(Error::kInvalidProgram, "the range from %" PRId64 " to %" PRId64 " is empty", symbol.min(),
                       symbol.max());
    }
    if (symbol.step() < 0) return here.fail(Error::kInvalidProgram, "the step %" PRId64 " is negative", symbol.step());
    if (symbol.kind() == fb::SymbolKind::INPUT) continue;
    BERTH_RETURN_IF_ERROR(verify_operand(here, symbol.a(), i));
    BERTH_RETURN_IF_ERROR(verify_operand(here, symbol.b(), i));
  }
  const int64_t symbols = length(method.symbols());
  const uint64_t lookups = uint64_t{length(plan.inputs())} * length(method.dimensions());
  if (lookups > kMaxLookups) {
    return spot.at("meta.dimensions")
        .fail(Error::kOutOfResources, "%u symbolic dimensions of %u inputs are more than a run can check",
              length(method.dimensions()), length(plan.inputs()));
  }
  for (uint32_t i = 0; i < length(method.dimensions()); ++i) {
    const fb::SymbolicDimension& entry = *method.dimensions()->Get(i);
    const fb::Tensor* tensor = tensor_at(plan, entry.value());
    if (tensor != nullptr && entry.dimension() >= 0 &&
        entry.dimension() < static_cast<int64_t>(length(tensor->sizes())) && entry.symbol() >= 0 &&
        entry.symbol() < symbols) {
      continue;
    }
    return spot.at("meta.dimensions", i)
        .fail(Error::kInvalidProgram, "no dimension %d of a tensor %d, or no symbol %d", entry.dimension(),
              entry.value(), entry.symbol());
  }
  return Error::kOk;
}

Error verify_size_relations(const Spot& spot, const fb::MethodMeta& method) {
  const int64_t symbols = length(method.symbols());
  BERTH_RETURN_IF_ERROR(spot.spend(length(method.size_relations())));
  for (uint32_t i = 0; i < length(method.size_relations()); ++i) {
    const fb::SizeRelation& relation = *method.size_relations()->Get(i);
    const Spot here = spot.at("meta.size_relations", i);
    if (relation.kind() < fb::SizeRelationKind::MIN || relation.kind() > fb::SizeRelationKind::MAX) {
      return here.fail(Error::kInvalidProgram, "kind %d of relation does not exist", static_cast<int>(relation.kind()));
    }
    BERTH_RETURN_IF_ERROR(verify_operand(here, relation.a(), symbols));
    if (relation.kind() != fb::SizeRelationKind::NAMED) {
      BERTH_RETURN_IF_ERROR(verify_operand(here, relation.b(), symbols));
    }
    BERTH_RETURN_IF_ERROR(spot.spend(length(relation.symbols())));
    for (uint32_t k = 0; k < length(relation.symbols()); ++k) {
      const int32_t symbol = relation.symbols()->Get(k);
      if (symbol < 0 || symbol >= symbols) {
        return here.fail(Error::kInvalidProgram, "symbol %d does not exist", symbol);
      }
    }
  }
  return Error::kOk;
}

Error verify_relations(const Spot& spot, const fb::ExecutionPlan& plan, const fb::MethodMeta& method) {
  BERTH_RETURN_IF_ERROR(spot.spend(length(method.relations())));
  for (uint32_t i = 0; i < length(method.relations()); ++i) {
    const fb::Relation& relation = *method.relations()->Get(i);
    const Spot here = spot.at("meta.relations", i);
    if (relation.kind() < fb::RelationKind::MIN || relation.kind() > fb::RelationKind::MAX) {
      return here.fail(Error::kInvalidProgram, "kind %d of relation does not exist", static_cast<int>(relation.kind()));
    }
    const fb::Tensor* value = tensor_at(plan, relation.value());
    const fb::Tensor* base = tensor_at(plan, relation.base());
    if (value == nullptr || base == nullptr || value == base) {
      return here.fail(Error::kInvalidProgram, "values %d and %d are not two tensors", relation.value(),
                       relation.base());
    }
  }
  return Error::kOk;
}

Error verify_arena_plans(const Spot& spot, const fb::ExecutionPlan& plan, const fb::MethodMeta& method) {
  const auto* sizes = plan.non_const_buffer_sizes();
  for (uint32_t i = 0; i < length(method.arenas()); ++i) {
    const fb::ArenaPlan& arena = *method.arenas()->Get(i);
    const Spot here = spot.at("meta.arenas", i);
    if (arena.memory_id() == 0 || arena.memory_id() >= sizes->size()) {
      return here.fail(Error::kInvalidProgram, "arena %u does not exist", arena.memory_id());
    }
    if (arena.alignment() != 0 && !is_power_of_two(arena.alignment())) {
      return here.fail(Error::kInvalidProgram, "alignment %u is not a power of two", arena.alignment());
    }
    if (arena.proof() < fb::Proof::MIN || arena.proof() > fb::Proof::MAX) {
      return here.fail(Error::kInvalidProgram, "kind %d of proof does not exist", static_cast<int>(arena.proof()));
    }
    if (arena.capacity() != 0 && arena.capacity() < static_cast<uint64_t>(sizes->Get(arena.memory_id()))) {
      return here.fail(Error::kInvalidProgram, "the bank's %" PRIu64 " bytes are fewer than the arena's %" PRId64,
                       arena.capacity(), sizes->Get(arena.memory_id()));
    }
    if (arena.lower_bound() > static_cast<uint64_t>(sizes->Get(arena.memory_id()))) {
      return here.fail(Error::kInvalidProgram, "the lower bound %" PRIu64 " is above the arena's %" PRId64 " bytes",
                       arena.lower_bound(), sizes->Get(arena.memory_id()));
    }
  }
  return Error::kOk;
}

Error verify_own_operators(const Spot& spot, const fb::ExecutionPlan& plan, const fb::MethodMeta& method) {
  int64_t previous = -1;
  for (uint32_t i = 0; i < length(method.own_operators()); ++i) {
    const fb::OwnOperator& own = *method.own_operators()->Get(i);
    const Spot here = spot.at("meta.own_operators", i);
    if (own.index() <= previous || own.index() >= static_cast<int64_t>(length(plan.operators()))) {
      return here.fail(Error::kInvalidProgram, "operator %d after %" PRId64 "; they ascend and there are %u",
                       own.index(), previous, length(plan.operators()));
    }
    previous = own.index();
  }
  return Error::kOk;
}

Error verify_blob(const Spot& spot, Span<const uint8_t> bytes) {
  if (bytes.size() < kHeaderOffset || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE ||
      reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) != 0) {
    return spot.fail(Error::kInvalidProgram, "the blob has a wrong size or alignment");
  }
  flatbuffers::Verifier::Options options;
  options.max_depth = 8;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() / 8);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), options);
  if (fb::VerifyMetaBuffer(verifier)) return Error::kOk;
  return spot.fail(Error::kInvalidProgram, "an offset or a length inside the blob is wrong; it is damaged");
}

}  // namespace

Error verify_meta(const Spot& spot) {
  const Spot here = spot.at("berth.meta");
  Span<const uint8_t> bytes;
  // Absent, or in a segment that was not loaded, so it is never read.
  if (spot.program->meta_blob(&bytes) != Error::kOk) return Error::kOk;
  BERTH_RETURN_IF_ERROR(verify_blob(here, bytes));
  const fb::Meta* meta = spot.program->meta();
  if (meta == nullptr) return Error::kOk;
  if (length(meta->methods()) > spot.program->method_count()) {
    return here.fail(Error::kInvalidProgram, "it describes %u methods, the program has %zu", length(meta->methods()),
                     spot.program->method_count());
  }
  uint64_t budget = bytes.size();
  for (uint32_t i = 0; i < length(meta->methods()); ++i) {
    const fb::MethodMeta& method = *meta->methods()->Get(i);
    const int index = spot.program->find_method(text(method.name()));
    if (index < 0) return here.fail(Error::kInvalidProgram, "no method is called \"%.60s\"", text(method.name()));
    Spot inside = spot.in_method(index);
    inside.budget = &budget;
    const fb::ExecutionPlan& plan = spot.program->method(index);
    // The program may not be verified.
    if (plan.values() == nullptr || plan.non_const_buffer_sizes() == nullptr) {
      return inside.fail(Error::kInvalidProgram, "the method has no values or no arenas");
    }
    BERTH_RETURN_IF_ERROR(verify_names(inside, plan, method));
    BERTH_RETURN_IF_ERROR(verify_symbols(inside, plan, method));
    BERTH_RETURN_IF_ERROR(verify_size_relations(inside, method));
    BERTH_RETURN_IF_ERROR(verify_relations(inside, plan, method));
    BERTH_RETURN_IF_ERROR(verify_arena_plans(inside, plan, method));
    BERTH_RETURN_IF_ERROR(verify_own_operators(inside, plan, method));
    BERTH_RETURN_IF_ERROR(verify_stacks(inside, plan, method));
  }
  return Error::kOk;
}

}  // namespace berth::format::internal
