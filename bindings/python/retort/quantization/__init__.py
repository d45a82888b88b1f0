"""Quantization of models: not part of this package yet."""

raise ImportError(
    f"{__name__}: tools that quantize models are not part of Retort yet; quantize with the official onnxruntime in "
    "another environment, and run the quantized model here"
)
