//! Element types and shapes, as far as the size of memory depends on them.

use super::error::{Error, Result};
use super::few::Few;
use super::tables::ONNXTensorElementDataType as Type;

/// A Rust type that elements of the library have.
///
/// # Safety
/// Elements of type `RAW` must have the layout of the Rust type, and their bits must be a valid value of it: any bits
/// or, for `bool`, 0 and 1.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    const RAW: Type;
}

macro_rules! elements {
    ($($(#[$meta:meta])* $type:ty = $raw:ident;)*) => {
        $(
            // SAFETY: the interface defines its element types in this way.
            $(#[$meta])* unsafe impl Element for $type { const RAW: Type = Type::$raw; }
        )*
    };
}

elements! {
    f32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    f64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
    i8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    i16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
    i32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    i64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    u8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    u16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
    u32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    u64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
    bool = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    #[cfg(feature = "half")] half::f16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    #[cfg(feature = "half")] half::bf16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}

/// Returns the number of bytes of some elements; an error for strings and for sizes beyond the address space.
pub(crate) fn bytes_of(element: Type, count: usize) -> Result<usize> {
    let bits = element.bits();
    if bits == 0 {
        return Err(Error::Elements(element, "have no size in bytes: use the functions for strings".to_owned()));
    }
    let all = count.checked_mul(bits).and_then(|b| b.checked_add(7)).filter(|b| isize::try_from(*b / 8).is_ok());
    all.map(|b| b / 8).ok_or_else(|| Error::Elements(element, format!("do not fit in memory, because there are {count} of them")))
}

/// Returns the number of elements of a shape; an error if the product overflows.
pub(crate) fn count_of(shape: &[usize]) -> Result<usize> {
    let product = shape.iter().try_fold(1usize, |count, &extent| count.checked_mul(extent));
    product.ok_or_else(|| Error::Invalid(format!("the shape {shape:?} has too many elements")))
}

/// The extents of a shape.
pub(super) type Extents = Few<usize, 8>;

/// Converts extents to the type of the library.
pub(super) fn dims(shape: &[usize]) -> Result<Few<i64, 8>> {
    let one =
        |&extent| i64::try_from(extent).map_err(|_| Error::Invalid(format!("the extent {extent} in the shape {shape:?} is too large")));
    shape.iter().map(one).collect()
}

/// Converts extents of the library, none of which is negative.
pub(super) fn extents(dims: &[i64]) -> Result<Extents> {
    dims.iter().map(|&extent| Ok(usize::try_from(extent)?)).collect()
}

/// Returns an error if the number of elements does not match the shape.
pub(crate) fn check_count(shape: &[usize], length: usize) -> Result<()> {
    let count = count_of(shape)?;
    if count == length {
        return Ok(());
    }
    Err(Error::Invalid(format!("the shape {shape:?} has {count} elements, but the data has {length}: the numbers must be equal")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        format!("{:?}", result.unwrap_err())
    }

    #[test]
    fn shapes_are_checked() {
        assert_eq!(count_of(&[]).unwrap(), 1);
        assert_eq!(count_of(&[2, 0, 3]).unwrap(), 0);
        assert!(message(count_of(&[usize::MAX, 4])).contains("too many elements"));
        assert!(message(check_count(&[2, 3], 5)).contains("[2, 3] has 6 elements, but the data has 5"));
    }

    #[test]
    fn packed_elements_take_parts_of_bytes() {
        assert_eq!(bytes_of(Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, 3).unwrap(), 2);
        assert_eq!(bytes_of(Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, 5).unwrap(), 2);
        assert_eq!(bytes_of(Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 2).unwrap(), 16);
        assert!(bytes_of(Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, 2).is_err());
        assert!(bytes_of(Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, usize::MAX / 4).is_err());
    }
}
