#include "products.h"

#include <algorithm>
#include <vector>

#include "blaslt.h"
#include "memory.h"

namespace providers::cuda {
namespace {

constexpr int kCandidates = 6;               // proposals that are tried
constexpr double kMeasuredOperations = 5e7;  // smaller products take a few microseconds with any algorithm
constexpr size_t kMostMeasuredBytes = size_t(4) << 30;
constexpr int kRepeats = 4;
constexpr size_t kMostPlans = 10000;  // shapes may change from run to run

int lt_type(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return kLtF32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return kLtF64;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
      return kLtF16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
      return kLtBf16;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return kLtI8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return kLtI32;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN:
      return kLtE4m3;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2:
      return kLtE5m2;
    default:
      throw Error(text("cuBLASLt: no product of ", name_of(type)));
  }
}

struct Numbers {
  int compute, scale;
};
Numbers numbers_of(const Product& p) {
  if (p.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) return {kLtCompute64F, kLtF64};
  if (p.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8) return {kLtCompute32I, kLtI32};
  return {p.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && p.tf32 ? kLtComputeTf32 : kLtCompute32F, kLtF32};
}

int epilogue_of(const Product& p) {
  const int bits = (p.bias ? kLtEpilogueBias : 0) | (p.activation == ProductActivation::relu ? kLtEpilogueRelu : 0) |
                   (p.activation == ProductActivation::gelu_tanh ? kLtEpilogueGelu : 0);
  return bits ? bits : kLtEpilogueNone;
}

ONNXTensorElementDataType type_of_b(const Product& p) {
  return p.type_b == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED ? p.type : p.type_b;
}

ONNXTensorElementDataType type_of_c(const Product& p) {
  return p.wide == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED ? p.out : p.wide;
}

// alpha or beta in the type that cuBLASLt wants.
struct Scalar {
  union {
    float real;
    double wide;
    int32_t integer;
  };
  Scalar(const Product& p, float value) {
    wide = 0;
    if (p.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE)
      wide = value;
    else if (p.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8)
      integer = int32_t(value);
    else
      real = value;
  }
};

// A stored matrix of `rows` rows is for cuBLASLt, whose order is column-major, one of `rows` columns.
struct Stored {
  int type;
  int64_t rows, columns, lead, stride;
};
LtLayout layout_of(const Stored& s, int64_t batch) {
  LtLayout layout = nullptr;
  check_lt(blaslt().layout_create(&layout, s.type, uint64_t(s.columns), uint64_t(s.rows), s.lead ? s.lead : s.columns),
           "cublasLtMatrixLayoutCreate");
  if (batch > 1) {
    const auto count = int32_t(batch);
    check_lt(blaslt().layout_set(layout, kLtLayoutBatch, &count, sizeof count), "setting the batch of a layout");
    check_lt(blaslt().layout_set(layout, kLtLayoutStride, &s.stride, sizeof s.stride),
             "setting the stride of a layout");
  }
  return layout;
}

const void* pointer(Address address) { return reinterpret_cast<const void*>(address); }

size_t elements(int64_t rows, int64_t columns, int64_t lead, int64_t stride, int64_t batch) {
  return size_t((rows - 1) * (lead ? lead : columns) + columns + stride * (batch - 1));
}

}  // namespace

// In cuBLASLt's order the operands change places: Dᵀ = Bᵀ · Aᵀ.
struct ProductPlan::State {
  explicit State(const Product& p) : alpha(p, p.alpha), beta(p, p.beta), in_place(p.out == type_of_c(p)) {
    const Numbers numbers = numbers_of(p);
    const int in = lt_type(p.type), in_b = lt_type(type_of_b(p)), out = lt_type(p.out);
    a = layout_of({in, p.transposed_a ? p.k : p.m, p.transposed_a ? p.m : p.k, p.lead.a, p.stride.a}, p.batch);
    b = layout_of({in_b, p.transposed_b ? p.n : p.k, p.transposed_b ? p.k : p.n, p.lead.b, p.stride.b}, p.batch);
    d = layout_of({out, p.m, p.n, p.lead.d, p.stride.d}, p.batch);
    const bool separate = p.beta != 0;
    const int wide = lt_type(type_of_c(p));
    c = separate ? layout_of({wide, p.m, p.n, p.lead.c, p.stride.c}, p.batch)
                 : layout_of({wide, p.m, p.n, p.lead.d, p.stride.d}, p.batch);
    check_lt(blaslt().desc_create(&desc, numbers.compute, numbers.scale), "cublasLtMatmulDescCreate");
    set(kLtDescTransposeA, p.transposed_b ? kLtTransposed : kLtPlain);
    set(kLtDescTransposeB, p.transposed_a ? kLtTransposed : kLtPlain);
    set(kLtDescEpilogue, epilogue_of(p));
    if (p.bias) set_bias(256);    // not null: algorithms are proposed for a bias that is there
    if (p.bias && p.stride_bias)  // without this attribute, the caller adds the bias
      supported = blaslt().desc_set(desc, kLtDescBiasStride, &p.stride_bias, sizeof p.stride_bias) == 0;
    if (p.bias && wide != out) set(kLtDescBiasType, wide);
    if (p.scales != ProductScales::none) set_scales(256, 256);
    if (wide != out) set_pointer(kLtDescScaleD, 256);
    if (p.scales == ProductScales::each)  // cuBLASLt 12.9 and newer
      for (const int mode : {kLtDescScaleModeA, kLtDescScaleModeB})
        supported = supported && blaslt().desc_set(desc, mode, &kLtScaleVectors, sizeof kLtScaleVectors) == 0;
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    for (LtLayout layout : {a, b, c, d})
      if (layout) blaslt().layout_destroy(layout);
    if (desc) blaslt().desc_destroy(desc);
  }
  void set(int attribute, int32_t value) {
    check_lt(blaslt().desc_set(desc, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  void set_bias(Address address) { set_pointer(kLtDescBias, address); }
  static bool has_pointers(const Product& p) {
    return p.bias || p.scales != ProductScales::none || p.out != type_of_c(p);
  }
  // Sets the addresses that are not among the arguments of a call.
  void point(const Product& p, const ProductAddresses& at) {
    if (p.bias) set_bias(at.bias);
    if (p.scales != ProductScales::none) set_scales(at.scales_a, at.scales_b);
    if (p.out != type_of_c(p)) set_pointer(kLtDescScaleD, at.scale_d);
  }
  void set_scales(Address of_a, Address of_b) {
    set_pointer(kLtDescScaleA, of_b);
    set_pointer(kLtDescScaleB, of_a);
  }
  void set_pointer(int attribute, Address address) {
    const void* const value = pointer(address);
    check_lt(blaslt().desc_set(desc, attribute, &value, sizeof value), "setting an address");
  }
  // Proposals, the best first, none of which needs more than `workspace` bytes.
  std::vector<LtResult> propose(LtHandle handle, size_t workspace, uint32_t alignment, int wanted) const {
    LtPreference preference = nullptr;
    check_lt(blaslt().preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    LtStatus status = blaslt().preference_set(preference, kLtPreferWorkspace, &workspace, sizeof workspace);
    for (const int side : {kLtPreferAlignA, kLtPreferAlignB, kLtPreferAlignC, kLtPreferAlignD})
      if (status == 0) status = blaslt().preference_set(preference, side, &alignment, sizeof alignment);
    std::vector<LtResult> results(static_cast<size_t>(wanted));
    int found = 0;
    LtStatus search = 0;
    if (status == 0) search = blaslt().heuristic(handle, desc, b, a, c, d, preference, wanted, results.data(), &found);
    blaslt().preference_destroy(preference);
    check_lt(status, "cublasLtMatmulPreferenceSetAttribute");
    results.resize(search == 0 ? size_t(found) : 0);
    std::erase_if(results, [&](const LtResult& r) { return r.state != 0 || r.workspace > workspace; });
    return results;
  }
  LtStatus run(LtHandle handle, const LtAlgorithm& algorithm, CUstream stream, const ProductAddresses& at,
               size_t workspace) const {
    const Address source = at.c || !in_place ? at.c : at.d;
    return blaslt().multiply(handle, desc, &alpha, pointer(at.b), b, pointer(at.a), a, &beta, pointer(source), c,
                             const_cast<void*>(pointer(at.d)), d, &algorithm,
                             const_cast<void*>(pointer(workspace ? at.workspace : 0)), workspace, stream);
  }

  LtLayout a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  LtDesc desc = nullptr;
  Scalar alpha, beta;
  LtAlgorithm algorithm{};
  bool in_place;  // without a C, D is in its place; null where their types differ
  bool supported = true;
  std::mutex mutex;                  // of the addresses in `desc`, and of `odd`
  std::map<uint32_t, LtResult> odd;  // by alignment in bytes: for addresses that 16 does not divide
};

namespace {

// Tries algorithms on memory of its own.
class Trial {
 public:
  // The empty object is complete, so the destructor also ends what a failed beginning has made.
  Trial(Device& device, const Product& p, size_t workspace) : Trial() {
    const size_t in = size_of(p.type), out = size_of(p.out);
    const size_t a =
        in * elements(p.transposed_a ? p.k : p.m, p.transposed_a ? p.m : p.k, p.lead.a, p.stride.a, p.batch);
    const size_t b = size_of(type_of_b(p)) *
                     elements(p.transposed_b ? p.n : p.k, p.transposed_b ? p.k : p.n, p.lead.b, p.stride.b, p.batch);
    const size_t d = out * elements(p.m, p.n, p.lead.d, p.stride.d, p.batch);
    const size_t wide = size_of(type_of_c(p));
    const size_t c = p.beta != 0 ? wide * elements(p.m, p.n, p.lead.c, p.stride.c, p.batch) : 0;
    if (a + b + c + d > std::min(kMostMeasuredBytes, device.available_bytes() / 2)) return;
    check(driver().stream_create(&stream_, kStreamNonBlocking), "creating a stream");
    check(driver().event_create(&begin_, 0), "creating an event");
    check(driver().event_create(&end_, 0), "creating an event");
    const size_t scales = p.scales == ProductScales::each ? size_t(std::max(p.m, p.n)) * 4 : 0;
    for (const size_t bytes :
         {a, b, c, d, p.bias ? size_t(p.n + p.stride_bias * (p.batch - 1)) * wide : 0, workspace, scales})
      blocks_.emplace_back(device, std::max<size_t>(bytes, 256));
    for (const Block& block : blocks_)  // small positive numbers in each type
      check(driver().fill_bytes(block.address(), 0x3c, block.bytes(), stream_), "filling memory");
    at_ = {blocks_[0].address(),
           blocks_[1].address(),
           c ? blocks_[2].address() : 0,
           blocks_[3].address(),
           p.bias ? blocks_[4].address() : 0,
           blocks_[5].address(),
           blocks_[6].address(),
           blocks_[6].address(),
           blocks_[6].address()};
    ready_ = true;
  }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (stream_) driver().stream_synchronize(stream_);
    if (begin_) driver().event_destroy(begin_);
    if (end_) driver().event_destroy(end_);
    if (stream_) driver().stream_destroy(stream_);
  }
  bool ready() const { return ready_; }
  const ProductAddresses& at() const { return at_; }

  // Milliseconds of a product; negative if the algorithm fails.
  float time(LtHandle handle, const ProductPlan::State& state, const LtResult& result) {
    if (state.run(handle, result.algorithm, stream_, at_, result.workspace) != 0) return -1;
    check(driver().event_record(begin_, stream_), "recording an event");
    for (int i = 0; i < kRepeats; ++i)
      if (state.run(handle, result.algorithm, stream_, at_, result.workspace) != 0) return -1;
    check(driver().event_record(end_, stream_), "recording an event");
    check(driver().event_synchronize(end_), "waiting for a product");
    float milliseconds = -1;
    check(driver().event_elapsed(&milliseconds, begin_, end_), "reading the time of a product");
    return milliseconds / kRepeats;
  }

 private:
  Trial() = default;
  std::vector<Block> blocks_;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  ProductAddresses at_;
  bool ready_ = false;
};

LtResult measured(Device& device, LtHandle handle, ProductPlan& plan, const std::vector<LtResult>& results) {
  size_t workspace = 0;
  for (const LtResult& r : results) workspace = std::max(workspace, r.workspace);
  Trial trial(device, plan.product, workspace);
  if (!trial.ready()) return results[0];
  plan.state->point(plan.product, trial.at());
  size_t best = results.size();
  float least = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const float took = trial.time(handle, *plan.state, results[i]);
    // Another than the first proposal must be clearly faster, so that noise does not choose.
    if (took < 0 || (best < results.size() && took > 0.97f * least)) continue;
    best = i;
    least = took;
  }
  return results[best < results.size() ? best : 0];
}

// The fastest, or the first where there is no room to try them.
LtResult fastest(Device& device, LtHandle handle, ProductPlan& plan, const std::vector<LtResult>& results) {
  try {
    return measured(device, handle, plan, results);
  } catch (const Error&) {
    return results[0];
  }
}

size_t workspace_limit(const Product& p) { return p.operations() < 1e6 ? size_t(4) << 20 : size_t(32) << 20; }

}  // namespace

Products::Products(Device& device) : device_(device) {
  device.enter();
  check_lt(blaslt().create(&handle_), "cublasLtCreate");
}

Products::~Products() = default;  // the handle stays: a device is never destroyed

std::shared_ptr<ProductPlan> Products::make(const Product& product) {
  if (product.batch > INT32_MAX)
    throw Error(text("cuBLASLt: ", product.batch, " products in a batch, at most 2147483647"));
  auto plan = std::make_shared<ProductPlan>();
  plan->product = product;
  plan->state = std::make_shared<ProductPlan::State>(product);
  if (!plan->state->supported) return nullptr;
  const bool measures = measures_ && product.operations() >= kMeasuredOperations;
  const auto results = plan->state->propose(handle_, workspace_limit(product), 16, measures ? kCandidates : 1);
  if (results.empty()) return nullptr;
  const LtResult chosen = measures && results.size() > 1 ? fastest(device_, handle_, *plan, results) : results[0];
  plan->state->algorithm = chosen.algorithm;
  plan->workspace = chosen.workspace;
  return plan;
}

std::shared_ptr<const ProductPlan> Products::plan(const Product& product) {
  // The lock is held while algorithms are tried: two trials at once would disturb each other.
  const std::lock_guard lock(mutex_);
  const auto found = plans_.find(product);
  if (found != plans_.end()) return found->second;
  device_.enter();
  if (plans_.size() >= kMostPlans) plans_.clear();  // their users keep theirs
  return plans_[product] = make(product);
}

void Products::submit(const ProductPlan& plan, CUstream stream, const ProductAddresses& addresses) {
  ProductPlan::State& s = *plan.state;
  const Address bits = addresses.a | addresses.b | addresses.c | addresses.d | addresses.bias | 16;
  const auto alignment = uint32_t(bits & (~bits + 1));
  if (alignment >= 16 && !s.has_pointers(plan.product))
    return check_lt(s.run(handle_, s.algorithm, stream, addresses, plan.workspace), "cublasLtMatmul");
  const std::lock_guard lock(s.mutex);
  s.point(plan.product, addresses);
  if (alignment >= 16)
    return check_lt(s.run(handle_, s.algorithm, stream, addresses, plan.workspace), "cublasLtMatmul");
  auto found = s.odd.find(alignment);
  if (found == s.odd.end()) {
    const auto results = s.propose(handle_, plan.workspace, alignment, 1);
    if (results.empty())
      throw Error(text("cuBLASLt: no algorithm for a product ", plan.product.m, " x ", plan.product.n, " x ",
                       plan.product.k, " whose addresses are aligned to ", alignment, " bytes, expected 16"));
    found = s.odd.emplace(alignment, results[0]).first;
  }
  check_lt(s.run(handle_, found->second.algorithm, stream, addresses, found->second.workspace), "cublasLtMatmul");
}

}  // namespace providers::cuda
