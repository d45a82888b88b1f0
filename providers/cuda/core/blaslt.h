// cuBLASLt, opened at run time: its types, and a table of its functions. No header of the toolkit is needed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "driver.h"

namespace providers::cuda {

using LtStatus = int;        ///< cublasStatus_t; 0: success
using LtHandle = void*;      ///< cublasLtHandle_t
using LtDesc = void*;        ///< cublasLtMatmulDesc_t
using LtLayout = void*;      ///< cublasLtMatrixLayout_t
using LtPreference = void*;  ///< cublasLtMatmulPreference_t
struct LtAlgorithm {         ///< cublasLtMatmulAlgo_t
  uint64_t data[8];
};
struct LtResult {  ///< cublasLtMatmulHeuristicResult_t
  LtAlgorithm algorithm;
  size_t workspace;
  LtStatus state;
  float waves;
  int reserved[4];
};

// cudaDataType
constexpr int kLtF32 = 0, kLtF64 = 1, kLtF16 = 2, kLtI8 = 3, kLtI32 = 10, kLtBf16 = 14, kLtE4m3 = 28, kLtE5m2 = 29;
// cublasComputeType_t
constexpr int kLtCompute32F = 68, kLtCompute64F = 70, kLtCompute32I = 72, kLtComputeTf32 = 77;
// cublasOperation_t
constexpr int kLtPlain = 0, kLtTransposed = 1;
// cublasLtMatmulDescAttributes_t
constexpr int kLtDescTransposeA = 3, kLtDescTransposeB = 4, kLtDescEpilogue = 7, kLtDescBias = 8,
              kLtDescBiasStride = 10, kLtDescScaleA = 17, kLtDescScaleB = 18, kLtDescScaleD = 20, kLtDescBiasType = 26,
              kLtDescScaleModeA = 31, kLtDescScaleModeB = 32;
// cublasLtMatmulMatrixScale_t: a number for each row of op(A), and one for each column of op(B)
constexpr int kLtScaleVectors = 3;
// cublasLtMatrixLayoutAttribute_t
constexpr int kLtLayoutBatch = 5, kLtLayoutStride = 6;
// cublasLtMatmulPreferenceAttributes_t
constexpr int kLtPreferWorkspace = 1, kLtPreferAlignA = 5, kLtPreferAlignB = 6, kLtPreferAlignC = 7,
              kLtPreferAlignD = 8;
// cublasLtEpilogue_t, which are sums of bits except for the first
constexpr int kLtEpilogueNone = 1, kLtEpilogueRelu = 2, kLtEpilogueBias = 4, kLtEpilogueGelu = 32;

// name in the table, exported symbol, arguments
#define RETORT_CUDA_BLASLT(F)                                                                                        \
  F(create, cublasLtCreate, (LtHandle * handle))                                                                     \
  F(desc_create, cublasLtMatmulDescCreate, (LtDesc * desc, int compute_type, int scale_type))                        \
  F(desc_destroy, cublasLtMatmulDescDestroy, (LtDesc desc))                                                          \
  F(desc_set, cublasLtMatmulDescSetAttribute, (LtDesc desc, int attribute, const void* value, size_t bytes))         \
  F(layout_create, cublasLtMatrixLayoutCreate,                                                                       \
    (LtLayout * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))                                 \
  F(layout_destroy, cublasLtMatrixLayoutDestroy, (LtLayout layout))                                                  \
  F(layout_set, cublasLtMatrixLayoutSetAttribute, (LtLayout layout, int attribute, const void* value, size_t bytes)) \
  F(preference_create, cublasLtMatmulPreferenceCreate, (LtPreference * preference))                                  \
  F(preference_destroy, cublasLtMatmulPreferenceDestroy, (LtPreference preference))                                  \
  F(preference_set, cublasLtMatmulPreferenceSetAttribute,                                                            \
    (LtPreference preference, int attribute, const void* value, size_t bytes))                                       \
  F(heuristic, cublasLtMatmulAlgoGetHeuristic,                                                                       \
    (LtHandle handle, LtDesc desc, LtLayout a, LtLayout b, LtLayout c, LtLayout d, LtPreference preference,          \
     int wanted, LtResult* results, int* found))                                                                     \
  F(multiply, cublasLtMatmul,                                                                                        \
    (LtHandle handle, LtDesc desc, const void* alpha, const void* a, LtLayout a_layout, const void* b,               \
     LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout, void* d, LtLayout d_layout,              \
     const LtAlgorithm* algorithm, void* workspace, size_t workspace_bytes, CUstream stream))

/// The functions of libcublasLt. A failed call returns its code; `check_lt` makes it an Error.
struct BlasLt {
#define F(name, symbol, arguments) LtStatus(*name) arguments = nullptr;
  RETORT_CUDA_BLASLT(F)
#undef F
};

/// The library, opened at the first call; throws Error if it is not installed. Thread-safe.
const BlasLt& blaslt();
/// "", or why it cannot be opened.
std::string blaslt_missing();
/// Throws Error, naming `what` was done and the code, unless `status` is 0.
void check_lt(LtStatus status, const char* what);
/// "CUBLAS_STATUS_NOT_SUPPORTED (15)".
std::string lt_status_text(LtStatus status);

}  // namespace providers::cuda
