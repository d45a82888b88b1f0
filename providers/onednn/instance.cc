#include <algorithm>
#include <numeric>

#include "builder.h"
#include "common/sizes.h"

namespace onednn {
namespace {

constexpr size_t kAlign = 64;

bool together(const Block& a, const Block& b) { return a.first <= b.last && b.first <= a.last; }

}  // namespace

// Places large blocks first, each at the lowest offset where no block with an overlapping lifetime lies.
void Instance::place() {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](size_t i) {
    const Block& b = blocks[i];
    return b.input >= 0 || b.output >= 0 || b.constant || b.first < 0;
  });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  size_t total = 0;
  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    Block& b = blocks[i];
    b.bytes = providers::round_up(b.bytes, kAlign);
    for (const size_t other : placed) {
      const Block& o = blocks[other];
      if (!together(b, o)) continue;
      if (b.offset + b.bytes <= o.offset) break;
      b.offset = std::max(b.offset, o.offset + o.bytes);
    }
    total = std::max(total, b.offset + b.bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i,
                                   [&](size_t x, size_t y) { return blocks[x].offset < blocks[y].offset; }),
                  i);
  }
  memory_ = allocate(total);
}

void Instance::finish() {
  place();
  for (Step& s : steps) {
    for (Argument& a : s.memories) {
      const Block& b = blocks[size_t(a.block)];
      if (b.output >= 0)
        outward.emplace_back(-1 - b.output, a);
      else if (b.constant)
        a.memory.set_data_handle(b.constant.get());
      else if (b.input < 0)
        a.memory.set_data_handle(memory_.get() + b.offset);
    }
  }
}

void Instance::run(const std::vector<void*>& in, const std::vector<void*>& out) {
  for (auto& [port, argument] : outward)
    argument.memory.set_data_handle(port >= 0 ? in[size_t(port)] : out[size_t(-1 - port)]);
  for (const Step& s : steps) {
    if (!s.work) {
      s.primitive.execute(stream_, s.arguments);
      continue;
    }
    std::vector<char*> memories;
    for (const Argument& a : s.memories) memories.push_back(static_cast<char*>(a.memory.get_data_handle()));
    s.work(memories);
  }
  stream_.wait();
}

}  // namespace onednn
