// A stand-in for cuBLASLt: matrix products by plain loops. It refuses what cuBLASLt refuses.
#include <atomic>
#include <memory>
#include <vector>

#include "numbers.h"
#include "share.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace software_cuda {
namespace {

enum Status { kOk = 0, kInvalid = 7, kFailed = 13, kUnsupported = 15 };
enum Compute { kCompute16 = 64, kCompute32 = 68, kCompute64 = 70, kComputeInteger = 72, kComputeTf32 = 77 };
enum Type { kE4m3 = 28, kE5m2 = 29 };
constexpr uint64_t kMagic = 0x736f667462ull;
constexpr size_t kWorkspace = 256;  // asked for, so that a caller that forgets it is found

struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1, order = 0;  // 0: column after column, 1: row after row
  int64_t stride = 0;
};

struct Desc {
  int compute, scale;
  int32_t transpose_a = 0, transpose_b = 0;
  uint32_t epilogue = 1;
  const void* bias = nullptr;
  int32_t bias_type = -1;
  int64_t bias_stride = 0;  // from the bias of a product of the batch to the next
  const void *scale_a = nullptr, *scale_b = nullptr, *scale_d = nullptr;
  int32_t mode_a = 0, mode_b = 0;  // 0: one scale, 3: one for each row of op(A) or column of op(B)
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

struct Algorithm {
  uint64_t magic, workspace, alignment, unused[5];
};
struct Result {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

Number number(int type) {
  switch (type) {
    case 0:
      return Number::f32;
    case 1:
      return Number::f64;
    case 2:
      return Number::f16;
    case 3:
      return Number::i8;
    case 10:
      return Number::i32;
    case 14:
      return Number::bf16;
    case kE4m3:
      return Number::e4m3;
    case kE5m2:
      return Number::e5m2;
    default:
      return Number::none;
  }
}

bool set(void* to, size_t size, const void* value, size_t bytes) {
  if (!value || bytes != size) return false;
  std::memcpy(to, value, size);
  return true;
}

/// A matrix of the operands, as op(A) has it.
struct Matrix {
  Matrix(const Layout& l, int transposed) : layout(l), swapped(transposed != 0) {}
  uint64_t rows() const { return swapped ? layout.columns : layout.rows; }
  uint64_t columns() const { return swapped ? layout.rows : layout.columns; }
  int64_t at(int64_t row, int64_t column) const {
    if (swapped) std::swap(row, column);
    return layout.order == 0 ? row + column * layout.leading : row * layout.leading + column;
  }
  Layout layout;
  bool swapped;
};

bool is_float8(int type) { return type == kE4m3 || type == kE5m2; }
bool is_half(int type) { return type == 2 || type == 14; }

bool types_fit(const Desc& desc, int a, int b, int d) {
  if (is_float8(a) && is_float8(b))
    return desc.compute == kCompute32 && desc.scale == 0 && (a == kE4m3 || b == kE4m3) &&
           (is_half(d) || d == 0 || d == kE4m3);
  if (a != b) return false;
  switch (desc.compute) {
    case kCompute32:
      return desc.scale == 0 && (a == 0 ? d == 0 : (a == 2 || a == 14) ? d == a || d == 0 : a == 3 && d == 0);
    case kComputeTf32:
      return desc.scale == 0 && a == 0 && d == 0;
    case kCompute64:
      return desc.scale == 1 && a == 1 && d == 1;
    case kComputeInteger:
      return a == 3 && ((desc.scale == 10 && d == 10) || (desc.scale == 0 && d == 3));
    default:
      return false;
  }
}

bool leading_fits(const Layout& l) { return l.leading >= int64_t(l.order == 0 ? l.rows : l.columns); }

bool is_aligned(const Layout& l) { return l.leading * int64_t(bytes_of(number(l.type))) % 16 == 0; }

/// What products of float8 need besides their types.
bool float8_fits(const Desc& desc, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  if (SoftwareCudaArchitecture() < 89 || !desc.transpose_a || desc.transpose_b) return false;
  if (a.rows % 16 || !is_aligned(a) || !is_aligned(b) || !is_aligned(d)) return false;
  if (d.batch > 1 && (a.stride % 16 || b.stride % 16)) return false;
  // cuBLASLt takes any bias of a float32 result for bfloat16.
  if ((desc.epilogue & 4) && (c.type == 0 || (desc.bias_type < 0 ? d.type : desc.bias_type) != c.type)) return false;
  if (d.type == kE4m3 ? !is_half(c.type) || desc.mode_a : desc.scale_d != nullptr) return false;
  const bool each = desc.mode_a == 3 || desc.mode_b == 3;
  return !each || (desc.mode_a == desc.mode_b && desc.scale_a && desc.scale_b && SoftwareCudaArchitecture() == 90);
}

/// Whether there is an algorithm; kInvalid for operands that do not fit together.
Status examine(const Desc& desc, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  const Matrix ma(a, desc.transpose_a), mb(b, desc.transpose_b);
  if (ma.columns() != mb.rows() || ma.rows() != d.rows || mb.columns() != d.columns) return kInvalid;
  if (c.rows != d.rows || c.columns != d.columns || (c.type != d.type && d.type != kE4m3) || c.order != d.order)
    return kInvalid;
  for (const Layout* l : {&a, &b, &c, &d})
    if (!leading_fits(*l) || l->batch != d.batch || !l->rows || !l->columns) return kInvalid;
  if (!types_fit(desc, a.type, b.type, d.type)) return kUnsupported;
  const uint32_t known = 1 | 2 | 4 | 32;
  if (desc.epilogue & ~known || ((desc.epilogue & 2) && (desc.epilogue & 32))) return kUnsupported;
  if (desc.epilogue != 1 && (a.type == 1 || a.type == 3)) return kUnsupported;
  if (is_float8(a.type)) return float8_fits(desc, a, b, c, d) ? kOk : kUnsupported;
  if (desc.scale_a || desc.scale_b || desc.scale_d || desc.mode_a || desc.mode_b) return kUnsupported;
  if ((desc.epilogue & 4) && desc.bias_type >= 0 && desc.bias_type != d.type) return kUnsupported;
  if (a.type == 3) {
    // Products of bytes read words of four along k.
    const bool fits = desc.transpose_a && !desc.transpose_b && d.rows % 4 == 0 && ma.columns() % 4 == 0;
    if (!fits || a.leading % 4 || b.leading % 4 || d.leading % 4) return kUnsupported;
  }
  return kOk;
}

/// A product with everything that the call gave.
struct Product {
  Desc desc;
  Layout a, b, c, d;
  const void *at_a, *at_b, *at_c;
  void* at_d;
  void* workspace;
  double alpha, beta;

  void run() const;

 private:
  template <typename T>
  void multiply(int64_t batch) const;
  template <typename T>
  std::vector<T> rows(const Layout& layout, int transposed, bool by_column, const void* data, int64_t batch) const;
  double finish(double v, int64_t row, int64_t batch) const;
  double scale(int64_t row, int64_t column) const;
};

const char* matrix(const Layout& l, const void* data, int64_t batch) {
  return static_cast<const char*>(data) + batch * l.stride * int64_t(bytes_of(number(l.type)));
}

/// The rows of an operand, or its columns, one after the other.
template <typename T>
std::vector<T> Product::rows(const Layout& layout, int transposed, bool by_column, const void* data,
                             int64_t batch) const {
  const Matrix m(layout, transposed);
  const auto count = int64_t(by_column ? m.columns() : m.rows()), length = int64_t(by_column ? m.rows() : m.columns());
  std::vector<T> all(static_cast<size_t>(count * length));
  const void* const from = matrix(layout, data, batch);
  const Number n = number(layout.type);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < length; ++k) {
      auto v = T(load(n, from, by_column ? m.at(k, i) : m.at(i, k)));
      if (desc.compute == kComputeTf32) v = T(round_tf32(float(v)));
      all[size_t(i * length + k)] = v;
    }
  }
  return all;
}

double Product::finish(double v, int64_t row, int64_t batch) const {
  if (desc.epilogue & 4) v += load(number(c.type), desc.bias, row + batch * desc.bias_stride);
  if (desc.epilogue & 2) v = v > 0 || v != v ? v : 0;
  if (desc.epilogue & 32) v = 0.5 * v * (1 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
  return v;
}

double Product::scale(int64_t row, int64_t column) const {
  const double first = desc.scale_a ? load(Number::f32, desc.scale_a, desc.mode_a ? row : 0) : 1;
  return first * (desc.scale_b ? load(Number::f32, desc.scale_b, desc.mode_b ? column : 0) : 1);
}

template <typename T>
void Product::multiply(int64_t batch) const {
  const auto left = rows<T>(a, desc.transpose_a, false, at_a, batch);
  const auto right = rows<T>(b, desc.transpose_b, true, at_b, batch);
  const auto m = int64_t(d.rows), n = int64_t(d.columns), k = int64_t(Matrix(a, desc.transpose_a).columns());
  const void* const source = matrix(c, at_c, batch);
  void* const target = const_cast<char*>(matrix(d, at_d, batch));
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t row = 0; row < m; ++row) {
      double v = alpha * scale(row, column) * double(dot(&left[size_t(row * k)], &right[size_t(column * k)], k));
      if (beta != 0) v += beta * load(number(c.type), source, Matrix(c, 0).at(row, column));
      v = finish(v, row, batch);
      if (desc.scale_d) v *= load(Number::f32, desc.scale_d, 0);
      store(number(d.type), target, Matrix(d, 0).at(row, column), v);
    }
  }
}

void Product::run() const {
  if (workspace) std::memset(workspace, 0xFF, kWorkspace);
  for (int64_t batch = 0; batch < d.batch; ++batch) {
    if (desc.compute == kCompute64)
      multiply<double>(batch);
    else if (desc.compute == kComputeInteger)
      multiply<int32_t>(batch);
    else
      multiply<float>(batch);
  }
}

double scalar(const Desc& desc, const void* value) {
  if (desc.scale == 1) return *static_cast<const double*>(value);
  if (desc.scale == 10) return *static_cast<const int32_t*>(value);
  return *static_cast<const float*>(value);
}

uint32_t alignment_of(std::initializer_list<const void*> addresses) {
  size_t bits = 256;
  for (const void* a : addresses) bits |= reinterpret_cast<size_t>(a);
  return uint32_t(bits & (~bits + 1));
}

}  // namespace
}  // namespace software_cuda

using namespace software_cuda;

EXPORT int cublasLtCreate(void** handle) {
  *handle = new char;
  return kOk;
}
EXPORT int cublasLtDestroy(void* handle) {
  delete static_cast<char*>(handle);
  return kOk;
}
EXPORT size_t cublasLtGetVersion() { return 130100; }

EXPORT int cublasLtMatmulDescCreate(Desc** desc, int compute, int scale) {
  *desc = new Desc{compute, scale};
  return kOk;
}
EXPORT int cublasLtMatmulDescDestroy(Desc* desc) {
  delete desc;
  return kOk;
}
EXPORT int cublasLtMatmulDescSetAttribute(Desc* desc, int attribute, const void* value, size_t bytes) {
  const auto put = [&](auto& member) { return set(&member, sizeof member, value, bytes) ? kOk : kInvalid; };
  switch (attribute) {
    case 3:
      return put(desc->transpose_a);
    case 4:
      return put(desc->transpose_b);
    case 7:
      return put(desc->epilogue);
    case 8:
      return put(desc->bias);
    case 10:
      return put(desc->bias_stride);
    case 17:
      return put(desc->scale_a);
    case 18:
      return put(desc->scale_b);
    case 20:
      return put(desc->scale_d);
    case 26:
      return put(desc->bias_type);
    case 31:
      return put(desc->mode_a);
    case 32:
      return put(desc->mode_b);
    default:
      return kInvalid;
  }
}

EXPORT int cublasLtMatrixLayoutCreate(Layout** layout, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = new Layout{type, rows, columns, leading};
  return kOk;
}
EXPORT int cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return kOk;
}
EXPORT int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, size_t bytes) {
  const auto put = [&](auto& member) { return set(&member, sizeof member, value, bytes) ? kOk : kInvalid; };
  switch (attribute) {
    case 1:
      return put(layout->order);
    case 5:
      return put(layout->batch);
    case 6:
      return put(layout->stride);
    default:
      return kInvalid;
  }
}

EXPORT int cublasLtMatmulPreferenceCreate(Preference** preference) {
  *preference = new Preference;
  return kOk;
}
EXPORT int cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete preference;
  return kOk;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(Preference* p, int attribute, const void* value, size_t bytes) {
  if (attribute == 1) return set(&p->workspace, sizeof p->workspace, value, bytes) ? kOk : kInvalid;
  if (attribute < 5 || attribute > 8) return kInvalid;
  return set(&p->alignment[attribute - 5], sizeof p->alignment[0], value, bytes) ? kOk : kInvalid;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void* handle, const Desc* desc, const Layout* a, const Layout* b,
                                          const Layout* c, const Layout* d, const Preference* preference, int wanted,
                                          Result* results, int* found) {
  *found = 0;
  if (!handle || !desc || !a || !b || !c || !d || wanted < 1) return kInvalid;
  if (const Status status = examine(*desc, *a, *b, *c, *d)) return status;
  Result& r = results[0];
  r = {};
  r.workspace = preference && preference->workspace >= kWorkspace ? kWorkspace : 0;
  uint64_t alignment = 256;
  if (preference)
    for (const uint32_t x : preference->alignment) alignment = x < alignment ? x : alignment;
  r.algorithm = {kMagic, r.workspace, alignment, {}};
  r.waves = 1;
  *found = 1;
  return kOk;
}

EXPORT int cublasLtMatmul(void* handle, const Desc* desc, const void* alpha, const void* a, const Layout* la,
                          const void* b, const Layout* lb, const void* beta, const void* c, const Layout* lc, void* d,
                          const Layout* ld, const Algorithm* algorithm, void* workspace, size_t workspace_bytes,
                          void* stream) {
  if (!handle || !desc || !alpha || !beta || !la || !lb || !lc || !ld || !a || !b || !d) return kInvalid;
  if (const Status status = examine(*desc, *la, *lb, *lc, *ld)) return status;
  if (c == d && lc->type != ld->type) return kInvalid;
  if (algorithm) {
    if (algorithm->magic != kMagic) return kInvalid;
    if (algorithm->workspace > workspace_bytes || (algorithm->workspace && !workspace)) return kInvalid;
    if (alignment_of({a, b, c, d}) < algorithm->alignment && alignment_of({a, b, c, d}) < 256) return kInvalid;
  }
  auto p = std::make_shared<Product>(Product{*desc, *la, *lb, *lc, *ld, behind(a), behind(b), behind(c), behind(d),
                                             algorithm && algorithm->workspace ? behind(workspace) : nullptr,
                                             scalar(*desc, alpha), scalar(*desc, beta)});
  if (p->beta != 0 && !c) return kInvalid;
  if (desc->scale_a) p->desc.scale_a = behind(desc->scale_a);
  if (desc->scale_d) p->desc.scale_d = behind(desc->scale_d);
  if (desc->scale_b) p->desc.scale_b = behind(desc->scale_b);
  if (desc->epilogue & 4) {
    if (!desc->bias) return kInvalid;
    p->desc.bias = behind(desc->bias);
  }
  return submit(stream, [p] { p->run(); }) == 0 ? kOk : kFailed;
}
