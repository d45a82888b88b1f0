//! Types of elements.

use crate::error::{OnnxError, Result};

macro_rules! element_types {
    ($($(#[$meta:meta])* $name:ident = $raw:ident, $bits:expr;)*) => {
        /// The type of a tensor's elements.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ElementType {
            $($(#[$meta])* $name,)*
            /// A type that this crate does not know, or none.
            Other(i32),
        }

        impl ElementType {
            pub(crate) fn from_raw(raw: crate::ffi::ONNXTensorElementDataType) -> Self {
                match raw {
                    $(crate::ffi::ONNXTensorElementDataType::$raw => Self::$name,)*
                    other => Self::Other(other.0),
                }
            }

            pub(crate) fn raw(self) -> crate::ffi::ONNXTensorElementDataType {
                match self {
                    $(Self::$name => crate::ffi::ONNXTensorElementDataType::$raw,)*
                    Self::Other(other) => crate::ffi::ONNXTensorElementDataType(other),
                }
            }

            /// How many bits an element takes; 0 for strings and for what this crate does not know. Elements of less
            /// than eight bits are packed, the first into the lowest bits.
            #[must_use]
            pub const fn bits(self) -> usize {
                match self {
                    $(Self::$name => $bits,)*
                    Self::Other(_) => 0,
                }
            }
        }
    };
}

element_types! {
    /// `f32`
    Float32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, 32;
    /// `u8`
    Uint8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, 8;
    /// `i8`
    Int8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, 8;
    /// `u16`
    Uint16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, 16;
    /// `i16`
    Int16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, 16;
    /// `i32`
    Int32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, 32;
    /// `i64`
    Int64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, 64;
    /// Text.
    String = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, 0;
    /// `bool`, a byte that is 0 or 1.
    Bool = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, 8;
    /// `half::f16`
    Float16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, 16;
    /// `f64`
    Float64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, 64;
    /// `u32`
    Uint32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, 32;
    /// `u64`
    Uint64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, 64;
    /// Two `f32`.
    Complex64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64, 64;
    /// Two `f64`.
    Complex128 = ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128, 128;
    /// `half::bf16`
    Bfloat16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, 16;
    /// Eight bits, four of them exponent.
    Float8E4M3FN = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN, 8;
    /// As before, without a negative zero.
    Float8E4M3FNUZ = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ, 8;
    /// Eight bits, five of them exponent.
    Float8E5M2 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2, 8;
    /// As before, without a negative zero.
    Float8E5M2FNUZ = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ, 8;
    /// Four bits, packed.
    Uint4 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4, 4;
    /// Four bits, packed.
    Int4 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4, 4;
    /// Four bits, packed, two of them exponent.
    Float4E2M1 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1, 4;
    /// Two bits, packed.
    Uint2 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2, 2;
    /// Two bits, packed.
    Int2 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2, 2;
    /// Eight bits of exponent.
    Float8E8M0 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0, 8;
}

impl ElementType {
    /// How many bytes that many elements take; an error for strings and for sizes beyond memory.
    pub(crate) fn bytes_of(self, count: usize) -> Result<usize> {
        let bits = self.bits();
        if bits == 0 {
            return Err(OnnxError::invalid(format!("elements of type {self:?} are no bytes: use the functions for strings")));
        }
        let all = count.checked_mul(bits).and_then(|b| b.checked_add(7)).filter(|b| isize::try_from(*b / 8).is_ok());
        all.map(|b| b / 8).ok_or_else(|| OnnxError::invalid(format!("{count} elements of type {self:?} are more than memory has")))
    }
}

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A type of Rust that elements of tensors have: numbers, `bool`, and with the feature `half` also `f16` and `bf16`.
/// Sealed: what a type means to the library is not for others to say.
pub trait TensorElement: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The type that the library knows it by.
    const TYPE: ElementType;
    /// Whether a byte of the library may be no value of the type.
    #[doc(hidden)]
    const IS_BOOL: bool = false;
}

/// A type of elements whose every bit pattern is a value: all but `bool`. The library may write into memory of these.
pub trait PlainElement: TensorElement {}

macro_rules! elements {
    ($($(#[$meta:meta])* $type:ty = $name:ident;)*) => {
        $(
            $(#[$meta])* impl sealed::Sealed for $type {}
            $(#[$meta])* impl TensorElement for $type { const TYPE: ElementType = ElementType::$name; }
            $(#[$meta])* impl PlainElement for $type {}
        )*
    };
}

elements! {
    f32 = Float32; f64 = Float64;
    i8 = Int8; i16 = Int16; i32 = Int32; i64 = Int64;
    u8 = Uint8; u16 = Uint16; u32 = Uint32; u64 = Uint64;
    #[cfg(feature = "half")] half::f16 = Float16;
    #[cfg(feature = "half")] half::bf16 = Bfloat16;
}

impl sealed::Sealed for bool {}
impl TensorElement for bool {
    const TYPE: ElementType = ElementType::Bool;
    const IS_BOOL: bool = true;
}

/// How many elements a shape has; an error where an extent is negative or the product overflows.
pub(crate) fn count_of(shape: &[i64]) -> Result<usize> {
    let mut count = 1usize;
    for &extent in shape {
        let extent =
            usize::try_from(extent).map_err(|_| OnnxError::invalid(format!("the shape {shape:?} has the negative extent {extent}")))?;
        count = count.checked_mul(extent).ok_or_else(|| OnnxError::invalid(format!("the shape {shape:?} has too many elements")))?;
    }
    Ok(count)
}

/// An error where that many elements do not fill the shape.
pub(crate) fn check_count(shape: &[i64], length: usize) -> Result<()> {
    let count = count_of(shape)?;
    if count == length {
        return Ok(());
    }
    Err(OnnxError::invalid(format!("the shape {shape:?} has {count} elements, the data {length}: give as many as the shape says")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_checked() {
        assert_eq!(count_of(&[]).unwrap(), 1);
        assert_eq!(count_of(&[2, 0, 3]).unwrap(), 0);
        assert!(count_of(&[2, -1]).unwrap_err().message.contains("-1"));
        assert!(count_of(&[i64::MAX, 4]).is_err());
        assert!(check_count(&[2, 3], 5).unwrap_err().message.contains("[2, 3] has 6 elements, the data 5"));
    }

    #[test]
    fn packed_elements_take_parts_of_bytes() {
        assert_eq!(ElementType::Int4.bytes_of(3).unwrap(), 2);
        assert_eq!(ElementType::Uint2.bytes_of(5).unwrap(), 2);
        assert_eq!(ElementType::Float64.bytes_of(2).unwrap(), 16);
        assert!(ElementType::String.bytes_of(2).is_err());
        assert!(ElementType::Float32.bytes_of(usize::MAX / 4).is_err());
    }

    #[test]
    fn types_go_to_the_library_and_back() {
        for raw in 1..27 {
            let raw = crate::ffi::ONNXTensorElementDataType(raw);
            assert!(!matches!(ElementType::from_raw(raw), ElementType::Other(_)), "{raw:?}");
            assert_eq!(ElementType::from_raw(raw).raw(), raw);
        }
        assert_eq!(ElementType::from_raw(crate::ffi::ONNXTensorElementDataType(99)), ElementType::Other(99));
    }
}
