// Packs filters for convolutions of codes.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "kernels/conv/conv_codes_parts.h"
#include "kernels/gemm/excess_search.h"

namespace retort::kernels {
namespace codes_detail {

size_t depthwise_blocks(size_t channels) {
  size_t count = 0;
  for (size_t first = 0; first < channels; ++count) first += depthwise_block(first, channels).width;
  return count;
}
DepthwiseBlock depthwise_block_at(size_t channels, size_t i) {
  const size_t width = 2 * codes_panel_width(), whole = std::min(i, channels / width);
  DepthwiseBlock block = depthwise_block(whole * width, channels);
  for (; i > whole; --i) block = depthwise_block(block.first + block.width, channels);
  return block;
}

size_t panels_bytes(const CodesConvShape& s) {
  const size_t depth = is_depthwise(s)
                           ? checked_mul(round_up(s.kernel_h, 4) * s.kernel_w, depthwise_passes(s), "filters")
                           : Patch(s).depth();
  return checked_mul(conv_codes_places(s), depth, "filters");
}
FilterFacts facts_in(const CodesConvShape& s, const int8_t* packed) {
  return *reinterpret_cast<const FilterFacts*>(packed + panels_bytes(s));
}
Excess excess_in(const CodesConvShape& s, const int8_t* packed) {
  return {packed + panels_bytes(s) + sizeof(FilterFacts), conv_codes_places(s) / codes_panel_width()};
}

}  // namespace codes_detail

namespace {

namespace hn = hwy::HWY_NAMESPACE;
using codes_detail::DepthwiseBlock;
using codes_detail::is_depthwise;
using codes_detail::kLeastBlock;
using codes_detail::Patch;

void pack_depthwise(const CodesConvShape& s, const int8_t* filters, int8_t* to) {
  const size_t passes = codes_detail::depthwise_passes(s);
  for (DepthwiseBlock block{}; block.first < s.out_c; block.first += block.width) {
    block = codes_detail::depthwise_block(block.first, s.out_c);
    const size_t pass_bytes = round_up(s.kernel_h, 4) * s.kernel_w * block.width;
    for (size_t k = 0; k < s.kernel_h; k += 4) {
      for (size_t j = 0; j < s.kernel_w; ++j, to += 4 * block.width) {
        for (size_t place = 0; place < block.width; ++place) {
          const size_t channel = block.first + codes_detail::depthwise_channel(block.width, place);
          for (size_t i = k; i < std::min(k + 4, s.kernel_h) && channel < s.out_c; ++i) {
            const int32_t weight = filters[(channel * s.kernel_h + i) * s.kernel_w + j] - s.filter_zero;
            const int32_t first = std::clamp(weight, INT8_MIN, INT8_MAX);
            to[place * 4 + i - k] = int8_t(first);
            if (passes > 1) to[pass_bytes + place * 4 + i - k] = int8_t(weight - first);
          }
        }
      }
    }
    to += (passes - 1) * pass_bytes;
  }
}

/// The place of weights in the rows of a product.
struct FilterOrder {
  Patch patch;
  size_t in_c, taps;
  explicit FilterOrder(const CodesConvShape& s) : patch(s), in_c(s.in_c), taps(s.kernel_h * s.kernel_w) {}
  /// Calls f(k, weights, n) for runs of weights of one channel that lie one after the other in the row, from element k
  /// on, by increasing k.
  template <typename F>
  void each_run(const int8_t* filter, F&& f) const {
    constexpr size_t kRun = 1024;
    int8_t run[kRun];
    for (size_t tap = 0; tap < taps; ++tap) {
      for (size_t c = 0; c < in_c; c += kRun) {
        const size_t n = std::min(kRun, in_c - c);
        const int8_t* const from = filter + c * taps + tap;
        for (size_t i = 0; i < n && taps > 1; ++i) run[i] = from[i * taps];
        f(start(tap) + c, taps > 1 ? run : from, n);
      }
    }
  }
  /// Calls f(k, weight) for the excess of all pairs.
  template <typename F>
  void each_excess(const int8_t* filter, F&& f) const {
    if (in_c % 2 == 0) {  // pairs are of the same tap
      each_run(filter, [&](size_t k, const int8_t* weights, size_t n) {
        codes_detail::each_large_pair(
            weights, n / 2, [&](size_t pair) { add_pair(k + 2 * pair, weights[2 * pair], weights[2 * pair + 1], f); });
      });
      return;
    }
    size_t before = SIZE_MAX;  // the k of the last weight
    int32_t first = 0;
    each_run(filter, [&](size_t k, const int8_t* weights, size_t n) {
      for (size_t i = 0; i < n; ++i, ++k) {
        if (k % 2 == 1 && before == k - 1) add_pair(k - 1, first, weights[i], f);
        before = k;
        first = weights[i];
      }
    });
  }

 private:
  size_t start(size_t tap) const { return tap / patch.columns * patch.padded + tap % patch.columns * in_c; }
  template <typename F>
  static void add_pair(size_t k, int32_t w0, int32_t w1, F& f) {
    const codes_detail::PairExcess excess(w0, w1);
    if (excess.weight != 0) f(excess.second ? k + 1 : k, excess.weight);
  }
};

/// Only Winograd's method asks for the facts.
codes_detail::FilterFacts facts_of(const CodesConvShape& s, const int8_t* filters) {
  if (s.kernel_h != 3 || s.kernel_w != 3) return {};
  const size_t depth = 9 * s.in_c;
  for (size_t o = 0; o < s.out_c; ++o, filters += depth) {
    int32_t sum = 0, magnitudes = 0;
    for (size_t i = 0; i < depth; ++i) {
      sum += filters[i];
      magnitudes += std::abs(int32_t(filters[i]));
    }
    if ((magnitudes + std::abs(sum)) / 2 > codes_detail::FilterFacts::kMostSum) return {};
  }
  return {1};
}

/// Moves quads of weights: tap t of four input channels, whose taps are contiguous, to `to` + t · step.
void spread_quads(const int8_t* from, size_t taps, size_t step, int8_t* to) {
  const hn::Full128<uint64_t> words;
  const hn::Full128<uint8_t> bytes;
  const hn::Full128<uint16_t> pairs;
  const hn::Full128<uint32_t> quads;
  const auto eight_taps = [&](const int8_t* p) {
    uint64_t eight;
    std::memcpy(&eight, p, sizeof eight);
    return hn::BitCast(bytes, hn::Set(words, eight));
  };
  size_t tap = 0;
  for (; tap + 8 <= taps; tap += 8, from += 8) {
    const auto of01 = hn::BitCast(pairs, hn::InterleaveLower(bytes, eight_taps(from), eight_taps(from + taps)));
    const auto of23 =
        hn::BitCast(pairs, hn::InterleaveLower(bytes, eight_taps(from + 2 * taps), eight_taps(from + 3 * taps)));
    alignas(16) uint32_t all[8];
    hn::Store(hn::BitCast(quads, hn::InterleaveLower(pairs, of01, of23)), quads, all);
    hn::Store(hn::BitCast(quads, hn::InterleaveUpper(pairs, of01, of23)), quads, all + 4);
    for (size_t i = 0; i < 8; ++i, to += step) std::memcpy(to, &all[i], sizeof all[i]);
  }
  for (; tap < taps; ++tap, ++from, to += step) {
    const int8_t quad[4] = {from[0], from[taps], from[2 * taps], from[3 * taps]};
    std::memcpy(to, quad, sizeof quad);
  }
}

/// Moves the quads of four channels and four times four input channels of a 1x1 filter; `size`: from one channel to the
/// next, `line`: from one quad of a channel to its next in the panel.
void turn_quads(const int8_t* from, size_t size, size_t line, int8_t* to) {
  const hn::Full128<uint32_t> quads;
  const hn::Full128<uint64_t> pairs;
  const hn::Full128<int8_t> codes;
  const auto of_channel = [&](size_t o) { return hn::BitCast(quads, hn::LoadU(codes, from + o * size)); };
  const auto store = [&](auto lower, auto upper, size_t first) {
    const auto a = hn::BitCast(pairs, lower), b = hn::BitCast(pairs, upper);
    const auto put = [&](auto v, size_t i) { hn::StoreU(hn::BitCast(codes, v), codes, to + i * line); };
    put(hn::InterleaveLower(pairs, a, b), first);
    put(hn::InterleaveUpper(pairs, a, b), first + 1);
  };
  const auto q0 = of_channel(0), q1 = of_channel(1), q2 = of_channel(2), q3 = of_channel(3);
  store(hn::InterleaveLower(quads, q0, q1), hn::InterleaveLower(quads, q2, q3), 0);
  store(hn::InterleaveUpper(quads, q0, q1), hn::InterleaveUpper(quads, q2, q3), 2);
}

/// pack_quads for filters of one tap.
void pack_points(size_t in_c, const int8_t* filters, size_t channels, int8_t* to) {
  const size_t line = 4 * codes_panel_width();
  const size_t turned_c = in_c / 16 * 16, turned_o = channels / 4 * 4;
  for (size_t c = 0; c < turned_c; c += 16) {
    for (size_t o = 0; o < turned_o; o += 4) turn_quads(filters + o * in_c + c, in_c, line, to + c / 4 * line + 4 * o);
  }
  for (size_t o = 0; o < channels; ++o) {
    for (size_t c = o < turned_o ? turned_c : 0; c < in_c; c += 4)
      std::memcpy(to + c / 4 * line + 4 * o, filters + o * in_c + c, 4);
  }
}

/// Packs the weights [channel][in_c][tap] of one panel if its quads are of four input channels and one tap. The outer
/// loop is over these channels, so that the quads which it writes fill whole cache lines. The taps of a quad lie a power
/// of two apart in most nets, where the first-level cache cannot hold them all; so they are collected in a block.
void pack_quads(const FilterOrder& order, const int8_t* filters, size_t channels, int8_t* to) {
  if (order.taps == 1) return pack_points(order.in_c, filters, channels, to);
  alignas(64) int8_t block[8192];
  const size_t line = 4 * codes_panel_width(), step = order.in_c / 4 * line, size = order.in_c * order.taps;
  const bool collects = order.taps * line <= sizeof block;
  for (size_t c = 0; c < order.in_c; c += 4, to += line, filters += 4 * order.taps) {
    for (size_t o = 0; o < channels; ++o) {
      collects ? spread_quads(filters + o * size, order.taps, line, block + 4 * o)
               : spread_quads(filters + o * size, order.taps, step, to + 4 * o);
    }
    for (size_t tap = 0; collects && tap < order.taps; ++tap)
      std::memcpy(to + tap * step, block + tap * line, 4 * channels);
  }
}

/// The same for weights in any order, one channel.
void pack_channel(const FilterOrder& order, const int8_t* filter, int8_t* to) {
  const size_t width = codes_panel_width();
  const auto place = [&](size_t k) { return k / 4 * 4 * width + k % 4; };
  order.each_run(filter, [&](size_t k, const int8_t* weights, size_t n) {
    size_t i = 0;
    for (; k % 4 == 0 && i + 4 <= n; i += 4) std::memcpy(to + place(k + i), weights + i, 4);
    for (; i < n; ++i) to[place(k + i)] = weights[i];
  });
}

void pack_panels(const CodesConvShape& s, const int8_t* filters, int8_t* to) {
  const FilterOrder order(s);
  const size_t width = codes_panel_width(), depth = order.patch.depth(), size = s.in_c * order.taps;
  const auto column = [&](size_t o) { return to + o / width * width * depth + o % width * 4; };
  const auto place = [&](size_t k) { return k / 4 * 4 * width + k % 4; };
  for (size_t o = 0; o < s.out_c && s.in_c % 4 == 0; o += width)
    pack_quads(order, filters + o * size, std::min(width, s.out_c - o), column(o));
  for (size_t o = 0; o < s.out_c && s.in_c % 4 != 0; ++o) pack_channel(order, filters + o * size, column(o));
  auto* const facts = reinterpret_cast<codes_detail::FilterFacts*>(to + codes_detail::panels_bytes(s));
  if (codes_detail::has_facts(s)) *facts = facts_of(s, filters);
  if (!codes_detail::corrects_pairs(s)) return;
  const size_t panels = conv_codes_places(s) / width;
  auto* const first = reinterpret_cast<uint32_t*>(facts + 1);
  auto* chain = reinterpret_cast<codes_detail::ExcessChain*>(first + panels + 1);
  for (size_t o = 0; o < s.out_c; ++o) {
    codes_detail::ExcessSlots slots;
    int8_t* const weights = column(o);
    order.each_excess(filters + o * size, [&](size_t k, int32_t weight) {
      weights[place(k)] = int8_t(weights[place(k)] - weight);
      slots.put(chain, o % width, k, weight);
    });
    first[o / width + 1] = uint32_t(chain - reinterpret_cast<codes_detail::ExcessChain*>(first + panels + 1));
  }
}

}  // namespace

bool suits_conv_codes(const ConvShape& s) {
  constexpr size_t kFewChannels = 4;  // of an image with its channels first
  if (s.kernel_h * s.kernel_w * s.in_c * s.out_c == 0) return false;
  if (is_depthwise(s)) return s.groups == s.in_c && s.groups == s.out_c && !s.input_is_nchw;
  return !s.input_is_nchw || (s.in_c <= kFewChannels && (s.kernel_w == 1 || s.dilation_w == 1));
}

size_t conv_codes_places(const ConvShape& s) {
  return round_up(s.out_c, is_depthwise(s) ? kLeastBlock : codes_panel_width());
}
size_t conv_codes_channel(const ConvShape& s, size_t place) {
  if (!is_depthwise(s)) return place;
  const size_t width = 2 * codes_panel_width(), i = place / width;
  DepthwiseBlock block = codes_detail::depthwise_block_at(s.out_c, i);
  while (block.first + block.width <= place) block = codes_detail::depthwise_block(block.first + block.width, s.out_c);
  return block.first + codes_detail::depthwise_channel(block.width, place - block.first);
}

int32_t conv_codes_zero([[maybe_unused]] const CodesConvShape& s, int32_t zero, bool is_signed) {
#if defined(__aarch64__)  // its exact products are those of signed codes
  if (!s.saturates()) return is_signed ? zero : zero - 128;
#endif
  return is_signed ? zero + 128 : zero;
}

size_t conv_codes_packed_bytes(const CodesConvShape& s, const int8_t* filters) {
  const size_t panels = codes_detail::panels_bytes(s);
  const size_t facts = codes_detail::has_facts(s) ? sizeof(codes_detail::FilterFacts) : 0;
  if (!codes_detail::corrects_pairs(s)) return panels + facts;
  const FilterOrder order(s);
  size_t chains = 0;
  for (size_t o = 0; o < s.out_c; ++o) {
    codes_detail::ExcessSlots slots;
    order.each_excess(filters + o * s.in_c * order.taps, [&](size_t, int32_t weight) { slots.add(weight); });
    chains += slots.chains();
  }
  const size_t bytes = codes_detail::Excess::bytes(conv_codes_places(s) / codes_panel_width(), chains);
  return checked_add(checked_add(panels, facts, "filters"), bytes, "filters");
}
void pack_conv_codes(const CodesConvShape& s, const int8_t* filters, void* packed) noexcept {
  auto* to = static_cast<int8_t*>(packed);
  is_depthwise(s) ? pack_depthwise(s, filters, to) : pack_panels(s, filters, to);
}

}  // namespace retort::kernels
