//! Conversions from and to arrays (feature `ndarray`).

use ndarray::{Array, ArrayBase, ArrayViewD, ArrayViewMutD, Data, Dimension, IxDyn, ShapeError};

use super::Value;
use super::view::ValueView;
use crate::element::TensorElement;
use crate::error::{OnnxError, Result};
use crate::ffi;

impl From<ShapeError> for OnnxError {
    fn from(error: ShapeError) -> Self {
        OnnxError::invalid(format!("the shape of the array is not valid: {error}"))
    }
}

fn places(value: &Value) -> Result<IxDyn> {
    Ok(IxDyn(&value.shape()?))
}

impl Value {
    /// Creates a tensor that owns the elements of an array. If the array is not in standard layout, the elements are
    /// copied.
    ///
    /// ```
    /// # #[cfg(feature = "ndarray")] {
    /// let value = onnx::Value::from_array(ndarray::arr2(&[[1f32, 2.0], [3.0, 4.0]]).reversed_axes())?;
    /// assert_eq!(value.extract_tensor::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
    /// # }
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn from_array<T: TensorElement, D: Dimension>(array: Array<T, D>) -> Result<Self> {
        let shape = array.shape().to_vec();
        if array.is_standard_layout() {
            let (data, offset) = array.into_raw_vec_and_offset();
            let count = ffi::count_of(&shape)?;
            if offset.unwrap_or(0) == 0 && data.len() == count {
                return Self::from_vec(&shape, data);
            }
            let start = offset.unwrap_or(0);
            return Self::from_slice(&shape, &data[start..start + count]);
        }
        Self::from_vec(&shape, array.iter().copied().collect())
    }

    /// Creates a tensor over the memory of an array, without a copy. It is an error if the array is not in standard
    /// layout.
    pub fn view_array<'a, T: TensorElement, S: Data<Elem = T>, D: Dimension>(array: &'a ArrayBase<S, D>) -> Result<ValueView<'a>> {
        let data = array
            .as_slice()
            .ok_or_else(|| OnnxError::invalid("an array that is not in standard layout cannot be read in place: copy it"))?;
        Self::view(array.shape(), data)
    }

    /// Returns the elements of a tensor as an array, without a copy. Errors are as for [`Value::extract_tensor`].
    pub fn extract_array<T: TensorElement>(&self) -> Result<ArrayViewD<'_, T>> {
        Ok(ArrayViewD::from_shape(places(self)?, self.extract_tensor()?)?)
    }

    /// Like [`Value::extract_array`], for writing.
    pub fn extract_array_mut<T: TensorElement>(&mut self) -> Result<ArrayViewMutD<'_, T>> {
        let places = places(self)?;
        Ok(ArrayViewMutD::from_shape(places, self.extract_tensor_mut()?)?)
    }
}
