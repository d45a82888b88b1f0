"""The official package's optimizer for transformer models: not part of this package."""

raise ImportError(
    f"{__name__}: the optimizer and converters for transformer models are not part of Retort, which fuses attention "
    "when it loads a model; run them with the official onnxruntime in another environment"
)
