// Checks the symbolic dimensions of inputs against what the compiler recorded (fb::Symbol, fb::SymbolicDimension).

#include <algorithm>
#include <cstdio>

#include "base/math.h"
#include "format/tensor_facts.h"
#include "runtime/log.h"
#include "runtime/method_data.h"

namespace berth::internal {

using format::length;

namespace {

constexpr int64_t kUnknown = kUnknownSize;

const fb::Symbol* symbol_at(const MethodData& data, int32_t index) {
  if (!is_index(index, data.counts.symbols)) return nullptr;
  return data.meta->symbols()->Get(static_cast<flatbuffers::uoffset_t>(index));
}

Error fail_dimension(MethodData& data, size_t input, int dimension, int64_t found, const char* expected) {
  char place[96];
  std::snprintf(place, sizeof(place), "methods[%.40s].inputs[%zu]", format::text(data.plan->name()), input);
  format::fail(&data.report, Error::kInvalidArgument, place, "the size of dimension %d %s, found %lld", dimension,
               expected, static_cast<long long>(found));
  log_message(LogLevel::kError, "%s: %s", place, data.report.message);
  return Error::kInvalidArgument;
}

// Calls `visit(axis, symbol index)` for each symbolic dimension of input `index`.
template <typename Visit>
Error for_each_dimension(MethodData& data, size_t index, Visit visit) {
  const auto* dimensions = data.meta->dimensions();
  const Port& port = data.inputs[index];
  if (port.tensor == nullptr) return Error::kOk;
  // They ascend only where arenas follow the sizes.
  const bool sorted = data.counts.stacks > 0;
  const ValueDimensions own = sorted ? dimensions_of(*data.meta, port.value) : ValueDimensions{0, length(dimensions)};
  for (flatbuffers::uoffset_t d = own.first; d < own.first + own.count; ++d) {
    const fb::SymbolicDimension& dimension = *dimensions->Get(d);
    if (dimension.value() != static_cast<int64_t>(port.value) || symbol_at(data, dimension.symbol()) == nullptr)
      continue;
    if (dimension.dimension() < 0 || dimension.dimension() >= port.tensor->rank()) continue;
    BERTH_RETURN_IF_ERROR(visit(dimension.dimension(), dimension.symbol()));
  }
  return Error::kOk;
}

int64_t operand(const MethodData& data, const fb::Operand* operand, size_t before) {
  if (operand == nullptr) return kUnknown;
  if (operand->symbol() < 0) return operand->constant();
  return static_cast<size_t>(operand->symbol()) < before ? data.symbols[operand->symbol()] : kUnknown;
}

// Neither overflows, because kUnknown, the only integer without a negation, is never an operand.
bool leaves_below(int64_t a, int64_t b) { return a % b != 0 && (a < 0) != (b < 0); }
int64_t floor_div(int64_t a, int64_t b) { return a / b - (leaves_below(a, b) ? 1 : 0); }
int64_t floor_mod(int64_t a, int64_t b) { return a % b + (leaves_below(a, b) ? b : 0); }

// The value of a computed symbol; kUnknown if an operand is unknown or there is no result.
int64_t evaluate(const MethodData& data, const fb::Symbol& symbol, size_t index) {
  const int64_t a = operand(data, symbol.a(), index);
  const int64_t b = operand(data, symbol.b(), index);
  if (a == kUnknown || b == kUnknown) return kUnknown;
  int64_t result = kUnknown;
  switch (symbol.kind()) {
    case fb::SymbolKind::ADD: return checked_add(a, b, &result) ? result : kUnknown;
    case fb::SymbolKind::MUL: return checked_mul(a, b, &result) ? result : kUnknown;
    case fb::SymbolKind::FLOOR_DIV: return b == 0 ? kUnknown : floor_div(a, b);
    case fb::SymbolKind::MOD: return b == 0 ? kUnknown : floor_mod(a, b);
    case fb::SymbolKind::MAXIMUM: return a > b ? a : b;
    case fb::SymbolKind::MINIMUM: return a < b ? a : b;
    default: return kUnknown;
  }
}

bool has_step(const fb::Symbol& symbol, int64_t size) {
  return symbol.step() < 2 || floor_mod(size, symbol.step()) == floor_mod(symbol.min(), symbol.step());
}

// "W == (H * 2)" where the symbol has such a name; otherwise what an input symbol is called.
const char* reason_of(const MethodData& data, int32_t symbol) {
  const auto* relations = data.meta->size_relations();
  for (uint32_t i = 0; i < length(relations); ++i) {
    const fb::SizeRelation& relation = *relations->Get(i);
    if (relation.kind() == fb::SizeRelationKind::NAMED && relation.a()->symbol() == symbol) {
      return format::text(relation.text());
    }
  }
  return format::text(symbol_at(data, symbol)->name());
}

// Those beside open ones, which the program was made for.
Error check_fixed_sizes(MethodData& data, size_t index, uint32_t open, Span<const int32_t> sizes,
                        bool unknown_is_good) {
  const fb::Tensor* planned = format::tensor_at(*data.plan, static_cast<int64_t>(data.inputs[index].value));
  if (planned == nullptr || length(planned->sizes()) != sizes.size()) return Error::kOk;
  for (uint32_t axis = 0; axis < sizes.size(); ++axis) {
    const int32_t fixed = planned->sizes()->Get(axis);
    if ((open >> axis & 1) != 0 || sizes[axis] == fixed || (sizes[axis] == -1 && unknown_is_good)) continue;
    char expected[64];
    std::snprintf(expected, sizeof(expected), "is %d in the program", fixed);
    return fail_dimension(data, index, static_cast<int>(axis), sizes[axis], expected);
  }
  return Error::kOk;
}

}  // namespace

Error check_symbol_ranges(MethodData& data, size_t index, Span<const int32_t> sizes, bool unknown_is_good) {
  if (data.counts.symbols == 0) return Error::kOk;
  uint32_t open = 0;  // a bit an axis
  BERTH_RETURN_IF_ERROR(for_each_dimension(data, index, [&](int axis, int32_t symbol_index) {
    open |= uint32_t{1} << axis;
    const fb::Symbol& symbol = *symbol_at(data, symbol_index);
    const int64_t size = sizes[axis];
    if (size == -1 && unknown_is_good) return Error::kOk;
    char expected[160];
    if (size < symbol.min() || size > symbol.max()) {
      std::snprintf(expected, sizeof(expected), "(%.80s) is between %lld and %lld", reason_of(data, symbol_index),
                    static_cast<long long>(symbol.min()), static_cast<long long>(symbol.max()));
      return fail_dimension(data, index, axis, size, expected);
    }
    if (has_step(symbol, size)) return Error::kOk;
    std::snprintf(expected, sizeof(expected), "(%.32s) must be such that %.32s %% %lld == %lld",
                  format::text(symbol.name()), format::text(symbol.name()), static_cast<long long>(symbol.step()),
                  static_cast<long long>(floor_mod(symbol.min(), symbol.step())));
    return fail_dimension(data, index, axis, size, expected);
  }));
  return open == 0 ? Error::kOk : check_fixed_sizes(data, index, open, sizes, unknown_is_good);
}

namespace {

// Symbols that are sizes of this input get their values, where they have none.
void take_sizes(MethodData& data, size_t input, Span<const int32_t> sizes) {
  static_cast<void>(for_each_dimension(data, input, [&](int axis, int32_t symbol) {
    const int32_t size = sizes[axis];
    const fb::Symbol& named = *symbol_at(data, symbol);
    const bool is_input = named.kind() == fb::SymbolKind::INPUT;
    // An input that lost its room has sizes of 0 until it is set again.
    const bool in_range = size >= 0 && size >= named.min() && size <= named.max();
    if (is_input && data.symbols[symbol] == kUnknown && in_range) data.symbols[symbol] = size;
    return Error::kOk;
  }));
}

}  // namespace

void compute_derived_symbols(MethodData& data) {
  for (size_t i = 0; i < data.counts.symbols; ++i) {
    const fb::Symbol& symbol = *symbol_at(data, static_cast<int32_t>(i));
    if (symbol.kind() != fb::SymbolKind::INPUT) data.symbols[i] = evaluate(data, symbol, i);
  }
}

void compute_symbols(MethodData& data, const InputSizes& sizes, size_t first) {
  for (size_t i = 0; i < data.counts.symbols; ++i) data.symbols[i] = kUnknown;
  const auto take = [&](size_t i) {
    if (data.inputs[i].tensor != nullptr) take_sizes(data, i, sizes.of(i));
  };
  if (first < data.counts.inputs) take(first);
  for (const bool fresh : {true, false}) {
    for (size_t i = 0; i < data.counts.inputs; ++i) {
      if ((sizes.own() && first != SIZE_MAX && data.inputs[i].fresh) == fresh) take(i);
    }
  }
  compute_derived_symbols(data);
}

namespace {

Error check_dimensions(MethodData& data, size_t input, Span<const int32_t> sizes) {
  return for_each_dimension(data, input, [&](int axis, int32_t symbol) {
    const int64_t expected = data.symbols[symbol];
    const int64_t found = sizes[axis];
    if (expected == kUnknown || expected == found || found < 0) return Error::kOk;
    char text[160];
    std::snprintf(text, sizeof(text), "(%.80s) is %lld according to the other inputs", reason_of(data, symbol),
                  static_cast<long long>(expected));
    return fail_dimension(data, input, axis, found, text);
  });
}

Error fail_relation(MethodData& data, const fb::SizeRelation& relation, size_t input) {
  char place[96];
  const char* method = format::text(data.plan->name());
  if (input == SIZE_MAX) {
    std::snprintf(place, sizeof(place), "methods[%.40s].inputs", method);
  } else {
    std::snprintf(place, sizeof(place), "methods[%.40s].inputs[%zu]", method, input);
  }
  char found[160] = "";
  size_t used = 0;
  for (uint32_t k = 0; k < length(relation.symbols()) && used < sizeof(found); ++k) {
    const int32_t symbol = relation.symbols()->Get(k);
    const int written =
        std::snprintf(found + used, sizeof(found) - used, "%s%.32s = %lld", k == 0 ? "" : ", ",
                      format::text(symbol_at(data, symbol)->name()), static_cast<long long>(data.symbols[symbol]));
    used += written < 0 ? 0 : static_cast<size_t>(written);
  }
  format::fail(&data.report, Error::kInvalidArgument, place, "the sizes must be such that %.80s, found %s",
               format::text(relation.text()), found);
  log_message(LogLevel::kError, "%s: %s", place, data.report.message);
  return Error::kInvalidArgument;
}

// Of those whose symbols are known. `input`: where the sizes come from, SIZE_MAX for several inputs.
Error check_relations(MethodData& data, size_t input) {
  const auto* relations = data.meta->size_relations();
  for (uint32_t i = 0; i < length(relations); ++i) {
    const fb::SizeRelation& relation = *relations->Get(i);
    if (relation.kind() == fb::SizeRelationKind::NAMED) continue;
    const int64_t a = operand(data, relation.a(), data.counts.symbols);
    const int64_t b = operand(data, relation.b(), data.counts.symbols);
    if (a == kUnknown || b == kUnknown) {
      // Of known sizes nothing is unknown but what is larger than numbers are.
      const auto is_unknown = [&](int32_t symbol) { return data.symbols[symbol] == kUnknown; };
      const auto* symbols = relation.symbols();
      if (length(symbols) == 0 || std::any_of(symbols->begin(), symbols->end(), is_unknown)) continue;
      return fail_relation(data, relation, input);
    }
    if (relation.kind() == fb::SizeRelationKind::EQUAL ? a != b : a > b) return fail_relation(data, relation, input);
  }
  return Error::kOk;
}

}  // namespace

Error check_own_relations(MethodData& data, size_t index, Span<const int32_t> sizes) {
  if (data.counts.symbols == 0 || length(data.meta->size_relations()) == 0) return Error::kOk;
  for (size_t i = 0; i < data.counts.symbols; ++i) data.symbols[i] = kUnknown;
  take_sizes(data, index, sizes);
  compute_derived_symbols(data);
  BERTH_RETURN_IF_ERROR(check_dimensions(data, index, sizes));
  return check_relations(data, index);
}

Error check_symbol_relations(MethodData& data, const InputSizes& sizes) {
  if (data.counts.symbols == 0) return Error::kOk;
  compute_symbols(data, sizes, SIZE_MAX);
  for (size_t i = 0; i < data.counts.inputs; ++i) {
    if (data.inputs[i].tensor != nullptr) BERTH_RETURN_IF_ERROR(check_dimensions(data, i, sizes.of(i)));
  }
  return check_relations(data, SIZE_MAX);
}

}  // namespace berth::internal
