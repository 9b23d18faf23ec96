// Symbolic dimensions of inputs, held to what the compiler knew of them (fb::Symbol, fb::SymbolicDimension).

#include <cstdio>

#include "base/math.h"
#include "runtime/log.h"
#include "runtime/method_data.h"

namespace berth::internal {

using format::length;

namespace {

constexpr int64_t kUnset = -1;

bool is_plain(const fb::SymbolicDimension& dimension) {
  return dimension.scale() == 1 && dimension.offset() == 0 && dimension.divisor() == 1;
}

const fb::Symbol* symbol_of(const MethodData& data, const fb::SymbolicDimension& dimension) {
  const auto* symbols = data.meta->symbols();
  if (dimension.symbol() < 0 || static_cast<size_t>(dimension.symbol()) >= length(symbols)) return nullptr;
  return symbols->Get(static_cast<flatbuffers::uoffset_t>(dimension.symbol()));
}

Error fail_dimension(MethodData& data, size_t input, int dimension, int64_t found, const char* message) {
  char place[96];
  std::snprintf(place, sizeof(place), "methods[%.40s].inputs[%zu]", format::text(data.plan->name()), input);
  format::fail(&data.report, Error::kInvalidArgument, place, "the size of dimension %d %s, found %lld", dimension,
               message, static_cast<long long>(found));
  log_message(LogLevel::kError, "%s: %s", place, data.report.message);
  return Error::kInvalidArgument;
}

Error check_range(MethodData& data, size_t input, const fb::SymbolicDimension& dimension, const fb::Symbol& symbol,
                  int64_t size) {
  char message[120];
  if (size < symbol.min() || size > symbol.max()) {
    std::snprintf(message, sizeof(message), "(%.32s) lies between %lld and %lld", format::text(symbol.name()),
                  static_cast<long long>(symbol.min()), static_cast<long long>(symbol.max()));
    return fail_dimension(data, input, dimension.dimension(), size, message);
  }
  if (symbol.multiple_of() > 1 && size % symbol.multiple_of() != 0) {
    std::snprintf(message, sizeof(message), "(%.32s) is a multiple of %lld", format::text(symbol.name()),
                  static_cast<long long>(symbol.multiple_of()));
    return fail_dimension(data, input, dimension.dimension(), size, message);
  }
  return Error::kOk;
}

// (symbol * scale + offset) / divisor rounded down; false when that has no value.
bool evaluate(const fb::SymbolicDimension& dimension, int64_t symbol, int64_t* size) {
  int64_t x = 0;
  if (dimension.divisor() <= 0 || !checked_mul(symbol, dimension.scale(), &x) ||
      !checked_add(x, dimension.offset(), &x)) {
    return false;
  }
  *size = x / dimension.divisor() - (x % dimension.divisor() < 0 ? 1 : 0);
  return true;
}

// Calls `visit(input, dimension entry, its size now)` for each symbolic dimension of each tensor input.
template <typename Visit>
Error for_each_input_dimension(MethodData& data, Visit visit) {
  const auto* dimensions = data.meta->dimensions();
  for (size_t i = 0; i < data.counts.inputs; ++i) {
    const Port& port = data.inputs[i];
    if (port.tensor == nullptr) continue;
    for (flatbuffers::uoffset_t d = 0; d < length(dimensions); ++d) {
      const fb::SymbolicDimension& dimension = *dimensions->Get(d);
      if (dimension.value() != static_cast<int64_t>(port.value) || symbol_of(data, dimension) == nullptr) continue;
      if (dimension.dimension() < 0 || dimension.dimension() >= port.tensor->rank()) continue;
      BERTH_RETURN_IF_ERROR(visit(i, dimension, port.tensor->size(dimension.dimension())));
    }
  }
  return Error::kOk;
}

}  // namespace

Error check_symbol_ranges(MethodData& data, size_t index, Span<const int32_t> sizes) {
  if (data.meta == nullptr) return Error::kOk;
  const auto* dimensions = data.meta->dimensions();
  for (flatbuffers::uoffset_t d = 0; d < length(dimensions); ++d) {
    const fb::SymbolicDimension& dimension = *dimensions->Get(d);
    const fb::Symbol* symbol = symbol_of(data, dimension);
    if (dimension.value() != static_cast<int64_t>(data.inputs[index].value) || symbol == nullptr) continue;
    if (!is_plain(dimension) || dimension.dimension() < 0) continue;
    const size_t axis = static_cast<size_t>(dimension.dimension());
    if (axis < sizes.size()) BERTH_RETURN_IF_ERROR(check_range(data, index, dimension, *symbol, sizes[axis]));
  }
  return Error::kOk;
}

Error check_symbol_relations(MethodData& data) {
  if (data.meta == nullptr || data.counts.symbols == 0) return Error::kOk;
  for (size_t i = 0; i < data.counts.symbols; ++i) data.symbols[i] = kUnset;
  BERTH_RETURN_IF_ERROR(for_each_input_dimension(data, [&](size_t input, const fb::SymbolicDimension& d, int64_t size) {
    int64_t& known = data.symbols[d.symbol()];
    if (!is_plain(d) || known == size) return Error::kOk;
    if (known != kUnset) return fail_dimension(data, input, d.dimension(), size, "differs from another input's");
    known = size;
    return Error::kOk;
  }));
  return for_each_input_dimension(data, [&](size_t input, const fb::SymbolicDimension& d, int64_t size) {
    const int64_t known = data.symbols[d.symbol()];
    int64_t expected = 0;
    if (is_plain(d) || known == kUnset || !evaluate(d, known, &expected) || expected == size) return Error::kOk;
    return fail_dimension(data, input, d.dimension(), size, "does not follow from another input's");
  });
}

}  // namespace berth::internal
