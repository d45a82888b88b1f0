#include "blaslt.h"

#include "common/api.h"
#include "library.h"

namespace providers::cuda {

const BlasLt& blaslt() {
  // Never destroyed: the driver may be gone at exit.
  static const BlasLt& all = *[] {
    const Library library("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, "nvidia-cublas");
    auto* const made = new BlasLt;
#define F(name, symbol, arguments) made->name = reinterpret_cast<LtStatus(*) arguments>(library.function(#symbol));
    RETORT_CUDA_BLASLT(F)
#undef F
    return made;
  }();
  return all;
}

std::string blaslt_missing() {
  try {
    blaslt();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

std::string lt_status_text(LtStatus status) {
  const char* name = "unknown status";
  switch (status) {
    case 0:
      name = "CUBLAS_STATUS_SUCCESS";
      break;
    case 1:
      name = "CUBLAS_STATUS_NOT_INITIALIZED";
      break;
    case 3:
      name = "CUBLAS_STATUS_ALLOC_FAILED";
      break;
    case 7:
      name = "CUBLAS_STATUS_INVALID_VALUE";
      break;
    case 8:
      name = "CUBLAS_STATUS_ARCH_MISMATCH";
      break;
    case 11:
      name = "CUBLAS_STATUS_MAPPING_ERROR";
      break;
    case 13:
      name = "CUBLAS_STATUS_EXECUTION_FAILED";
      break;
    case 14:
      name = "CUBLAS_STATUS_INTERNAL_ERROR";
      break;
    case 15:
      name = "CUBLAS_STATUS_NOT_SUPPORTED";
      break;
    default:
      break;
  }
  return text(name, " (", status, ")");
}

void check_lt(LtStatus status, const char* what) {
  if (status != 0) throw Error(text("cuBLASLt: ", what, " failed: ", lt_status_text(status)));
}

}  // namespace providers::cuda
