//! Tensors over memory of the program.

use std::marker::PhantomData;
use std::ops::Deref;

use super::Value;
use crate::element::{PlainElement, TensorElement};
use crate::error::Result;
use crate::ffi;

/// A tensor over borrowed memory, created by [`Value::view`]. It can be used as a `&Value`.
#[derive(Debug)]
pub struct ValueView<'a> {
    // Only given out as `&Value`: a `Value` that could be moved out would outlive the memory.
    value: Value,
    memory: PhantomData<&'a [u8]>,
}

impl Value {
    /// Creates a tensor over borrowed data, without a copy.
    ///
    /// ```
    /// let data = [1i64, 2, 3];
    /// let view = onnx::Value::view(&[3], &data)?;
    /// assert_eq!(view.extract_tensor::<i64>()?, data);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    ///
    /// The data cannot be dropped before the view:
    ///
    /// ```compile_fail,E0597
    /// let view = {
    ///     let data = vec![1i64, 2, 3];
    ///     onnx::Value::view(&[3], &data).unwrap()
    /// };
    /// view.shape().unwrap();
    /// ```
    pub fn view<'a, T: TensorElement>(shape: &[usize], data: &'a [T]) -> Result<ValueView<'a>> {
        Ok(ValueView { value: Value::of(ffi::Value::view(shape, data)?), memory: PhantomData })
    }
}

impl ValueView<'_> {
    /// Returns the value, for callers that make sure that its memory is borrowed long enough.
    pub(crate) fn into_inner(self) -> Value {
        self.value
    }
}

impl Deref for ValueView<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}

/// Creates a tensor over memory of the program that the library may write. Only for `PlainElement`s, because the
/// library may write any bits. The caller keeps the memory borrowed as long as the value is used.
pub(crate) fn wrap_for_writing<T: PlainElement>(shape: &[usize], data: &mut [T]) -> Result<Value> {
    Ok(Value::of(ffi::Value::view_mut(shape, data)?))
}
