"""Name and version of this package."""

package_name = "retort"
__version__ = "0.1.0"
