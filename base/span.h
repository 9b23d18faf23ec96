// Span<T>: a pointer and a length. It does not own the objects, which must outlive it.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace berth {

template <typename T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}

  /// From any container with data() and size() of a compatible element type (std::vector, std::array, Span<U>).
  template <typename Container, typename = std::enable_if_t<std::is_convertible_v<
                                    std::remove_pointer_t<decltype(std::declval<Container&>().data())> (*)[], T (*)[]>>>
  constexpr Span(Container& container) : data_(container.data()), size_(container.size()) {}
  template <typename Container,
            typename = std::enable_if_t<std::is_convertible_v<
                std::remove_pointer_t<decltype(std::declval<const Container&>().data())> (*)[], T (*)[]>>>
  constexpr Span(const Container& container) : data_(container.data()), size_(container.size()) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }

  /// REQUIRES: i < size(), checked in debug builds.
  constexpr T& operator[](size_t i) const {
#ifndef NDEBUG
    BERTH_CHECK(i < size_);
#endif
    return data_[i];
  }

  /// REQUIRES: offset + count <= size()
  constexpr Span subspan(size_t offset, size_t count) const {
    BERTH_CHECK(offset <= size_ && count <= size_ - offset);
    return Span(data_ + offset, count);
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

template <typename T>
bool operator==(Span<T> a, Span<T> b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return true;
}
template <typename T>
bool operator!=(Span<T> a, Span<T> b) {
  return !(a == b);
}

}  // namespace berth
