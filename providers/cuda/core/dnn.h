// cuDNN's backend interface, opened at run time: a table of its functions, the numbers that are needed of its
// enumerations, and an owner of its descriptors. No header of cuDNN is needed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "driver.h"
#include "plan.h"

namespace providers::cuda::dnn {

using Handle = struct DnnHandle*;
using Raw = void*;  ///< a descriptor of cuDNN

// name in the table, exported symbol, arguments
#define RETORT_DNN(F)                                                                                                \
  F(create, cudnnCreate, (Handle * handle))                                                                          \
  F(destroy, cudnnDestroy, (Handle handle))                                                                          \
  F(set_stream, cudnnSetStream, (Handle handle, CUstream stream))                                                    \
  F(create_descriptor, cudnnBackendCreateDescriptor, (int kind, Raw* descriptor))                                    \
  F(destroy_descriptor, cudnnBackendDestroyDescriptor, (Raw descriptor))                                             \
  F(finalize, cudnnBackendFinalize, (Raw descriptor))                                                                \
  F(set, cudnnBackendSetAttribute, (Raw descriptor, int name, int type, int64_t count, const void* values))          \
  F(get, cudnnBackendGetAttribute, (Raw descriptor, int name, int type, int64_t most, int64_t* count, void* values)) \
  F(execute, cudnnBackendExecute, (Handle handle, Raw plan, Raw pack))

/// The functions of libcudnn.so.9. Those of the macro return 0 for success.
struct Table {
#define F(name, symbol, arguments) int(*name) arguments = nullptr;
  RETORT_DNN(F)
#undef F
  size_t (*version)() = nullptr;                           ///< 91900 for 9.19.0
  const char* (*error_text)(int status) = nullptr;         ///< the name of a status
  void (*last_error)(char* text, size_t bytes) = nullptr;  ///< what this thread's last failure was about
};

/// Why cuDNN cannot be used, in one sentence; "" if it can. Opens it at the first call. Thread-safe.
const std::string& missing();
/// The functions; throws Error with missing() without cuDNN.
const Table& table();
/// "CUDNN_STATUS_BAD_PARAM (2000): the reason that cuDNN gives".
std::string describe(int status);
/// Throws Error with `what` and the description unless `status` is 0.
void check(int status, const std::string& what);

// cudnnBackendDescriptorType_t
enum Descriptors {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfiguration = 3,
  kEngineHeuristics = 4,
  kExecutionPlan = 5,
  kForwardOperation = 10,
  kBackwardDataOperation = 12,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22
};
// cudnnBackendAttributeType_t
enum AttributeTypes {
  kHandle = 0,
  kDataType = 1,
  kBoolean = 2,
  kInt64 = 3,
  kFloat = 4,
  kDouble = 5,
  kPointer = 6,
  kConvolutionMode = 7,
  kHeuristicsMode = 8,
  kNumericalNote = 11,
  kPointwiseMode = 14,
  kDescriptor = 15,
  kReductionOperator = 18,
  kBehaviorNote = 19
};
// cudnnBackendAttributeName_t
enum Attributes {
  kPointwiseModeOf = 0,
  kPointwisePrecision = 1,
  kPointwiseAxis = 9,
  kConvolutionPrecision = 100,
  kConvolutionModeOf = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionEnds = 104,
  kConvolutionBegins = 105,
  kConvolutionAxes = 106,
  kHeuristicsModeOf = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kConfigurationEngine = 300,
  kPlanHandle = 400,
  kPlanConfiguration = 401,
  kPlanWorkspace = 402,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kBackwardAlpha = 706,
  kBackwardBeta = 707,
  kBackwardConvolution = 708,
  kBackwardW = 709,
  kBackwardDx = 710,
  kBackwardDy = 711,
  kPointwiseDescriptorOf = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kPointwiseT = 758,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorDims = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorVirtual = 907,
  kTensorByValue = 908,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineIndex = 1301,
  kEngineNotes = 1303,
  kEngineBehaviors = 1305,
  kMatmulPrecision = 1500,
  kMatmulPadding = 1503,
  kMatmulA = 1520,
  kMatmulB = 1521,
  kMatmulC = 1522,
  kMatmulDescriptorOf = 1523,
  kMatmulM = 1525,
  kMatmulN = 1526,
  kMatmulK = 1527,
  kReductionOperatorOf = 1600,
  kReductionPrecision = 1601,
  kReductionX = 1610,
  kReductionY = 1611,
  kReductionDescriptorOf = 1612
};
// cudnnDataType_t, cudnnConvolutionMode_t, cudnnBackendHeurMode_t
constexpr int kTypeFloat = 0, kTypeHalf = 2, kTypeInt32 = 4, kTypeBfloat = 9, kTypeBool = 11, kCrossCorrelation = 1;
constexpr int kHeuristicsFallback = 2, kHeuristicsA = 3;
// cudnnPointwiseMode_t
constexpr int kAdd = 0, kMul = 1, kMax = 3, kDiv = 6, kSub = 9, kExp = 13, kLog = 15, kRelu = 100, kGreaterEqual = 303,
              kLess = 304, kAnd = 400, kIndex = 501, kSelect = 601;
// cudnnReduceTensorOp_t
constexpr int kReduceAdd = 0, kReduceMax = 3;
// cudnnBackendNumericalNote_t, cudnnBackendBehaviorNote_t
constexpr int kNoteTensorCore = 0, kNoteDownConvert = 1, kNoteCompiled = 0;

/// Owns a descriptor. Failures throw Error with the name of what was made and cuDNN's reason.
class Descriptor {
 public:
  Descriptor(Descriptors kind, std::string what);
  Descriptor(Descriptor&& other) noexcept : raw_(other.raw_), what_(std::move(other.what_)) { other.raw_ = nullptr; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  void set(Attributes name, AttributeTypes type, int64_t count, const void* values);
  void set_number(Attributes name, int64_t v) { set(name, kInt64, 1, &v); }
  void set_numbers(Attributes name, const std::vector<int64_t>& v) { set(name, kInt64, int64_t(v.size()), v.data()); }
  void set_enum(Attributes name, AttributeTypes type, int v) { set(name, type, 1, &v); }
  void set_float(Attributes name, float v) { set(name, kFloat, 1, &v); }
  void set_double(Attributes name, double v) { set(name, kDouble, 1, &v); }
  void set_bool(Attributes name, bool v) { set(name, kBoolean, 1, &v); }
  void set_handle(Attributes name, Handle v) { set(name, kHandle, 1, &v); }
  void set_descriptor(Attributes name, const Descriptor& v) { set(name, kDescriptor, 1, &v.raw_); }
  void finalize();
  Raw raw() const { return raw_; }

 private:
  Raw raw_ = nullptr;
  std::string what_;
};

}  // namespace providers::cuda::dnn
