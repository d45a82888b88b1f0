// Col2Im: adds up the columns of blocks to an image, the inverse of taking patches for a convolution. The sum of booleans
// is true if one is, that of integers wraps around, and that of strings is one after the other in the order of the
// elements of a block, as in the reference of the standard.
#include "base/checked.h"
#include "kernels/move/strided_copy.h"
#include "ops/complex_parts.h"
#include "ops/integers.h"
#include "ops/math/arithmetic.h"
#include "ops/nn/common/window.h"

namespace retort::ops {
namespace {

struct Col2Im {
  std::vector<int64_t> dilations, pads, strides;
  static constexpr std::tuple attributes{attr("dilations", &Col2Im::dilations), attr("pads", &Col2Im::pads),
                                         attr("strides", &Col2Im::strides)};
  enum Input : size_t { kColumns, kImage, kBlock };

  WindowAttributes window(std::span<const int64_t> block) const {
    WindowAttributes w;
    w.dilations = dilations;
    w.pads = pads;
    w.strides = strides;
    w.kernel_shape.assign(block.begin(), block.end());
    w.check();
    return w;
  }

  void infer(InferContext& c) const {
    c.set(0, c.dtype(kColumns));
    expect_rank(c, kImage, 1);
    if (c.ranked(kImage)) expect_shape_if_given(c, kBlock, "block_shape", c.shape(kImage));
    const Shape& x = c.shape(kColumns);
    require(x.rank() == 3, ErrorCode::invalid_argument, "input has shape {}, expected [N, C · block, blocks]",
            c.dims().text(x));
    const auto image = c.value(kImage), block = numbers(c, kBlock);
    require(image.size() == block.size() && !image.empty(), ErrorCode::invalid_argument,
            "the image has {} axes, but blocks have {}", image.size(), block.size());
    const WindowAttributes w = window(block);
    DimTable& d = c.dims();
    Dim blocks = 1;
    for (size_t i = 0; i < image.size(); ++i) blocks = d.mul(blocks, window_extent(d, w, i, image[i], block[i], false));
    const Dim taps = d.product(block);
    require(may_equal(blocks, x[2]) && (!is_known(x[1]) || (taps > 0 && x[1] % taps == 0)), ErrorCode::invalid_argument,
            "input has shape {}, which does not match {} blocks of {} elements", d.text(x), d.text(blocks), taps);
    Shape y{x[0], d.div(x[1], taps)};
    for (const Dim extent : image) y.push_back(extent);
    c.set(0, c.dtype(kColumns), y);
  }
  Cost cost(const CostContext& c) const { return {.operations = c.count(kColumns)}; }

  template <typename T>
  void reference(RunContext& c) const {
    add_up<T>(c, [](T& to, T x) { to = wrap_add(to, x); });
  }

  // A later block meets a pixel with an earlier element of its own.
  void fast(RunContext& c, std::type_identity<std::string>) const {
    add_up<std::string>(c, [](std::string& to, const std::string& x) { to.insert(0, x); });
  }

  // A task is one plane; it adds the taps of a line of blocks at once.
  void fast(RunContext& c, std::type_identity<float>) const {
    constexpr size_t kElements = 64 << 10;  // per task
    const Window win = blocks_of(c);
    const auto pixels = size_t(win.in_pixels()), blocks = size_t(win.out_pixels()), taps = size_t(win.taps());
    const auto planes = size_t(c.out_shape()[0] * c.out_shape()[1]);
    if (kernels::StridedCopy copy; tiles(win, planes, copy))
      return kernels::strided_copy(kernels::byte_mover(sizeof(float)), copy, c.output<float>().data(),
                                   c.input<float>(kColumns).data(), c.parallel());
    const int64_t stride = win.axes[win.rank - 1].stride;
    const size_t few = std::max<size_t>(kElements / std::max<size_t>(blocks * taps, 1), 1);
    c.parallel().for_each(ceil_div(planes, few), [&](size_t task, int) {
      const size_t first = task * few, count = std::min(few, planes - first);
      const float* x = c.input<float>(kColumns).data() + first * taps * blocks;
      float* y = c.output<float>().data() + first * pixels;
      std::fill_n(y, count * pixels, 0.0f);
      for_each_line(win, 0, int64_t(blocks), int64_t(blocks), [&](int64_t p, int64_t n) {
        for_each_tap_of_line(win, p, n, [&](int64_t tap, int64_t pixel, int64_t j0, int64_t j1) {
          for (size_t i = 0; i < count; ++i) {
            const float* from = x + (i * taps + size_t(tap)) * blocks + size_t(p);
            float* to = y + int64_t(i * pixels) + pixel;
            if (stride == 1) {
              for (int64_t j = j0; j < j1; ++j) to[j] += from[j];
            } else {
              for (int64_t j = j0; j < j1; ++j) to[j * stride] += from[j];
            }
          }
        });
      });
    });
  }

 private:
  // Whether each pixel is in just one block, so that all are moved; `copy` then moves them.
  static bool tiles(const Window& win, size_t planes, kernels::StridedCopy& copy) {
    int64_t pixel = win.in_pixels(), block = win.out_pixels(), tap = block * win.taps();
    bool fits = copy.append(planes, pixel, tap);
    for (const WindowAxis& a : std::span(win.axes).first(win.rank)) {
      if (a.stride != a.kernel || a.dilation != 1 || a.pad_begin != 0 || a.out * a.kernel != a.in || a.in == 0)
        return false;
      pixel /= a.in, block /= a.out, tap /= a.kernel;
      fits = fits && copy.append(size_t(a.out), a.kernel * pixel, block) && copy.append(size_t(a.kernel), pixel, tap);
    }
    return fits;
  }

  template <typename T, typename Add>
  void add_up(RunContext& c, const Add& add) const {
    const Window win = blocks_of(c);
    const auto pixels = size_t(win.in_pixels()), blocks = size_t(win.out_pixels()), taps = size_t(win.taps());
    const auto planes = size_t(c.out_shape()[0] * c.out_shape()[1]);
    const auto x = c.input<T>(kColumns);
    const auto y = c.output<T>();
    std::fill(y.begin(), y.end(), T());
    for_each_position(win, c.parallel(), [&](int64_t p, std::span<const int64_t> at) {
      for_each_tap(win, at, [&](int64_t tap, int64_t pixel) {
        for (size_t i = 0; i < planes; ++i)
          add(y[i * pixels + size_t(pixel)], x[(i * taps + size_t(tap)) * blocks + size_t(p)]);
      });
    });
  }

  // Every position of a block in the image, as in a convolution.
  Window blocks_of(const RunContext& c) const {
    const Shape image = integers(c, kImage), block = integers(c, kBlock);
    const WindowAttributes w = window(block);
    DimTable dims;
    Shape places;
    for (size_t i = 0; i < image.size(); ++i) places.push_back(window_extent(dims, w, i, image[i], block[i], false));
    return resolve_window(w, image, block, places);
  }
};

}  // namespace

extern const OpDef op_col2_im;
constinit const OpDef op_col2_im = with_complex<Col2Im>(define<Col2Im>({
    .name = "Col2Im",
    .since = {18},
    .inputs = {"input: T", "image_shape: int64", "block_shape: int64"},
    .outputs = {"output: T"},
    .types = kNumeric | kBool | kString,
}));

}  // namespace retort::ops
