#include "windows.h"

#include "common/sizes.h"

namespace providers::cuda {

Window::Window(const Node& node)
    : auto_pad(node.string("auto_pad", "NOTSET")),
      filter(node.integers("kernel_shape")),
      strides(node.integers("strides")),
      dilations(node.integers("dilations")),
      pads(node.integers("pads")),
      ceil(node.integer("ceil_mode", 0) != 0) {
  if (auto_pad != "NOTSET") pads.clear();
}

std::string Window::refuses(size_t spatial) const {
  if (spatial < 1 || spatial > 3) return text("it has ", spatial, " spatial axes; 1 to 3 are supported");
  for (const auto& [name, list, size] :
       {std::tuple("kernel_shape", &filter, spatial), std::tuple("strides", &strides, spatial),
        std::tuple("dilations", &dilations, spatial), std::tuple("pads", &pads, 2 * spatial)}) {
    if (!list->empty() && list->size() != size)
      return text("attribute ", name, " has ", list->size(), " numbers, expected ", size);
    for (const int64_t v : *list)
      if (v > 0x7fffffff || v < (list == &pads ? 0 : 1)) return text("attribute ", name, " has the number ", v);
  }
  return "";
}

WindowAxes Window::axes(const Dims& x, const Dims& sizes) const {
  WindowAxes made;
  const size_t spatial = x.size() - 2;
  for (size_t i = 0; i < spatial; ++i) {
    WindowAxis& a = made[3 - spatial + i];
    a.in = x[2 + i];
    a.filter = sizes[i];
    if (!strides.empty()) a.stride = strides[i];
    if (!dilations.empty()) a.dilation = dilations[i];
    Padding given;
    if (!pads.empty()) given = {pads[i], pads[spatial + i]};
    const Padding p = resolve_padding(auto_pad, given, a.in, a.span(), a.stride);
    a.begin = p.begin;
    a.end = p.end;
    const int64_t room = window_room(a.in, a.span(), p);
    a.out = (ceil ? ceil_div(room, a.stride) : room / a.stride) + 1;
    // The last window must begin within the tensor or the padding before it.
    if (ceil && (a.out - 1) * a.stride >= a.in + a.begin) --a.out;
  }
  return made;
}

Dims window_dims(const Dims& x, int64_t channels, const WindowAxes& axes) {
  Dims made{x[0], channels};
  for (size_t i = 5 - x.size(); i < 3; ++i) made.push_back(axes[i].out);
  return made;
}

int64_t product(const Dims& dims, size_t from) {
  int64_t n = 1;
  for (size_t i = from; i < dims.size(); ++i) n *= dims[i];
  return n;
}

}  // namespace providers::cuda
