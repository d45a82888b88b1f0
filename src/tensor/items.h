// The elements of a sequence.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <vector>

namespace retort {

class Value;

/// Values that do not change, in an order. Copies share memory, to which a copy also adds: a loop that passes a sequence
/// on and adds to its end takes linear time, and an element is released with the last copy. Where a copy differs in the
/// middle, only the pointers to the elements are copied. Different copies may be used by different threads, as those of
/// a shared pointer.
class Items {
  using Item = std::shared_ptr<const Value>;

 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    using pointer = const Value*;
    using reference = const Value&;

    Iterator() = default;
    reference operator*() const { return **at_; }
    Iterator& operator++() { return ++at_, *this; }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    friend class Items;
    explicit Iterator(const Item* at) : at_(at) {}
    const Item* at_ = nullptr;
  };

  Items() = default;
  /// The elements share one block, which is released with the last of them.
  Items(std::vector<Value> values);  // NOLINT: implicit by design
  Items(std::initializer_list<Value> values);

  size_t size() const { return store_ ? count_ : 0; }
  bool empty() const { return size() == 0; }
  Iterator begin() const { return Iterator(first()); }
  Iterator end() const { return Iterator(first() + size()); }
  const Value& operator[](size_t i) const { return *first()[i]; }

  void push_back(Value value);
  /// Inserts before element `at`, or at the end.
  void insert(size_t at, Value value);
  void erase(size_t at);

 private:
  struct Store;
  const Item* first() const;
  void add(Item item);

  std::shared_ptr<Store> store_;
  size_t count_ = 0;  ///< elements of the store that this sequence has
};

}  // namespace retort
