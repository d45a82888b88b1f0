//! Tensors of strings.

use super::Value;
use crate::element::ElementType;
use crate::error::Result;
use crate::ffi;

impl Value {
    /// Creates a tensor of copies of strings.
    ///
    /// ```
    /// let value = onnx::Value::from_strings(&[2], &["", "one\0two"])?;
    /// assert_eq!(value.extract_strings()?, ["", "one\0two"]);
    /// # Ok::<(), onnx::OnnxError>(())
    /// ```
    pub fn from_strings<S: AsRef<str>>(shape: &[usize], data: &[S]) -> Result<Self> {
        ffi::check_count(shape, data.len())?;
        let mut value = ffi::Value::of_strings(shape)?;
        for (at, text) in data.iter().enumerate() {
            value.set_string(at, text.as_ref().as_bytes())?;
        }
        Ok(Self::of(value))
    }

    /// Returns copies of the strings of a tensor. It is an error if the elements have a different type, or a string is
    /// not UTF-8.
    pub fn extract_strings(&self) -> Result<Vec<String>> {
        self.check_type(ElementType::String)?;
        let (bytes, starts) = self.inner.string_content()?;
        let ends = starts.iter().skip(1).copied().chain([bytes.len()]);
        starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| Ok(std::str::from_utf8(bytes.get(start..end).unwrap_or_default())?.to_owned()))
            .collect()
    }
}
