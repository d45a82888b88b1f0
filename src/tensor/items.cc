#include "tensor/items.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "tensor/tensor.h"

namespace retort {

/// Memory for elements. The first `used` are set and never change.
struct Items::Store {
  explicit Store(size_t n) : capacity(n), items(std::make_unique<Item[]>(n)) {}
  std::atomic<size_t> used = 0;
  const size_t capacity;
  const std::unique_ptr<Item[]> items;
};

Items::Items(std::vector<Value> values) : store_(std::make_shared<Store>(values.size())), count_(values.size()) {
  const auto block = std::make_shared<const std::vector<Value>>(std::move(values));
  for (size_t i = 0; i < count_; ++i) store_->items[i] = Item(block, &(*block)[i]);
  store_->used = count_;
}

Items::Items(std::initializer_list<Value> values) : Items(std::vector<Value>(values)) {}

const Items::Item* Items::first() const { return store_ ? store_->items.get() : nullptr; }

// The memory behind the last element belongs to the copy that first claims it.
void Items::add(Item item) {
  size_t used = size();
  if (!store_ || used == store_->capacity || !store_->used.compare_exchange_strong(used, used + 1)) {
    constexpr size_t kLeast = 4;
    const auto more = std::make_shared<Store>(std::max(kLeast, 2 * size()));
    std::copy_n(first(), size(), more->items.get());
    used = size();
    more->used = used + 1;
    store_ = more;
  }
  store_->items[used] = std::move(item);
  count_ = used + 1;
}

void Items::push_back(Value value) { add(std::make_shared<const Value>(std::move(value))); }

void Items::insert(size_t at, Value value) {
  auto item = std::make_shared<const Value>(std::move(value));
  if (at == size()) return add(std::move(item));
  const auto more = std::make_shared<Store>(size() + 1);
  Item* const to = std::copy_n(first(), at, more->items.get());
  *to = std::move(item);
  std::copy(first() + at, first() + size(), to + 1);
  more->used = ++count_;
  store_ = more;
}

void Items::erase(size_t at) {
  if (at + 1 == size()) {  // the element stays in the memory that copies share
    --count_;
    return;
  }
  const auto fewer = std::make_shared<Store>(size());  // an element is often inserted next
  Item* const to = std::copy_n(first(), at, fewer->items.get());
  std::copy(first() + at + 1, first() + size(), to);
  fewer->used = --count_;
  store_ = fewer;
}

}  // namespace retort
