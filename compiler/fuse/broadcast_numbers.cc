#include "compiler/fuse/broadcast_numbers.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace berth::fuse {

bool fits_broadcast(const std::vector<int64_t>& part, const std::vector<int64_t>& whole) {
  if (part.size() > whole.size()) return false;
  for (size_t d = 0; d < part.size(); ++d) {
    if (part[d] != 1 && part[d] != whole[whole.size() - part.size() + d]) return false;
  }
  return true;
}

Broadcast expanded(const Broadcast& given, const std::vector<int64_t>& sizes) {
  const int64_t count = std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  Broadcast wide = {sizes, std::vector<float>(count)};
  const size_t missing = sizes.size() - given.sizes.size();
  std::vector<int64_t> strides(sizes.size(), 0);
  int64_t stride = 1;
  for (size_t d = given.sizes.size(); d-- > 0;) {
    if (given.sizes[d] != 1) strides[missing + d] = stride;
    stride *= given.sizes[d];
  }
  std::vector<int64_t> index(sizes.size(), 0);
  int64_t at = 0;
  for (float& value : wide.values) {
    value = given.values[at];
    for (size_t d = sizes.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d]) break;
      at -= strides[d] * sizes[d];
      index[d] = 0;
    }
  }
  return wide;
}

std::pair<Broadcast, Broadcast> expanded_alike(const Broadcast& a, const Broadcast& b,
                                               const std::vector<int64_t>& sizes) {
  std::vector<int64_t> own(sizes.size(), 1);
  for (const Broadcast* one : {&a, &b}) {
    for (size_t d = 0; d < one->sizes.size(); ++d) {
      int64_t& size = own[sizes.size() - one->sizes.size() + d];
      size = std::max(size, one->sizes[d]);
    }
  }
  return {expanded(a, own), expanded(b, own)};
}

}  // namespace berth::fuse
