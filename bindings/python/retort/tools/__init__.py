"""The official package's helper scripts: not part of this package."""

raise ImportError(
    f"{__name__}: the helper scripts of onnxruntime are not part of Retort; `retort convert` writes models in ORT "
    "format, and `retort inspect` and `retort profile` tell about models"
)
