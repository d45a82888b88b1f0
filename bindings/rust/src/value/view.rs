//! Tensors over memory of the program.

use std::marker::PhantomData;
use std::ops::Deref;

use super::{Value, ffi};
use crate::element::{TensorElement, check_count};
use crate::error::Result;

/// A tensor that reads borrowed memory, made by [`Value::view`]. Usable wherever a `&Value` is.
#[derive(Debug)]
pub struct ValueView<'a> {
    // Handed out as `&Value` alone: a `Value` that could be moved out would outlive the memory.
    value: Value,
    memory: PhantomData<&'a [u8]>,
}

impl<'a> ValueView<'a> {
    pub(super) fn new<T: TensorElement>(shape: &[i64], data: &'a [T]) -> Result<Self> {
        check_count(shape, data.len())?;
        let value = ffi::wrapped(shape, data.as_ptr().cast_mut(), data.len())?;
        Ok(ValueView { value, memory: PhantomData })
    }

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
