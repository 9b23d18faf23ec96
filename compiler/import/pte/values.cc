// Slots to values and back.
#include <algorithm>
#include <numeric>

#include "compiler/import/pte/method_importer.h"
#include "compiler/ir/shape_args.h"

namespace berth::pte {
namespace {

// Spaces of values that lie in no arena come after all arenas: verify_program() allows 256.
constexpr uint32_t kOwnSpace = 1u << 20;

std::vector<uint8_t> dim_order_of(const fb::Tensor& tensor) {
  std::vector<uint8_t> order(tensor.dim_order()->begin(), tensor.dim_order()->end());
  for (size_t d = 0; d < order.size(); ++d) {
    if (order[d] != d) return order;
  }
  return {};
}

uint64_t bytes_of(const fb::Tensor& tensor) {
  uint64_t bytes = 0;
  BERTH_CHECK(format::tensor_nbytes(tensor, &bytes));  // verify_program() counted them
  return bytes;
}

DimList sizes_of(const fb::Tensor& tensor) { return DimList(tensor.sizes()->begin(), tensor.sizes()->end()); }

DimList permutation(const std::vector<uint8_t>& order) { return DimList(order.begin(), order.end()); }

// The sizes as they follow each other in memory.
DimList sizes_in_memory(const DimList& sizes, const std::vector<uint8_t>& order) {
  if (order.empty()) return sizes;
  DimList out;
  for (uint8_t d : order) out.push_back(sizes[d]);
  return out;
}

}  // namespace

ByteRange MethodImporter::range_of(Slot slot) {
  const auto moved = ranges_.find(slot);
  if (moved != ranges_.end()) return moved->second;
  const ByteRange own{kOwnSpace + static_cast<uint32_t>(slot), 0, 1};
  const fb::Tensor* t = tensor(slot);
  if (t == nullptr || !format::is_planned(*t)) return own;
  const uint64_t bytes = bytes_of(*t);
  if (bytes == 0) return own;
  const uint64_t begin = format::planned_offset(*t->allocation_info());
  return ByteRange{t->allocation_info()->memory_id(), begin, begin + bytes};
}

std::string MethodImporter::slot_name(Slot slot) const {
  const auto named = names_.find(slot);
  if (named != names_.end()) return named->second;
  const fb::Tensor* t = tensor(slot);
  const fb::ExtraTensorInfo* extra = t == nullptr ? nullptr : t->extra_tensor_info();
  const std::string name = extra == nullptr ? "" : format::text(extra->fully_qualified_name());
  return name.empty() ? "v" + std::to_string(slot) : name;
}

std::string MethodImporter::output_name(size_t k, Slot slot) const {
  const auto* outputs = meta_ == nullptr ? nullptr : meta_->outputs();
  const std::string name = k < format::length(outputs) ? format::text(outputs->Get(static_cast<uint32_t>(k))) : "";
  const auto named = names_.find(slot);
  return name.empty() && named != names_.end() ? named->second : name;
}

std::string MethodImporter::slot_text(Slot slot) const {
  const auto named = names_.find(slot);
  return "value " + std::to_string(slot) + (named == names_.end() ? "" : " \"" + named->second + "\"");
}

ir::TensorType MethodImporter::declared_type(Slot slot) const {
  const fb::Tensor& t = *tensor(slot);
  ir::TensorType type;
  type.dtype = static_cast<DType>(t.scalar_type());
  type.shape = sizes_of(t);
  type.dim_order = dim_order_of(t);
  type.device = format::tensor_device(t);
  return type;
}

Expected<ValueId> MethodImporter::read(Slot slot) {
  const fb::Tensor* t = tensor(slot);
  if (t == nullptr) return invalid("expected " + slot_text(slot) + " to be a tensor");
  const auto named = named_.find(slot);
  if (named != named_.end()) return named->second;
  const format::Storage storage = format::storage_of(*t);
  const bool moved = ranges_.count(slot) != 0;
  const bool constants = storage == format::Storage::kConstant || storage == format::Storage::kExternalConstant;
  if (constants && !moved) return constant(slot);
  const ByteRange range = range_of(slot);
  int write = memory_.find(range);
  if (write == MemoryMap::kNothing) {
    if (bytes_of(*t) == 0) {
      ir::Builder build(module_, method_, *graph_);
      ir::TensorType type = declared_type(slot);
      type.dim_order.clear();
      type.device = Device();  // where constants live
      return build.constant(std::move(type), ir::Blob::owned({}), slot_name(slot));
    }
    if (!format::is_planned(*t)) return unsupported(slot_text(slot) + " is read before anything gives it its bytes");
    BERTH_TRY(add_state(slot));
    write = memory_.find(range);
  }
  if (write == MemoryMap::kSeveral) return assemble(slot, range);
  return read_from(write, slot);
}

// Several writes side by side, such as the parts of a `cat` that are computed in their places.
Expected<ValueId> MethodImporter::assemble(Slot slot, const ByteRange& range) {
  const auto pieces = memory_.pieces(range);
  if (pieces.empty() || !declared_type(slot).dim_order.empty()) {
    return unsupported(slot_text(slot) +
                       " is read where no one instruction has written all of its bytes: it is neither a value of this "
                       "run nor state with bytes of its own");
  }
  BERTH_TRY(spend(pieces.size()));
  const std::string name = slot_name(slot);
  ir::ValueList parts;
  for (const auto& [place, write] : pieces) {
    const Write from = writes_[write];
    const bool fits = from.value.valid() && tensor(from.slot)->scalar_type() == tensor(slot)->scalar_type() &&
                      method_.tensor(from.value).is_static();
    if (!fits)
      return unsupported(slot_text(slot) + " are the bytes of several values, not all of them known as its own");
    BERTH_ASSIGN_OR_RETURN(const ValueId part, flat_part(from, place, name));
    parts.push_back(part);
  }
  BERTH_ASSIGN_OR_RETURN(const ValueId whole, one(OpId::cat_out, {parts, Dim(0)}, name));
  BERTH_ASSIGN_OR_RETURN(const ValueId value, view(whole, declared_type(slot).shape, name));
  record(slot, value, range);
  return value;
}

Expected<ValueId> MethodImporter::read_from(int write, Slot slot) {
  const Write& from = writes_[write];
  if (!from.value.valid()) {
    return unsupported(slot_text(slot) + " is read after the branches or the loop that may have changed its bytes");
  }
  const auto known = views_.find({write, slot});
  if (known != views_.end()) return known->second;
  const ByteRange range = range_of(slot);
  if (from.slot == slot && from.range.covers_same_bytes(range)) return from.value;
  auto value = reinterpret(from, slot, range);
  if (value.ok()) views_[{write, slot}] = *value;
  return value;
}

// The bytes that `write` left, or some of them, as what `slot` says they are.
Expected<ValueId> MethodImporter::reinterpret(const Write& write, Slot slot, const ByteRange& range) {
  const fb::Tensor& from = *tensor(write.slot);
  const fb::Tensor& to = *tensor(slot);
  const std::string name = slot_name(slot);
  if (from.scalar_type() != to.scalar_type()) {
    return unsupported(slot_text(slot) + " are the bytes of " + slot_text(write.slot) + " under another element type");
  }
  const std::vector<uint8_t> from_order = dim_order_of(from);
  const std::vector<uint8_t> to_order = dim_order_of(to);
  const bool whole = write.range.covers_same_bytes(range);
  const bool alike = sizes_of(from) == sizes_of(to) && from_order == to_order;
  if (whole && alike) return write.value;
  if (!method_.tensor(write.value).is_static()) {
    return unsupported(slot_text(slot) + " are the bytes of " + slot_text(write.slot) +
                       ", whose size may change, under another shape");
  }
  ValueId value = write.value;
  if (!whole) {
    BERTH_ASSIGN_OR_RETURN(value, flat_part(write, range, name));
  } else if (!from_order.empty()) {
    BERTH_ASSIGN_OR_RETURN(value, one(OpId::permute_copy_out, {value, permutation(from_order)}, name));
  }
  BERTH_ASSIGN_OR_RETURN(value, view(value, sizes_in_memory(sizes_of(to), to_order), name));
  if (to_order.empty()) return value;
  std::vector<int64_t> back(to_order.size());
  for (size_t i = 0; i < to_order.size(); ++i) back[to_order[i]] = static_cast<int64_t>(i);
  return one(OpId::permute_copy_out, {value, ir::dims(back)}, name);
}

// The elements of `write` that lie in `range`, in the order of their addresses. REQUIRES: a static value.
Expected<ValueId> MethodImporter::flat_part(const Write& write, const ByteRange& range, std::string_view name) {
  const fb::Tensor& from = *tensor(write.slot);
  const uint64_t size = element_size(static_cast<DType>(from.scalar_type()));
  const uint64_t begin = range.begin - write.range.begin;
  const uint64_t end = range.end - write.range.begin;
  if (begin % size != 0 || end % size != 0) {
    return unsupported("a value begins or ends inside of an element of " + slot_text(write.slot));
  }
  ValueId value = write.value;
  const std::vector<uint8_t> order = dim_order_of(from);
  if (!order.empty()) {
    BERTH_ASSIGN_OR_RETURN(value, one(OpId::permute_copy_out, {value, permutation(order)}, name));
  }
  BERTH_ASSIGN_OR_RETURN(value, view(value, {Dim(-1)}, name));
  if (range.covers_same_bytes(write.range)) return value;
  const Dim first(static_cast<int64_t>(begin / size));
  const Dim last(static_cast<int64_t>(end / size));
  return one(OpId::slice_copy_Tensor_out, {value, Dim(0), first, last, Dim(1)}, name);
}

Expected<ValueId> MethodImporter::view(ValueId value, const DimList& sizes, std::string_view name) {
  if (method_.tensor(value).shape == sizes) return value;
  return one(OpId::view_copy_out, {value, sizes}, name);
}

// The bytes of a constant or of an initial value, of this file or of a data file.
Expected<MethodImporter::Stored> MethodImporter::stored(Slot slot) const {
  const fb::Tensor& t = *tensor(slot);
  const uint64_t size = bytes_of(t);
  const format::Storage storage = format::storage_of(t);
  Span<const uint8_t> bytes;
  Error error = Error::kOk;
  if (storage == format::Storage::kExternalConstant || storage == format::Storage::kExternalState) {
    const ExternalUse use{format::text(t.extra_tensor_info()->fully_qualified_name()), &t, size};
    if (source_.external.find(use.key) != nullptr ||
        source_.program.named_data(use.key.c_str(), &bytes) != Error::kOk) {
      auto blob = source_.external.find(use);
      if (!blob.ok()) {
        const std::string place = blob.error().place.empty() ? "" : blob.error().place + ": ";
        return fail(blob.error().code, slot_text(slot) + ": " + place + blob.error().message);
      }
      return Stored{(*blob)->bytes().subspan(0, size), (*blob)->file};
    }
    if (bytes.size() < size) error = Error::kInvalidProgram;
    if (error == Error::kOk) bytes = bytes.subspan(0, size);
  } else if (storage == format::Storage::kState) {
    error = source_.program.initial_value(t.data_buffer_idx(), size, &bytes);
  } else {
    error = source_.program.constant(t.data_buffer_idx(), size, &bytes);
  }
  if (error != Error::kOk) return invalid("the file does not contain the bytes of " + slot_text(slot));
  return Stored{bytes, source_.file};
}

Expected<ValueId> MethodImporter::constant(Slot slot) {
  const auto known = constants_.find(slot);
  if (known != constants_.end()) return known->second;
  const fb::Tensor& t = *tensor(slot);
  BERTH_ASSIGN_OR_RETURN(const Stored bytes, stored(slot));
  ir::TensorType type = declared_type(slot);
  const ConstantKey key(bytes.bytes.data(), static_cast<int>(type.dtype), {t.sizes()->begin(), t.sizes()->end()},
                        type.dim_order);
  auto found = shared_.constants.find(key);
  if (found == shared_.constants.end()) {
    type.device = Device();
    found = shared_.constants.emplace(key, module_.add_constant(slot_name(slot), type, bytes.blob())).first;
  }
  ValueId value = method_.constant_value(module_, found->second);
  BERTH_ASSIGN_OR_RETURN(value, row_major(value, slot_name(slot)));
  constants_[slot] = value;
  return value;
}

Expected<ValueId> MethodImporter::in_order(ValueId value, const std::vector<uint8_t>& order, std::string_view name) {
  const ir::TensorType& type = method_.tensor(value);
  if (type.dim_order == order) return value;
  std::vector<int64_t> wanted(order.begin(), order.end());
  if (wanted.empty()) {
    wanted.resize(type.shape.size());
    std::iota(wanted.begin(), wanted.end(), int64_t{0});
  }
  return one(OpId::clone_dim_order_out, {value, false, ir::dims(wanted)}, name);
}

Expected<ValueId> MethodImporter::row_major(ValueId value, std::string_view name) { return in_order(value, {}, name); }

void MethodImporter::record(Slot slot, ValueId value, const ByteRange& range) {
  const int write = static_cast<int>(writes_.size());
  writes_.push_back({slot, value, range});
  memory_.write(range, write);
}

// An instruction has made `value`, which `slot` says it holds.
Status MethodImporter::define(Slot slot, ValueId value) {
  const fb::Tensor* t = tensor(slot);
  if (t == nullptr) return invalid("expected a tensor as result, found " + slot_text(slot));
  const format::Storage storage = format::storage_of(*t);
  if (storage == format::Storage::kConstant || storage == format::Storage::kExternalConstant || named_.count(slot)) {
    return invalid("writes to " + slot_text(slot) + ", which is a constant");
  }
  const std::string name = slot_name(slot);
  const DType declared = static_cast<DType>(t->scalar_type());
  if (method_.tensor(value).dtype != declared) {
    const Argument dtype = Dim(static_cast<int64_t>(declared));
    BERTH_ASSIGN_OR_RETURN(value, one(OpId::to_dim_order_copy_out, {value, false, ir::None(), dtype}, name));
  }
  BERTH_ASSIGN_OR_RETURN(value, row_major(value, name));
  BERTH_TRY(check_type(slot, method_.tensor(value)));
  record(slot, value, range_of(slot));
  return Done{};
}

}  // namespace berth::pte
