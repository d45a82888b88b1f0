// MelWeightMatrix: triangles over the frequencies of a Fourier transform. Their corners are evenly spaced on the mel
// scale, 2595 log10(1 + f / 700).
#include <cmath>

#include "kernels/elementwise/cast.h"
#include "ops/integers.h"
#include "ops/nn/common/load.h"

namespace retort::ops {
namespace {

struct MelWeightMatrix {
  DType output_datatype = DType::f32;
  static constexpr std::tuple attributes{attr("output_datatype", &MelWeightMatrix::output_datatype)};
  enum Input : size_t { kBands, kLength, kRate, kLowest, kHighest };

  void check() const {
    require(contains(kNumeric, output_datatype), ErrorCode::invalid_argument, "output_datatype is {}",
            dtype_name(output_datatype));
  }
  void infer(InferContext& c) const {
    c.set(0, output_datatype);
    const Dim bands = c.try_value(kBands) ? scalar_value(c, kBands) : c.unknown_extent();
    const Dim length = c.try_value(kLength) ? scalar_value(c, kLength) : c.unknown_extent();
    require((!is_known(bands) || bands > 0) && (!is_known(length) || length > 0), ErrorCode::invalid_argument,
            "there are {} bands for a transform of {}", bands, length);
    c.set(0, output_datatype, {c.dims().add(c.dims().div(length, 2), 1), bands});
  }
  Cost cost(const CostContext& c) const { return {.operations = c.out_count()}; }

  void run(RunContext& c) const {
    const auto bins = int64_t(c.out_shape()[0]), bands = int64_t(c.out_shape()[1]);
    const int64_t length = integer(c, kLength), rate = integer(c, kRate);
    const double lowest = edge(c, kLowest), highest = edge(c, kHighest);
    require(rate > 0 && lowest >= 0 && lowest <= highest, ErrorCode::invalid_argument,
            "sample_rate {}, edges {} and {}", rate, lowest, highest);
    const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
    const double step = (mel(highest) - mel(lowest)) / double(bands + 2);
    const auto bin = [&](int64_t i) {
      const double hertz = 700 * (std::pow(10.0, (double(i) * step + mel(lowest)) / 2595) - 1);
      const double at = std::floor(double(length + 1) * hertz / double(rate));
      require(at < double(bins), ErrorCode::invalid_argument,
              "band {} ends beyond the highest frequency for the sample rate {}", i, rate);
      return int64_t(at);
    };
    std::vector<double> y(c.out_count());
    for (int64_t i = 0; i < bands; ++i) {
      const int64_t begin = bin(i), top = bin(i + 1), end = bin(i + 2);
      for (int64_t k = begin; k < top; ++k) y[size_t(k * bands + i)] = double(k - begin) / double(top - begin);
      for (int64_t k = top; k < end; ++k) y[size_t(k * bands + i)] = double(end - k) / double(end - top);
      y[size_t(top * bands + i)] = 1;
    }
    kernels::cast(y.data(), DType::f64, c.out_data(), output_datatype, y.size(), c.parallel());
  }

 private:
  static double edge(const RunContext& c, size_t i) {
    require(c.count(i) == 1, ErrorCode::invalid_argument, "input {} has {} elements, expected one", i, c.count(i));
    return load_floats(c, i)[0];
  }
};

}  // namespace

extern const OpDef op_mel_weight_matrix;
constinit const OpDef op_mel_weight_matrix = define<MelWeightMatrix>({
    .name = "MelWeightMatrix",
    .since = {17},
    .inputs = {"num_mel_bins: I", "dft_length: I", "sample_rate: I", "lower_edge_hertz: F", "upper_edge_hertz: F"},
    .outputs = {"output: T3"},
});

}  // namespace retort::ops
