// Times matrix products on a GPU as the provider plans them, beside cuBLASLt alone: TFLOP/s and GB/s, and whether some
// elements are right. Build it by build_products_bench.sh.
//   products_bench [part of a case's name]
#include "products_bench.h"

namespace providers::cuda {
namespace {

// Enough copies of the weights that the cache does not hold them all.
int copies_for(size_t bytes) { return int(std::clamp<size_t>((size_t(256) << 20) / bytes, 4, 64)); }

void report(const std::string& name, double ms, double other, double operations, double bytes, double error) {
  std::printf("%-46s %9.2f us %8.1f TFLOP/s %7.0f GB/s  library %9.2f us  error %.1e%s\n", name.c_str(), ms * 1e3,
              operations / ms * 1e-9, bytes / ms * 1e-6, other * 1e3, error, error < 2e-2 ? "" : "  WRONG");
  std::fflush(stdout);
}

struct Dense {
  const char* type;
  int64_t m, k, n;
  bool transposed, ending;
};

double dense_error(const Dense& d, const Tensor& a, const Tensor& b, const Tensor& bias, Tensor& y) {
  y.download();
  std::minstd_rand random(3);
  double worst = 0;
  for (int i = 0; i < 40; ++i) {
    const auto row = int64_t(random()) % d.m, column = int64_t(random()) % d.n;
    double sum = d.ending ? bias.value(size_t(column)) : 0;
    for (int64_t k = 0; k < d.k; ++k)
      sum += a.value(size_t(row * d.k + k)) * b.value(size_t(d.transposed ? column * d.k + k : k * d.n + column));
    if (d.ending) sum = std::max(sum, 0.0);
    const double got = y.value(size_t(row * d.n + column));
    worst = std::isfinite(got) ? std::max(worst, std::abs(got - sum)) : 1e9;
  }
  return worst;  // results have a size of about 1
}

void dense(Bench& bench, const Dense& d) {
  const std::string type = d.type;
  const std::string name =
      text(type, " ", d.m, "x", d.k, "x", d.n, d.transposed ? " NxK" : " KxN", d.ending ? " bias relu" : "");
  if (!bench.wants(name)) return;
  const Type kind = type == "f16" ? kF16 : type == "bf16" ? kBf16 : kF32;
  const int copies = d.m > 64 ? 4 : copies_for(size_t(d.k * d.n) * size_of(kind));
  const float size = 1 / std::sqrt(float(d.k));
  const Tensor a(bench.device(), kind, {d.m, d.k}, 1, 2), bias(bench.device(), kind, {d.n}, 1, 1);
  const Tensor b(bench.device(), kind, d.transposed ? Dims{d.n, d.k} : Dims{d.k, d.n}, copies, size);
  Tensor y(bench.device(), kind, {d.m, d.n}, 1, 0);
  auto op = std::make_unique<ProductOp>();
  op->transposed_b = d.transposed;
  op->tf32 = type == "tf32";
  if (d.ending) {
    op->bias = 2;
    op->activated.act = Act::relu;
  }
  std::vector<const Tensor*> inputs{&a, &b};
  if (d.ending) inputs.push_back(&bias);
  const double ms = bench.run(std::move(op), inputs, y, copies);
  const double error = dense_error(d, a, b, bias, y);
  Product p;
  p.type = p.out = kind;
  p.tf32 = type == "tf32";
  p.m = d.m;
  p.n = d.n;
  p.k = d.k;
  p.transposed_b = d.transposed;
  const double other = bench.library(p, a, b, y, copies);
  report(name, ms, other, p.operations(), double(a.bytes() + b.bytes() + y.bytes()), error);
}

struct Coded {
  int64_t m, k, n, bits, block;
  NBitsForm form = {};
  Type type = kF16;
};

void coded(Bench& bench, const Coded& c) {
  const char* const kForms[] = {"", " few", " cores", " many"};
  const std::string name =
      text("nbits ", c.bits, " block ", c.block, " ", c.m, "x", c.k, "x", c.n, c.type == kF32 ? " f32" : "",
           kForms[c.form.kind], c.form.tiles ? text(" ", c.form.tiles, "/", c.form.split) : "");
  if (!bench.wants(name)) return;
  const int64_t blocks = (c.k + c.block - 1) / c.block, blob = c.block * c.bits / 8;
  const int copies = c.m > 16 ? 4 : copies_for(size_t(c.n * blocks * blob));
  const float middle = float(1 << (c.bits - 1)), size = 1 / (std::sqrt(float(c.k)) * middle);
  const Tensor a(bench.device(), c.type, {c.m, c.k}, 1, 2), codes(bench.device(), kU8, {c.n, blocks, blob}, copies, 0);
  const Tensor scales(bench.device(), c.type, {c.n * blocks}, copies, size);
  Tensor y(bench.device(), c.type, {c.m, c.n}, 1, 0);
  const double ms = bench.run(nbits_op(c.k, {c.n}, c.bits, c.block, true, c.form), {&a, &codes, &scales}, y, copies);
  y.download();
  std::minstd_rand random(3);
  double worst = 0;
  for (int i = 0; i < 40; ++i) {
    const auto row = int64_t(random()) % c.m, column = int64_t(random()) % c.n;
    double sum = 0;
    for (int64_t k = 0; k < c.k; ++k) {
      const int64_t bit = k * c.bits;
      const int code = codes.byte(size_t(column * blocks * blob + bit / 8)) >> (bit % 8) & ((1 << c.bits) - 1);
      sum += a.value(size_t(row * c.k + k)) * (code - middle) * scales.value(size_t(column * blocks + k / c.block));
    }
    const double got = y.value(size_t(row * c.n + column));
    worst = std::isfinite(got) ? std::max(worst, std::abs(got - sum)) : 1e9;
  }
  report(name, ms, 0, 2.0 * double(c.m) * double(c.k) * double(c.n),
         double(a.bytes() + codes.bytes() + scales.bytes() + y.bytes()), worst);
}

struct Float8 {
  Type out;
  int64_t m, k, n;
  bool channels = false, ending = false;
};

double float8_error(const Float8& f, const std::vector<const Tensor*>& in, Tensor& y) {
  y.download();
  std::minstd_rand random(3);
  double worst = 0, size = 1e-30;
  for (int i = 0; i < 200; ++i) {
    const auto row = int64_t(random()) % f.m, column = int64_t(random()) % f.n;
    double sum = 0;
    for (int64_t k = 0; k < f.k; ++k)
      sum += in[0]->value(size_t(row * f.k + k)) * in[1]->value(size_t(column * f.k + k));
    sum *= in[2]->value(0) * in[3]->value(f.channels ? size_t(column) : 0);
    if (f.ending) sum = std::max(sum + in[4]->value(size_t(column)), 0.0);
    const double got = y.value(size_t(row * f.n + column));
    worst = std::isfinite(got) ? std::max(worst, std::abs(got - sum)) : 1e9;
    size = std::max(size, std::abs(sum));
  }
  return worst / size;
}

void float8(Bench& bench, const Float8& f) {
  const std::string name = text("float8 ", f.m, "x", f.k, "x", f.n, " to ", name_of(f.out),
                                f.channels ? " channels" : "", f.ending ? " bias relu" : "");
  if (!bench.wants(name)) return;
  const int copies = f.m > 64 ? 4 : copies_for(size_t(f.k * f.n));
  const float size = 1 / std::sqrt(float(f.k));
  const Tensor a(bench.device(), kE4m3, {f.m, f.k}, 1, 1), b(bench.device(), kE4m3, {f.n, f.k}, copies, 1);
  const Tensor scale_a(bench.device(), kF32, {1}, 1, 4 * size), bias(bench.device(), f.out, {f.n}, 1, 1);
  const Tensor scale_b(bench.device(), kF32, {f.channels ? f.n : 1}, 1, 1);
  Tensor y(bench.device(), f.out, {f.m, f.n}, 1, 0);
  auto op = std::make_unique<ProductOp>();
  op->transposed_b = true;
  op->result = f.out;
  op->scale_a = 2;
  op->scale_b = 3;
  std::vector<const Tensor*> inputs{&a, &b, &scale_a, &scale_b};
  if (f.ending) {
    op->bias = 4;
    op->activated.act = Act::relu;
    inputs.push_back(&bias);
  }
  const double ms = bench.run(std::move(op), inputs, y, copies);
  report(name, ms, 0, 2.0 * double(f.m) * double(f.k) * double(f.n), double(a.bytes() + b.bytes() + y.bytes()),
         float8_error(f, inputs, y));
}

void float8_all(Bench& bench) {
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{8192, 8192, 8192},
                                {1024, 768, 3072},
                                {1024, 3072, 768},
                                {4096, 4096, 11008},
                                {128, 768, 3072},
                                {16, 4096, 11008},
                                {1, 4096, 11008}}) {
    dense(bench, {"bf16", m, k, n, true, false});
    for (const Type out : {kBf16, kF16, kF32}) float8(bench, {out, m, k, n});
    float8(bench, {kBf16, m, k, n, true});
    float8(bench, {kBf16, m, k, n, false, true});
    float8(bench, {kF32, m, k, n, false, true});
    float8(bench, {kF16, m, k, n, true, true});
  }
}

void integers(Bench& bench, int64_t m, int64_t k, int64_t n) {
  const std::string name = text("int8 ", m, "x", k, "x", n);
  if (!bench.wants(name)) return;
  Product p;
  p.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
  p.out = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
  p.m = m;
  p.n = n;
  p.k = k;
  p.transposed_b = true;
  const Tensor a(bench.device(), kU8, {m, k}, 1, 0), b(bench.device(), kU8, {n, k}, 4, 0);
  Tensor y(bench.device(), kF32, {m, n}, 1, 0);
  const double ms = bench.library(p, a, b, y, 4);
  if (ms < 0) {
    std::printf("%-46s no algorithm\n", name.c_str());
    return;
  }
  y.download();
  double wrong = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const int64_t row = i * 7 % m, column = i * 13 % n;
    int64_t sum = 0;
    for (int64_t j = 0; j < k; ++j) sum += int8_t(a.byte(size_t(row * k + j))) * int8_t(b.byte(size_t(column * k + j)));
    const auto got = float(y.value(size_t(row * n + column)));
    int32_t bits = 0;
    std::memcpy(&bits, &got, 4);
    wrong += bits != sum;
  }
  report(name, ms, ms, p.operations(), double(a.bytes() + b.bytes() + y.bytes()), wrong);
}

void copy(Bench& bench) {
  if (!bench.wants("copy")) return;
  const size_t bytes = size_t(512) << 20;
  const Block from(bench.device(), bytes), to(bench.device(), bytes);
  const double ms = bench.time(
      4, [&](int) { check(driver().copy_on_device(to.address(), from.address(), bytes, bench.stream()), "copying"); });
  report("copy 512 MiB", ms, ms, 0, 2.0 * double(bytes), 0);
}

// The most telling ones first.
void coded_all(Bench& bench) {
  constexpr auto kFew = NBitsForm::few, kCores = NBitsForm::cores, kMany = NBitsForm::many;
  for (const auto& [k, n] : {std::pair<int64_t, int64_t>{4096, 4096}, {4096, 11008}, {11008, 4096}, {768, 3072}})
    for (const auto kind : {kFew, kCores}) coded(bench, {1, k, n, 4, 32, {kind}});
  for (const int64_t m : {8, 16, 32, 64, 128}) coded(bench, {m, 4096, 11008, 4, 32, {kCores}});
  for (const int64_t m : {16, 64, 128}) coded(bench, {m, 4096, 11008, 4, 32, {kMany}});
  for (const int64_t m : {1, 8, 16, 32})
    for (const auto& [tiles, split] : {std::pair<int64_t, int64_t>{1, 8}, {1, 4}, {1, 2}, {2, 8}, {2, 4}, {2, 2}})
      if (m <= 16 || split < 8) coded(bench, {m, 4096, 11008, 4, 32, {kCores, tiles, split}});
  for (const auto& [tiles, split] : {std::pair<int64_t, int64_t>{1, 4}, {2, 8}, {2, 4}})
    coded(bench, {1, 4096, 4096, 4, 32, {kCores, tiles, split}});
  coded(bench, {1, 4096, 11008, 4, 128, {kFew}});
  coded(bench, {1, 4096, 11008, 4, 128, {kCores}});
  for (const int64_t bits : {8, 2}) {
    coded(bench, {1, 4096, 11008, bits, 32, {kFew}});
    coded(bench, {1, 4096, 11008, bits, 32, {kCores}});
    coded(bench, {16, 4096, 11008, bits, 32, {kCores}});
  }
  coded(bench, {1, 4096, 11008, 4, 32, {kFew}, kF32});
  coded(bench, {1, 4096, 11008, 4, 32, {kCores}, kF32});
  for (const int64_t m : {8, 32, 96}) coded(bench, {m, 4096, 11008, 4, 32, {kCores}, kF32});
  coded(bench, {96, 4096, 11008, 4, 32, {kMany}, kF32});
  coded(bench, {512, 4096, 11008, 4, 32});
}

void all(Bench& bench) {
  copy(bench);
  for (const bool transposed : {false, true})
    for (const auto& [k, n] :
         {std::pair<int64_t, int64_t>{768, 768}, {768, 3072}, {3072, 768}, {4096, 4096}, {4096, 11008}, {11008, 4096}})
      dense(bench, {"f16", 1, k, n, transposed, n == 3072});
  for (const int64_t m : {2, 4, 8}) {
    dense(bench, {"f16", m, 4096, 11008, false, false});
    dense(bench, {"f16", m, 4096, 11008, true, false});
    for (const bool transposed : {false, true}) {
      dense(bench, {"f16", m, 768, 3072, transposed, false});
      dense(bench, {"f16", m, 4096, 4096, transposed, false});
      dense(bench, {"f32", m, 768, 3072, transposed, false});
      dense(bench, {"tf32", m, 768, 3072, transposed, false});
    }
  }
  for (const bool transposed : {false, true})
    for (const auto& [k, n] : {std::pair<int64_t, int64_t>{768, 3072}, {768, 50257}, {4096, 4096}})
      dense(bench, {"f32", 1, k, n, transposed, false});
  dense(bench, {"bf16", 1, 4096, 11008, true, false});
  for (const char* type : {"f16", "bf16", "tf32", "f32"}) {
    dense(bench, {type, 4096, 4096, 4096, false, false});
    dense(bench, {type, 4096, 4096, 4096, true, true});
    for (const bool transposed : {false, true}) {
      dense(bench, {type, 128, 768, 3072, transposed, true});
      dense(bench, {type, 128, 3072, 768, transposed, true});
    }
  }
  dense(bench, {"f16", 2048, 4096, 11008, false, false});
  dense(bench, {"bf16", 8192, 8192, 8192, true, false});
  float8_all(bench);
  coded_all(bench);
  integers(bench, 128, 768, 3072);
  integers(bench, 4096, 4096, 4096);
}

}  // namespace
}  // namespace providers::cuda

int main(int argc, char** argv) {
  try {
    providers::cuda::Bench bench(argc > 1 ? argv[1] : "");
    std::printf("%s\n", bench.device().name().c_str());
    providers::cuda::all(bench);
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}
