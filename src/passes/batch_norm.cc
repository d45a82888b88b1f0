#include "passes/batch_norm.h"

#include <cmath>

#include "passes/match.h"

namespace retort {

std::optional<ChannelAffine> channel_affine(const Graph& g, const Node& n) {
  if (n.attributes.get_or<int64_t>("training_mode", 0) != 0) return std::nullopt;
  const auto scale = float_content(g, n.inputs[1]), shift = float_content(g, n.inputs[2]),
             mean = float_content(g, n.inputs[3]), variance = float_content(g, n.inputs[4]);
  if (scale.empty() || shift.size() != scale.size() || mean.size() != scale.size() || variance.size() != scale.size())
    return std::nullopt;
  const double epsilon = n.attributes.get_or<float>("epsilon", 1e-5f);
  ChannelAffine a;
  for (size_t i = 0; i < scale.size(); ++i) {
    const double factor = double(scale[i]) / std::sqrt(double(variance[i]) + epsilon);
    a.scale.push_back(float(factor));
    a.shift.push_back(float(double(shift[i]) - double(mean[i]) * factor));
  }
  return a;
}

std::vector<float> per_channel(const Graph& g, ValueId v, size_t channels, size_t rank) {
  std::vector<float> c = float_content(g, v);
  if (c.size() == 1)
    c.assign(channels, c[0]);
  else if (c.size() != channels)
    return {};
  else {
    const Shape& s = g.constant(v)->shape();
    if (s.rank() + 1 < rank || s.rank() > rank || s[s.rank() + 1 - rank] != int64_t(channels)) return {};
  }
  return c;
}

}  // namespace retort
