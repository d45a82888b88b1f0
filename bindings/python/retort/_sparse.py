"""SparseTensor: tensors that store only some of their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import _native as C

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._devices import OrtDevice

    Extents = npt.NDArray[np.int64] | Sequence[int]


class SparseTensor:
    """A tensor of which only some elements are stored, with their places in one of three forms.

    Arrays of numbers are read where they lie and kept alive; strings are copied.
    """

    __slots__ = ("_tensor",)

    def __init__(self, sparse_tensor: C.SparseTensor) -> None:
        """Wraps a native sparse tensor; programs call a class method instead.

        Raises:
            ValueError: the argument is not a native sparse tensor.
        """
        if not isinstance(sparse_tensor, C.SparseTensor):
            raise ValueError(
                f"SparseTensor: got {type(sparse_tensor).__name__}, expected a native SparseTensor; "
                "use SparseTensor.sparse_coo_from_numpy() or another class method"
            )
        self._tensor = sparse_tensor

    def _get_c_tensor(self) -> C.SparseTensor:
        return self._tensor

    @classmethod
    def sparse_coo_from_numpy(
        cls, dense_shape: Extents, values: np.ndarray, coo_indices: npt.NDArray[np.int64], ort_device: OrtDevice
    ) -> SparseTensor:
        """A sparse tensor whose elements have coordinates.

        Args:
            dense_shape: the extents of the whole tensor.
            values: the stored elements, one axis.
            coo_indices: int64, one number per element (its place in the flattened tensor) or one pair per element
                (row and column, shape [n, 2]).
            ort_device: where the arrays are.
        """
        device = ort_device._get_c_device()
        return cls(C.SparseTensor.sparse_coo_from_numpy(dense_shape, values, coo_indices, device))

    @classmethod
    def sparse_csr_from_numpy(
        cls,
        dense_shape: Extents,
        values: np.ndarray,
        inner_indices: npt.NDArray[np.int64],
        outer_indices: npt.NDArray[np.int64],
        ort_device: OrtDevice,
    ) -> SparseTensor:
        """A sparse matrix in compressed rows.

        Args:
            dense_shape: rows and columns.
            values: the stored elements, row after row.
            inner_indices: int64, the column of each element.
            outer_indices: int64, for each row the place of its first element in `values`, and at the end how many
                elements there are.
            ort_device: where the arrays are.
        """
        device = ort_device._get_c_device()
        return cls(C.SparseTensor.sparse_csr_from_numpy(dense_shape, values, inner_indices, outer_indices, device))

    def values(self) -> np.ndarray:
        """The stored elements: a view of the tensor's memory, or a copy for strings."""
        return self._tensor.values()

    def as_coo_view(self) -> C.SparseCooView:
        """The coordinates, as `as_coo_view().indices()`.

        Raises:
            Exception: the tensor has another form.
        """
        return self._tensor.get_coo_data()

    def as_csrc_view(self) -> C.SparseCsrView:
        """Columns and beginnings of rows, as `as_csrc_view().inner()` and `.outer()`.

        Raises:
            Exception: the tensor has another form.
        """
        return self._tensor.get_csrc_data()

    def as_blocksparse_view(self) -> C.SparseBlockSparseView:
        """The places of blocks, as `as_blocksparse_view().indices()`.

        Raises:
            Exception: the tensor has another form.
        """
        return self._tensor.get_blocksparse_data()

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        """A copy on a GPU of NVIDIA.

        Raises:
            Exception: there is no such device, or the tensor holds strings.
        """
        return SparseTensor(self._tensor.to_cuda(ort_device._get_c_device()))

    def format(self) -> C.OrtSparseFormat:
        """The form in which places are stored."""
        return self._tensor.format

    def dense_shape(self) -> npt.NDArray[np.int64]:
        """The extents of the whole tensor."""
        return self._tensor.dense_shape()

    def data_type(self) -> str:
        """The type as text, for example "sparse_tensor(float)"."""
        return self._tensor.data_type()

    def device_name(self) -> str:
        """The name of the device where the elements are, in small letters."""
        return self._tensor.device_name().lower()

    def __repr__(self) -> str:
        return f"<SparseTensor {self.data_type()} {list(self.dense_shape())} with {len(self.values())} elements>"
