#!/usr/bin/env python3
"""Prints the options of `retort bench` for the engines to compare with: the libraries inside the installed Python
packages onnxruntime and, if it is installed, openvino, in float32 and in the precision that it prefers."""
import glob
import importlib.util
import os


def library(package, pattern):
    """The path of a package's library; "" if the package is not installed."""
    spec = importlib.util.find_spec(package)
    found = glob.glob(os.path.join(os.path.dirname(spec.origin), *pattern)) if spec and spec.origin else []
    return found[0] if found else ""


def oracle():
    return library("onnxruntime", ("capi", "libonnxruntime.so*"))


def peers():
    openvino = library("openvino", ("libs", "libopenvino_c.so*"))
    return [oracle(), *([openvino, openvino + ":default"] if openvino else [])]


if __name__ == "__main__":
    print(" ".join("--against " + p for p in peers()))
