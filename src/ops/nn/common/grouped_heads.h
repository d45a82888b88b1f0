// What operators of grouped-query attention with a cache have in common: inputs 0 to 4 are the query, K and V, which may
// be packed with it instead, and the two caches; and how new rows enter a cache of floats.
#pragma once
#include <span>
#include <string_view>

#include "ops/nn/common/attention.h"
#include "ops/nn/common/rotary.h"

namespace retort::ops {

/// Extents of one run. Q, K and V are [batch, rows, ·], and caches [batch, kv_heads, capacity, size]; the cache before
/// the run has room for `past` rows, and the run works on one of `work` rows. `parts`: the heads that one row of Q has,
/// with those of K and V if they are packed.
struct GroupedHeads {
  size_t batch = 0, rows = 0, heads = 0, kv_heads = 0, size = 0, past = 0, capacity = 0, work = 0, parts = 0;
  HeadStrides input(size_t heads) const { return packed_heads(rows, heads, size); }
  HeadStrides cache() const { return split_heads(capacity, kv_heads, size); }
  bool packed() const { return parts != heads; }
};

/// Throws invalid_argument unless each head of K and V belongs to as many heads of Q.
void check_grouped_heads(int64_t heads, int64_t kv_heads);
/// Sets the type of output 0, which has a row for each one of the query; returns the size of a head.
Dim infer_grouped_rows(InferContext& c, int64_t heads, int64_t kv_heads);
/// `capacity` and `work` are `past`.
GroupedHeads grouped_heads(const RunContext& c, int64_t heads, int64_t kv_heads);
/// Throws invalid_argument if input i is given and has another shape.
void expect_given(const RunContext& c, size_t i, std::string_view name, const Shape& wanted);
/// The same for K, V and both caches, whose rows have `stored` elements.
void expect_grouped_inputs(const RunContext& c, const GroupedHeads& e, int64_t stored);
/// The last extent of the inputs `cos` and `sin`, [positions, at most half of `size`]; throws invalid_argument if they
/// have other shapes.
size_t rotated_half(const RunContext& c, size_t cos, size_t sin, size_t size);

/// The tensors of one run. `k` and `v` are null if they are packed with Q.
template <typename T>
struct GroupedRows {
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  T* turned = nullptr;  ///< receives Q, [batch, rows, heads, size]
  T *cache_k = nullptr, *cache_v = nullptr;
  const Rotation<T>* rotation = nullptr;   ///< null: Q and K are not rotated
  std::span<const size_t> positions = {};  ///< [batch, rows], if they are
};

/// Copies Q, and appends K and V to the caches: row s of entry b becomes row before(b) + s. Q and K are rotated.
template <typename T, typename Before>
void append_rows(const GroupedHeads& e, const GroupedRows<T>& d, const Before& before, const Parallel& parallel) {
  const T* k = e.packed() ? d.q + e.heads * e.size : d.k;
  const T* v = e.packed() ? k + e.kv_heads * e.size : d.v;
  const HeadStrides of_q = e.input(e.parts), of_kv = e.packed() ? of_q : e.input(e.kv_heads), cache = e.cache();
  parallel.for_each(e.batch * e.rows, [&](size_t task, int) {
    const size_t b = task / e.rows, s = task % e.rows, row = before(b) + s;
    const auto turn = [&](const T* from, T* to) {
      d.rotation ? d.rotation->apply(d.positions[task], from, to) : void(std::copy_n(from, e.size, to));
    };
    for (size_t h = 0; h < e.heads; ++h) turn(d.q + of_q.at(b, h, s), d.turned + e.input(e.heads).at(b, h, s));
    for (size_t h = 0; h < e.kv_heads; ++h) {
      turn(k + of_kv.at(b, h, s), d.cache_k + cache.at(b, h, row));
      std::copy_n(v + of_kv.at(b, h, s), e.size, d.cache_v + cache.at(b, h, row));
    }
  });
}

}  // namespace retort::ops
