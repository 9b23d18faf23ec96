// Id and IdVector: the position of an item in a list as a type of its own, and the list that only it indexes.
//
//     struct Value;
//     using ValueId = Id<Value>;
//
//     IdVector<ValueId, int> uses(method.values.size());
//     ++uses[id];          // a ValueId; a NodeId or a plain number does not compile
//     for (ValueId id : uses.ids()) …
//
// Items are numbered from 0 in the order in which they were added, so an id stays valid while the list only grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace berth {

/// The position of an `Item` in its list. The default is "none". Ids of different items do not convert to each other.
template <typename Item>
struct Id {
  int32_t index = -1;

  constexpr bool valid() const { return index >= 0; }
  friend constexpr bool operator==(Id a, Id b) { return a.index == b.index; }
  friend constexpr bool operator!=(Id a, Id b) { return a.index != b.index; }
  friend constexpr bool operator<(Id a, Id b) { return a.index < b.index; }
};

/// The ids from 0 up to `count`, for a range-based for.
template <typename Id>
class IdRange {
 public:
  class Iterator {
   public:
    explicit Iterator(Id id) : id_(id) {}
    Id operator*() const { return id_; }
    Iterator& operator++() { return ++id_.index, *this; }
    friend bool operator!=(Iterator a, Iterator b) { return a.id_ != b.id_; }

   private:
    Id id_;
  };

  explicit IdRange(size_t count) : end_{static_cast<int32_t>(count)} {}
  Iterator begin() const { return Iterator(Id{0}); }
  Iterator end() const { return Iterator(end_); }

 private:
  Id end_;
};

/// A std::vector<T> with one element an id. Only `Id` indexes it.
template <typename Id, typename T>
class IdVector {
  using Items = std::vector<T>;

 public:
  IdVector() = default;
  explicit IdVector(size_t size) : items_(size) {}
  IdVector(size_t size, const T& value) : items_(size, value) {}

  /// REQUIRES: contains(id).
  typename Items::reference operator[](Id id) { return items_[id.index]; }
  typename Items::const_reference operator[](Id id) const { return items_[id.index]; }

  /// Whether `id` is valid and below size().
  bool contains(Id id) const { return id.valid() && static_cast<size_t>(id.index) < items_.size(); }
  /// The id that the next element will have.
  Id next_id() const { return Id{static_cast<int32_t>(items_.size())}; }
  /// All ids, in order. Elements that are added while iterating are not visited.
  IdRange<Id> ids() const { return IdRange<Id>(items_.size()); }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void reserve(size_t size) { items_.reserve(size); }
  void resize(size_t size) { items_.resize(size); }
  void resize(size_t size, const T& value) { items_.resize(size, value); }
  void assign(size_t size, const T& value) { items_.assign(size, value); }
  void clear() { items_.clear(); }
  /// Appends default elements until contains(id). REQUIRES: id.valid().
  void grow_to(Id id) {
    if (!contains(id)) items_.resize(static_cast<size_t>(id.index) + 1);
  }

  /// Appends `value` and returns its id.
  Id push_back(T value) {
    items_.push_back(std::move(value));
    return Id{static_cast<int32_t>(items_.size()) - 1};
  }

  typename Items::reference back() { return items_.back(); }
  typename Items::const_reference back() const { return items_.back(); }
  typename Items::iterator begin() { return items_.begin(); }
  typename Items::iterator end() { return items_.end(); }
  typename Items::const_iterator begin() const { return items_.begin(); }
  typename Items::const_iterator end() const { return items_.end(); }

  friend bool operator==(const IdVector& a, const IdVector& b) { return a.items_ == b.items_; }
  friend bool operator!=(const IdVector& a, const IdVector& b) { return a.items_ != b.items_; }

 private:
  Items items_;
};

}  // namespace berth

template <typename Item>
struct std::hash<berth::Id<Item>> {
  size_t operator()(berth::Id<Item> id) const { return std::hash<int32_t>()(id.index); }
};
