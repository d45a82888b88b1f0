// The elements of a sequence.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

namespace retort {

class Value;

/// Values that do not change, in an order. Copies share memory, to which a copy also adds: a loop that passes a sequence
/// on and adds to it takes linear time, and an element is released with the last copy. Different copies may be used by
/// different threads, as those of a shared pointer.
class Items {
 public:
  Items() = default;
  Items(std::vector<Value> values);  // NOLINT: implicit by design
  Items(std::initializer_list<Value> values);

  size_t size() const { return store_ ? count_ : 0; }
  bool empty() const { return size() == 0; }
  const Value* begin() const;
  const Value* end() const;
  const Value& operator[](size_t i) const;

  void reserve(size_t count);
  void push_back(Value value);
  /// Inserts before element `at`, or at the end.
  void insert(size_t at, Value value);
  void erase(size_t at);

 private:
  struct Store;
  std::shared_ptr<Store> grown(size_t capacity);

  std::shared_ptr<Store> store_;
  size_t count_ = 0;  ///< elements of the store that this sequence has
};

}  // namespace retort
