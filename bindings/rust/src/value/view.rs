//! Tensors over memory of the program.

use std::marker::PhantomData;
use std::ops::Deref;

use super::Value;
use crate::element::{PlainElement, TensorElement};
use crate::error::Result;
use crate::ffi;

/// A tensor that reads borrowed memory, made by [`Value::view`]. Usable wherever a `&Value` is.
#[derive(Debug)]
pub struct ValueView<'a> {
    // Handed out as `&Value` alone: a `Value` that could be moved out would outlive the memory.
    value: Value,
    memory: PhantomData<&'a [u8]>,
}

impl Value {
    /// A tensor over borrowed data, without a copy.
    ///
    /// ```
    /// let data = [1i64, 2, 3];
    /// let view = onnx::Value::view(&[3], &data)?;
    /// assert_eq!(view.extract_tensor::<i64>()?, data);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    ///
    /// The data cannot go away before the view:
    ///
    /// ```compile_fail,E0597
    /// let view = {
    ///     let data = vec![1i64, 2, 3];
    ///     onnx::Value::view(&[3], &data).unwrap()
    /// };
    /// view.shape().unwrap();
    /// ```
    pub fn view<'a, T: TensorElement>(shape: &[i64], data: &'a [T]) -> Result<ValueView<'a>> {
        Ok(ValueView { value: Value::of(ffi::Value::view(shape, data)?), memory: PhantomData })
    }
}

impl ValueView<'_> {
    /// The value, to be kept where its memory is known to be borrowed as long.
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

/// Memory of the program that the library may write: only of `PlainElement`s, since it may write any bits. The caller
/// keeps it borrowed for as long as the value is used.
pub(crate) fn wrap_for_writing<T: PlainElement>(shape: &[i64], data: &mut [T]) -> Result<Value> {
    Ok(Value::of(ffi::Value::view_mut(shape, data)?))
}
