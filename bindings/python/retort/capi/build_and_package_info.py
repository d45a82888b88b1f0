"""Name and version of this package."""

package_name: str = __name__.partition(".")[0]
# The same files are the package onnxruntime, whose version is that of the interface.
__version__: str = "1.32.0" if package_name == "onnxruntime" else "0.1.0"
