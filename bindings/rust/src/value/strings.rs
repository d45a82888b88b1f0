//! Tensors of strings.

use super::{Value, ffi};
use crate::element::{ElementType, check_count};
use crate::error::Result;

impl Value {
    /// A tensor of strings, copied.
    ///
    /// ```
    /// let value = onnx::Value::from_strings(&[2], &["", "one\0two"])?;
    /// assert_eq!(value.extract_strings()?, ["", "one\0two"]);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn from_strings<S: AsRef<str>>(shape: &[i64], data: &[S]) -> Result<Self> {
        check_count(shape, data.len())?;
        let value = ffi::strings(shape)?;
        for (at, text) in data.iter().enumerate() {
            ffi::set_string(&value, at, text.as_ref())?;
        }
        Ok(value)
    }

    /// Copies of the strings of a tensor. An error where the elements are of another type, or where one is no UTF-8.
    pub fn extract_strings(&self) -> Result<Vec<String>> {
        self.check_type(ElementType::String)?;
        let (bytes, starts) = ffi::string_content(&self.handle)?;
        let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
        starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| Ok(std::str::from_utf8(bytes.get(start..end).unwrap_or_default())?.to_owned()))
            .collect()
    }
}
