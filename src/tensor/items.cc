#include "tensor/items.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tensor/tensor.h"

namespace retort {

/// Memory for elements. The first `used` are set and never change.
struct Items::Store {
  explicit Store(size_t n) : capacity(n), values(std::make_unique<Value[]>(n)) {}
  std::atomic<size_t> used = 0;
  const size_t capacity;
  const std::unique_ptr<Value[]> values;
};

Items::Items(std::vector<Value> values) {
  reserve(values.size());
  for (Value& v : values) push_back(std::move(v));
}

Items::Items(std::initializer_list<Value> values) : Items(std::vector<Value>(values)) {}

const Value* Items::begin() const { return store_ ? store_->values.get() : nullptr; }
const Value* Items::end() const { return begin() + size(); }
const Value& Items::operator[](size_t i) const { return store_->values[i]; }

// A store of its own with the same elements.
std::shared_ptr<Items::Store> Items::grown(size_t capacity) {
  const auto store = std::make_shared<Store>(capacity);
  std::copy(begin(), end(), store->values.get());
  store->used = size();
  return store;
}

void Items::reserve(size_t count) {
  if (count <= (store_ ? store_->capacity : 0)) return;
  store_ = grown(count);
  count_ = store_->used;
}

// The memory behind the last element belongs to the copy that first claims it.
void Items::push_back(Value value) {
  size_t used = size();
  if (!store_ || used == store_->capacity || !store_->used.compare_exchange_strong(used, used + 1)) {
    constexpr size_t kLeast = 4;
    store_ = grown(std::max(kLeast, 2 * size()));
    used = store_->used++;
  }
  store_->values[used] = std::move(value);
  count_ = used + 1;
}

void Items::insert(size_t at, Value value) {
  if (at == size()) return push_back(std::move(value));
  Items all;
  all.reserve(size() + 1);
  for (size_t i = 0; i < size(); ++i) {
    if (i == at) all.push_back(std::move(value));
    all.push_back((*this)[i]);
  }
  *this = std::move(all);
}

void Items::erase(size_t at) {
  if (at + 1 == size()) {  // the element stays in the memory that copies share
    --count_;
    return;
  }
  Items all;
  all.reserve(size());
  for (size_t i = 0; i < size(); ++i) {
    if (i != at) all.push_back((*this)[i]);
  }
  *this = std::move(all);
}

}  // namespace retort
