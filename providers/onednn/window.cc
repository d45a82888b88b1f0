#include "window.h"

#include <algorithm>

#include "common/sizes.h"

namespace onednn {

using providers::Error;
using providers::shape_text;
using providers::text;

Window::Window(const Node& node) {
  const size_t n = node.in[0]->rank() - 2;
  strides = node.integers("strides", Dims(n, 1));
  dilations = node.integers("dilations", Dims(n, 1));
  const Dims pads = node.integers("pads", Dims(2 * n, 0));
  if (strides.size() != n || dilations.size() != n || pads.size() != 2 * n) return;
  begin.assign(pads.begin(), pads.begin() + ptrdiff_t(n));
  end.assign(pads.begin() + ptrdiff_t(n), pads.end());
  auto_pad = node.string("auto_pad", "NOTSET");
  groups = node.integer("group", 1);
}

bool Window::sound() const {
  const auto positive = [](const Dims& d) { return std::all_of(d.begin(), d.end(), [](int64_t v) { return v > 0; }); };
  const auto no_less = [](const Dims& d) { return std::all_of(d.begin(), d.end(), [](int64_t v) { return v >= 0; }); };
  return !begin.empty() && positive(strides) && positive(dilations) && no_less(begin) && no_less(end) && groups > 0;
}

Dims Window::gaps() const {
  Dims d = dilations;
  for (int64_t& v : d) --v;
  return d;
}

Dims Window::settle(const Dims& x, const Dims& w) {
  if (w.size() != x.size() || x[1] != w[1] * groups || w[0] % groups)
    throw Error(text("weights ", shape_text(w), " with group ", groups, " do not fit an input ", shape_text(x)),
                ORT_INVALID_ARGUMENT);
  Dims y{x[0], w[0]};
  for (size_t i = 0; i + 2 < x.size(); ++i) {
    const int64_t size = x[i + 2], stride = strides[i], covered = span(i, w[i + 2]);
    const providers::Padding p = providers::resolve_padding(auto_pad, {begin[i], end[i]}, size, covered, stride);
    y.push_back(providers::window_room(size, covered, p) / stride + 1);
    begin[i] = p.begin;
    end[i] = p.end;
  }
  return y;
}

Dims Window::grouped(const Dims& w) const {
  if (groups == 1) return w;
  Dims g{groups, w[0] / groups};
  g.insert(g.end(), w.begin() + 1, w.end());
  return g;
}

}  // namespace onednn
