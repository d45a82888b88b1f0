"""The native classes and functions, under the name of the official extension.

Functions of the official extension that the C interface does not have are written in Python: authoring of model
packages, and the quantization of weights.
"""

from .._native import *  # noqa: F403
from .._initializer import (
    SessionObjectInitializer as SessionObjectInitializer,
    get_session_initializer as get_session_initializer,
)
from .._package import ModelPackage as ModelPackage
from .._package_open import (
    ModelPackageComponentContext as ModelPackageComponentContext,
    ModelPackageContext as ModelPackageContext,
    ModelPackageOptions as ModelPackageOptions,
    ModelPackageWriteMode as ModelPackageWriteMode,
)
from .._schemas import (
    get_all_operator_schema as get_all_operator_schema,
    get_all_opkernel_def as get_all_opkernel_def,
    get_registered_ep_kernel_defs as get_registered_ep_kernel_defs,
    opkernel as opkernel,
    schemadef as schemadef,
)
from .._weights import (
    pack_fp4_weights_for_cuda_moe_gemm as pack_fp4_weights_for_cuda_moe_gemm,
    quantize_matmul_2bits as quantize_matmul_2bits,
    quantize_matmul_4bits as quantize_matmul_4bits,
    quantize_matmul_8bits as quantize_matmul_8bits,
    quantize_matmul_bnb4 as quantize_matmul_bnb4,
    quantize_qdq_matmul_2bits as quantize_qdq_matmul_2bits,
    quantize_qdq_matmul_4bits as quantize_qdq_matmul_4bits,
)
