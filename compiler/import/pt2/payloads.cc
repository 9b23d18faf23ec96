#include "compiler/import/pt2/payloads.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "compiler/import/lowering/lowering.h"

namespace berth::pt2 {
namespace {

Failure wrong_payload(const std::string& place, std::string message) {
  return Failure{Error::kInvalidProgram, place, std::move(message)};
}

Expected<int64_t> plain(const Size& size, const std::string& place) {
  if (size.expression.empty() && size.number >= 0) return size.number;
  return wrong_payload(place, "has a size, stride or offset that is not a number of at least 0");
}

Expected<std::vector<int64_t>> plain(const std::vector<Size>& sizes, const std::string& place) {
  std::vector<int64_t> numbers;
  for (const Size& size : sizes) {
    BERTH_ASSIGN_OR_RETURN(numbers.emplace_back(), plain(size, place));
  }
  return numbers;
}

Expected<int64_t> elements_of(const std::vector<int64_t>& sizes, const std::string& place) {
  __int128 count = 1;
  for (int64_t size : sizes) {
    count *= size;
    if (size > lowering::kMaxElements || count > lowering::kMaxElements) {
      return wrong_payload(place, "has more than 2^40 elements");
    }
  }
  return static_cast<int64_t>(count);
}

// Whether the last element of a tensor that begins at element `start` lies in a file of `stored` elements. REQUIRES:
// none of the sizes is 0.
Status check_extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, int64_t start,
                    size_t stored, const std::string& place) {
  __int128 last = start;
  for (size_t d = 0; d < sizes.size(); ++d) last += static_cast<__int128>(sizes[d] - 1) * strides[d];
  if (last < static_cast<__int128>(stored)) return Done{};
  return wrong_payload(place, "its sizes and strides reach element " +
                                  std::to_string(static_cast<int64_t>(std::min<__int128>(last, INT64_MAX))) +
                                  " of a file of " + std::to_string(stored));
}

/// The dimensions from the outermost in memory to the innermost when sizes and strides leave no gap; else empty.
std::vector<int64_t> dense_order(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides) {
  std::vector<int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto stride = [&](int64_t d) { return strides[d]; };
  const auto size = [&](int64_t d) { return sizes[d]; };
  // Dimensions of one element lie anywhere: they stay between their neighbours.
  std::vector<int64_t> moving;
  for (int64_t d : order) {
    if (size(d) != 1) moving.push_back(d);
  }
  std::stable_sort(moving.begin(), moving.end(), [&](int64_t a, int64_t b) { return stride(a) > stride(b); });
  int64_t expected = 1;
  for (size_t i = moving.size(); i-- > 0;) {
    if (stride(moving[i]) != expected) return {};
    expected *= size(moving[i]);
  }
  size_t next = 0;
  for (int64_t& d : order) {
    if (size(d) != 1) d = moving[next++];
  }
  return order;
}

bool is_identity(const std::vector<int64_t>& order) {
  for (size_t i = 0; i < order.size(); ++i) {
    if (order[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

Expected<Payloads> Payloads::read(const Archive& archive, const std::string& name,
                                  std::shared_ptr<const MappedFile> file, Span<const uint8_t> bytes) {
  Payloads payloads;
  payloads.file_ = std::move(file);
  payloads.bytes_ = bytes;
  payloads.budget_ = bytes.size() + (size_t{64} << 20);
  BERTH_ASSIGN_OR_RETURN(payloads.weights_, read_config(archive, "data/weights/", name + "_weights_config.json"));
  BERTH_ASSIGN_OR_RETURN(payloads.constants_, read_config(archive, "data/constants/", name + "_constants_config.json"));
  return payloads;
}

Expected<Payloads::Entries> Payloads::read_config(const Archive& archive, const std::string& folder,
                                                  const std::string& config) {
  Entries entries;
  const std::string path = folder + config;
  if (!archive.has(path)) return entries;  // a model without weights; one that has some fails when it looks for them
  BERTH_ASSIGN_OR_RETURN(const Record record, archive.find(path));
  BERTH_ASSIGN_OR_RETURN(const Json json, parse_json(archive.text(record), path));
  JsonReader reader(path);
  const Json& items = reader.object(reader.field(json, "config"), "config");
  for (const auto& [name, item] : items.items()) {
    Entry entry;
    const Json& pickled = reader.field(item, "use_pickle");
    entry.pickled = !pickled.is_null() && reader.truth(pickled, name + ".use_pickle");
    const Json& meta = reader.field(item, "tensor_meta");
    entry.pickled = entry.pickled || meta.is_null();
    if (!meta.is_null()) entry.meta = read_tensor_meta(reader, meta, name + ".tensor_meta");
    const std::string file = reader.text(reader.field(item, "path_name"), name + ".path_name");
    if (file.empty() || file.find('/') != std::string::npos) {
      reader.fail(name + ".path_name", "expected the name of a file, found \"" + file + "\"");
    }
    if (!reader.ok()) break;
    BERTH_ASSIGN_OR_RETURN(entry.record, archive.find(folder + file));
    entries.emplace(name, std::move(entry));
  }
  if (!reader.ok()) return reader.failure();
  return entries;
}

Expected<Payload> Payloads::find(const Entries& first, const Entries& second, const std::string& name) {
  const std::string place = "pt2 tensor \"" + name + "\"";
  for (const Entries* entries : {&first, &second}) {
    const auto found = entries->find(name);
    if (found != entries->end()) return load(found->second, place);
  }
  return wrong_payload(
      place,
      "is not in the archive (weights in the pickled form of older PyTorch are not read; load and save "
      "the model with PyTorch 2.9 to 2.15)");
}

Expected<Payload> Payloads::load(const Entry& entry, const std::string& place) {
  if (entry.pickled) {
    return Failure{Error::kNotSupported, place,
                   "is a pickled object (a subclass of torch.Tensor, or a custom object); Berth reads plain tensors"};
  }
  if (!entry.meta.strided) return Failure{Error::kNotSupported, place, "is sparse; make it dense"};
  if (entry.meta.sizes.size() > kMaxRank) return wrong_payload(place, "has more than 16 dimensions");
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, plain(entry.meta.sizes, place));
  BERTH_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, plain(entry.meta.strides, place));
  BERTH_ASSIGN_OR_RETURN(const int64_t start, plain(entry.meta.storage_offset, place));
  const size_t element = element_size(entry.meta.dtype);
  Payload payload;
  payload.dtype = entry.meta.dtype;
  payload.sizes = sizes;
  payload.stored = sizes;
  BERTH_ASSIGN_OR_RETURN(const int64_t count, elements_of(sizes, place));
  if (count == 0) return payload;
  BERTH_TRY(check_extent(sizes, strides, start, entry.record.size / element, place));
  // A dimension that repeats one element is stored once.
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d] == 0) payload.stored[d] = 1;
  }
  const std::vector<int64_t> order = dense_order(payload.stored, strides);
  const size_t first = entry.record.offset + start * element;
  if (!payload.stored.empty() && order.empty()) {
    BERTH_ASSIGN_OR_RETURN(payload.blob, gather(entry, payload.stored, strides, first, place));
    return payload;
  }
  size_t bytes = element;
  for (int64_t size : payload.stored) bytes *= size;
  payload.offset = first;
  BERTH_ASSIGN_OR_RETURN(payload.blob, take(first, bytes, place));
  if (is_identity(order)) return payload;
  std::vector<int64_t> stored;
  payload.order.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    stored.push_back(payload.stored[order[i]]);
    payload.order[order[i]] = static_cast<int64_t>(i);
  }
  payload.stored = std::move(stored);
  return payload;
}

Expected<ir::Blob> Payloads::take(size_t first, size_t bytes, const std::string& place) {
  if (file_ != nullptr) return ir::Blob::mapped(file_, first, bytes);
  if (bytes > budget_) {
    return Failure{Error::kOutOfResources, place, "too many names share one storage; read the model from a file"};
  }
  budget_ -= bytes;
  return ir::Blob::owned(std::vector<uint8_t>(bytes_.data() + first, bytes_.data() + first + bytes));
}

Expected<ir::Blob> Payloads::gather(const Entry& entry, const std::vector<int64_t>& sizes,
                                    const std::vector<int64_t>& strides, size_t start, const std::string& place) {
  const size_t element = element_size(entry.meta.dtype);
  size_t total = element;
  for (int64_t size : sizes) {
    if (__builtin_mul_overflow(total, static_cast<size_t>(size), &total)) total = SIZE_MAX;
  }
  if (total > budget_) {
    return Failure{Error::kOutOfResources, place, "is too large a view with gaps; make it contiguous before exporting"};
  }
  budget_ -= total;
  std::vector<uint8_t> out(total);
  std::vector<int64_t> index(sizes.size(), 0);
  size_t from = start;
  for (size_t to = 0; to < total; to += element) {
    std::memcpy(out.data() + to, bytes_.data() + from, element);
    for (size_t d = sizes.size(); d-- > 0;) {
      from += strides[d] * element;
      if (++index[d] < sizes[d]) break;
      from -= strides[d] * element * sizes[d];
      index[d] = 0;
    }
  }
  return ir::Blob::owned(std::move(out));
}

}  // namespace berth::pt2
