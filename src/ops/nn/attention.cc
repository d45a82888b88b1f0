// Attention: softmax(scale · Q · Kᵀ + mask) · V for [B, H, S, D] or [B, S, H·D], with grouped heads (fewer of K and V
// than of Q), cache of past keys and values, causal and windowed masks. A query that sees no key gives zeros.
#include <algorithm>

#include "ops/nn/common/attention.h"
#include "ops/nn/common/load.h"

namespace retort::ops {
namespace {

struct Attention {
  bool is_causal = false;
  int64_t q_num_heads = 0, kv_num_heads = 0, left_window_size = -1, right_window_size = -1, qk_matmul_output_mode = 0,
          softmax_precision = 0;
  std::optional<float> scale;
  float softcap = 0;
  static constexpr std::tuple attributes{attr("is_causal", &Attention::is_causal),
                                         attr("kv_num_heads", &Attention::kv_num_heads),
                                         attr("left_window_size", &Attention::left_window_size),
                                         attr("q_num_heads", &Attention::q_num_heads),
                                         attr("qk_matmul_output_mode", &Attention::qk_matmul_output_mode),
                                         attr("right_window_size", &Attention::right_window_size),
                                         attr("scale", &Attention::scale),
                                         attr("softcap", &Attention::softcap),
                                         attr("softmax_precision", &Attention::softmax_precision)};
  enum Input : size_t { kQ, kK, kV, kMask, kPastK, kPastV, kValid };
  enum Output : size_t { kY, kPresentK, kPresentV, kScores };

  void check() const {
    require(q_num_heads >= 0 && kv_num_heads >= 0 && left_window_size >= -1 && right_window_size >= -1,
            ErrorCode::invalid_argument, "negative attribute");
  }

  void infer(InferContext& c) const {
    for (size_t i : {kY, kPresentK, kScores}) c.set(i, c.dtype(kQ));
    c.set(kPresentV, c.dtype(kV));
    DimTable& d = c.dims();
    const Shape &q = c.shape(kQ), &k = c.shape(kK), &v = c.shape(kV);
    require(q.rank() == k.rank() && q.rank() == v.rank() && (q.rank() == 3 || q.rank() == 4),
            ErrorCode::invalid_argument, "Q, K and V of ranks {}, {}, {}", q.rank(), k.rank(), v.rank());
    const bool packed = q.rank() == 3;
    require(!packed || (q_num_heads > 0 && kv_num_heads > 0), ErrorCode::invalid_argument,
            "inputs of rank 3 need q_num_heads and kv_num_heads");
    const Dim q_heads = packed ? q_num_heads : q[1], kv_heads = packed ? kv_num_heads : k[1];
    if (is_known(q_heads) && is_known(kv_heads)) {
      require(kv_heads > 0 && q_heads % kv_heads == 0, ErrorCode::invalid_argument, "{} heads of Q, {} of K", q_heads,
              kv_heads);
    }
    const auto size = [&](const Shape& s, Dim heads) { return packed ? d.div(s[2], heads) : s[3]; };
    const Dim v_size = size(v, kv_heads), rows = q[packed ? 1 : 2];
    c.set(kY, c.dtype(kQ), packed ? Shape{q[0], rows, d.mul(v_size, q_heads)} : Shape{q[0], q_heads, rows, v_size});
    Dim total = k[packed ? 1 : 2];
    if (c.has(kPastK)) total = d.add(total, c.shape(kPastK)[2]);
    c.set(kPresentK, c.dtype(kQ), {q[0], kv_heads, total, size(k, kv_heads)});
    c.set(kPresentV, c.dtype(kV), {q[0], kv_heads, total, v_size});
    c.set(kScores, c.dtype(kQ), {q[0], q_heads, rows, total});
    require(c.has(kPastK) == c.has(kPastV), ErrorCode::invalid_argument, "past_key and past_value come together");
  }

  AttentionShape shape(const RunContext& c) const {
    const Shape &q = c.shape(kQ), &k = c.shape(kK), &v = c.shape(kV);
    const bool packed = q.rank() == 3;
    AttentionShape s;
    s.batch = size_t(q[0]);
    s.q_heads = size_t(packed ? q_num_heads : q[1]);
    s.kv_heads = size_t(packed ? kv_num_heads : k[1]);
    s.q_len = size_t(q[packed ? 1 : 2]);
    s.new_len = size_t(k[packed ? 1 : 2]);
    s.head_size = packed ? size_t(q[2]) / s.q_heads : size_t(q[3]);
    s.v_head_size = packed ? size_t(v[2]) / s.kv_heads : size_t(v[3]);
    const auto lay = [&](size_t rows, size_t heads, size_t size) {
      return packed ? packed_heads(rows, heads, size) : split_heads(rows, heads, size);
    };
    s.q = lay(s.q_len, s.q_heads, s.head_size);
    s.k = lay(s.new_len, s.kv_heads, s.head_size);
    s.v = lay(s.new_len, s.kv_heads, s.v_head_size);
    s.y = lay(s.q_len, s.q_heads, s.v_head_size);
    if (c.has(kPastK)) s.past_len = size_t(c.shape(kPastK)[2]);
    check_shapes(c, s);
    return s;
  }

  static void check_shapes(const RunContext& c, const AttentionShape& s) {
    const auto expect = [&](size_t i, size_t elements) {
      if (c.has(i) && c.count(i) != elements)
        fail(ErrorCode::invalid_argument, "input {} of shape {} does not fit", i, to_string(c.shape(i)));
    };
    expect(kQ, s.batch * s.q_heads * s.q_len * s.head_size);
    expect(kK, s.batch * s.kv_heads * s.new_len * s.head_size);
    expect(kV, s.batch * s.kv_heads * s.new_len * s.v_head_size);
    expect(kPastK, s.batch * s.kv_heads * s.past_len * s.head_size);
    expect(kPastV, s.batch * s.kv_heads * s.past_len * s.v_head_size);
    expect(kValid, s.batch);
    if (!c.has(kMask)) return;
    const Shape& m = c.shape(kMask);
    const int64_t wanted[] = {int64_t(s.batch), int64_t(s.q_heads), int64_t(s.q_len), int64_t(s.total())};
    bool fits = m.rank() <= 4;
    for (size_t d = 0; fits && d < m.rank(); ++d) {
      const int64_t extent = wanted[4 - m.rank() + d];
      fits = m[d] == 1 || m[d] == extent || (d + 1 == m.rank() && m[d] <= extent);
    }
    require(fits, ErrorCode::invalid_argument, "a mask of shape {} for scores of shape {}", to_string(m),
            to_string(wanted));
  }

  AttentionMask mask(const RunContext& c) const {
    AttentionMask m;
    m.causal = is_causal;
    m.left = left_window_size;
    m.right = right_window_size;
    if (c.has(kMask)) {
      m.shape = c.shape(kMask);
      if (c.dtype(kMask) == DType::boolean) {
        for (bool seen : c.input<bool>(kMask)) m.bias.push_back(seen ? 0 : -std::numeric_limits<double>::infinity());
      } else {
        m.bias = load_floats(c, kMask);
      }
    }
    if (c.has(kValid)) m.valid.assign(c.input<int64_t>(kValid).begin(), c.input<int64_t>(kValid).end());
    return m;
  }

  double scaling(const AttentionShape& s) const {
    return scale ? double(*scale) : 1 / std::sqrt(double(std::max<size_t>(s.head_size, 1)));
  }

  template <std::floating_point T>
  void reference(RunContext& c) const {
    const AttentionShape s = shape(c);
    const AttentionMask m = mask(c);
    std::vector<T> keys = present<T>(c, s, kK, kPastK), values = present<T>(c, s, kV, kPastV);
    std::vector<double> scores(s.total()), biases(s.total());
    for (size_t row = 0; row < s.batch * s.q_heads * s.q_len; ++row) {
      const size_t b = row / (s.q_heads * s.q_len), h = row / s.q_len % s.q_heads, i = row % s.q_len;
      const T* q = c.input<T>(kQ).data() + s.q.at(b, h, i);
      const auto export_scores = [&](int64_t mode) {
        if (!c.wants(kScores) || mode != qk_matmul_output_mode) return;
        std::copy(scores.begin(), scores.end(), c.output<T>(kScores).data() + row * s.total());
      };
      for (size_t j = 0; j < s.total(); ++j) {
        const T* k = keys.data() + s.present_k().at(b, s.kv_head(h), j);
        double dot = 0;
        for (size_t e = 0; e < s.head_size; ++e) dot += double(q[e]) * double(k[e]);
        scores[j] = dot * scaling(s);
        biases[j] = m.at(s, b, h, i, j);
      }
      export_scores(0);
      if (softcap > 0) {
        for (double& x : scores) x = double(softcap) * std::tanh(x / double(softcap));
      }
      export_scores(1);
      for (size_t j = 0; j < s.total(); ++j) scores[j] += biases[j];
      export_scores(2);
      softmax(scores, biases);
      export_scores(3);
      T* y = c.output<T>(kY).data() + s.y.at(b, h, i);
      for (size_t e = 0; e < s.v_head_size; ++e) {
        double sum = 0;
        for (size_t j = 0; j < s.total(); ++j)
          sum += scores[j] * double(values[s.present_v().at(b, s.kv_head(h), j) + e]);
        y[e] = T(sum);
      }
    }
    if (c.wants(kPresentK)) std::copy(keys.begin(), keys.end(), c.output<T>(kPresentK).data());
    if (c.wants(kPresentV)) std::copy(values.begin(), values.end(), c.output<T>(kPresentV).data());
  }

 private:
  static void softmax(std::vector<double>& x, const std::vector<double>& biases) {
    const bool blind = std::all_of(biases.begin(), biases.end(), [](double v) { return std::isinf(v) && v < 0; });
    if (blind) return std::fill(x.begin(), x.end(), 0.0);
    const double top = *std::max_element(x.begin(), x.end());
    double sum = 0;
    for (double& v : x) sum += v = std::exp(v - top);
    for (double& v : x) v /= sum;
  }

  // Past and new rows as [B, H, total, D].
  template <typename T>
  static std::vector<T> present(const RunContext& c, const AttentionShape& s, size_t fresh, size_t past) {
    const bool key = fresh == kK;
    const size_t size = key ? s.head_size : s.v_head_size;
    const HeadStrides &from = key ? s.k : s.v, old = key ? s.past_k() : s.past_v();
    std::vector<T> all;
    all.reserve(s.batch * s.kv_heads * s.total() * size);
    for (size_t row = 0; row < s.batch * s.kv_heads * s.total(); ++row) {
      const size_t b = row / (s.kv_heads * s.total()), h = row / s.total() % s.kv_heads, j = row % s.total();
      const T* p = j < s.past_len ? c.input<T>(past).data() + old.at(b, h, j)
                                  : c.input<T>(fresh).data() + from.at(b, h, j - s.past_len);
      all.insert(all.end(), p, p + size);
    }
    return all;
  }
};

}  // namespace

extern const OpDef op_attention;
constinit const OpDef op_attention = define<Attention>({
    .name = "Attention",
    .since = {23, 24, 25},
    .inputs = {"Q: T", "K: T", "V: T", "attn_mask: U?", "past_key: T?", "past_value: T?", "nonpad_kv_seqlen: I?"},
    .outputs = {"Y: T", "present_key: T?", "present_value: T?", "qk_matmul_output: T?"},
    .types = kFloats,
});

}  // namespace retort::ops
