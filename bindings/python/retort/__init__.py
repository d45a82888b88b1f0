"""ONNX inference in Python."""
