#include "known_dims.h"

#include <algorithm>
#include <cmath>

namespace providers::cuda {
namespace {

size_t place_of(int64_t axis, size_t rank, const std::string& who) {
  const int64_t at = axis < 0 ? axis + int64_t(rank) : axis;
  if (at < 0 || at >= int64_t(rank)) throw Error(text(who, ": axis ", axis, " of ", rank, " axes"));
  return size_t(at);
}

int64_t product(const Dims& dims) {
  int64_t n = 1;
  for (const int64_t d : dims) n *= d;
  return n;
}

}  // namespace

Dims reshaped(const Dims& dims, const std::vector<int64_t>& wanted, bool allow_zero, const std::string& who) {
  const auto fail = [&] [[noreturn]] {
    throw Error(text(who, ": ", shape_text(dims), " cannot become ", shape_text(wanted)));
  };
  Dims out;
  int64_t rest = -1, known = 1;  // the axis that is computed, the product of the others
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t extent = wanted[i];
    if (extent == 0 && !allow_zero) extent = i < dims.size() ? dims[i] : -2;
    if (extent < -1 || (extent == -1 && rest >= 0)) fail();
    if (extent == -1)
      rest = int64_t(i);
    else
      known *= extent;
    out.push_back(extent);
  }
  const int64_t count = product(dims);
  if (rest >= 0) {
    if (known == 0 ? count != 0 : count % known != 0) fail();
    out[size_t(rest)] = known == 0 ? 0 : count / known;
  }
  if (product(out) != count) fail();
  return out;
}

Dims squeezed(const Dims& dims, const std::vector<int64_t>* axes, const std::string& who) {
  std::vector<bool> gone(dims.size(), false);
  for (size_t i = 0; !axes && i < dims.size(); ++i) gone[i] = dims[i] == 1;
  if (axes) {
    for (const int64_t axis : *axes) {
      const size_t at = place_of(axis, dims.size(), who);
      if (dims[at] != 1) throw Error(text(who, ": axis ", axis, " of ", shape_text(dims), " is not 1"));
      gone[at] = true;
    }
  }
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i)
    if (!gone[i]) out.push_back(dims[i]);
  return out;
}

Dims unsqueezed(const Dims& dims, const std::vector<int64_t>& axes, const std::string& who) {
  const size_t rank = dims.size() + axes.size();
  std::vector<bool> added(rank, false);
  for (const int64_t axis : axes) {
    const size_t at = place_of(axis, rank, who);
    if (added[at]) throw Error(text(who, ": axis ", axis, " is there twice"));
    added[at] = true;
  }
  Dims out;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) out.push_back(added[i] ? 1 : dims[next++]);
  return out;
}

Dims flattened(const Dims& dims, int64_t axis, const std::string& who) {
  const auto rank = int64_t(dims.size());
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at > rank) throw Error(text(who, ": axis ", axis, " of ", rank, " axes"));
  return {product(Dims(dims.begin(), dims.begin() + at)), product(Dims(dims.begin() + at, dims.end()))};
}

size_t range_count(double start, double limit, double step) {
  return size_t(std::max(0.0, std::ceil((limit - start) / step)));
}

}  // namespace providers::cuda
