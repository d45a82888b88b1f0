//! Element types.

use crate::ffi;

macro_rules! element_types {
    ($($(#[$meta:meta])* $name:ident = $raw:ident;)*) => {
        /// The type of the elements of a tensor.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ElementType {
            $($(#[$meta])* $name,)*
            /// A type that this crate does not know, or no type.
            Other(i32),
        }

        impl ElementType {
            pub(crate) fn from_raw(raw: ffi::ONNXTensorElementDataType) -> Self {
                match raw {
                    $(ffi::ONNXTensorElementDataType::$raw => Self::$name,)*
                    other => Self::Other(other.0),
                }
            }

            pub(crate) const fn raw(self) -> ffi::ONNXTensorElementDataType {
                match self {
                    $(Self::$name => ffi::ONNXTensorElementDataType::$raw,)*
                    Self::Other(other) => ffi::ONNXTensorElementDataType(other),
                }
            }

            /// The number of bits of an element; 0 for strings and for types that this crate does not know. Elements of
            /// less than eight bits are packed, the first in the lowest bits.
            #[must_use]
            pub const fn bits(self) -> usize {
                match self {
                    Self::Other(_) => 0,
                    known => known.raw().bits(),
                }
            }
        }
    };
}

element_types! {
    /// `f32`
    Float32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
    /// `u8`
    Uint8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8;
    /// `i8`
    Int8 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8;
    /// `u16`
    Uint16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16;
    /// `i16`
    Int16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16;
    /// `i32`
    Int32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32;
    /// `i64`
    Int64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    /// A string.
    String = ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING;
    /// `bool`, a byte that is 0 or 1.
    Bool = ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL;
    /// `half::f16`
    Float16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
    /// `f64`
    Float64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
    /// `u32`
    Uint32 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32;
    /// `u64`
    Uint64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64;
    /// A pair of `f32`.
    Complex64 = ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64;
    /// A pair of `f64`.
    Complex128 = ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
    /// `half::bf16`
    Bfloat16 = ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
    /// An 8-bit float with four exponent bits.
    Float8E4M3FN = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN;
    /// An 8-bit float with four exponent bits and no negative zero.
    Float8E4M3FNUZ = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ;
    /// An 8-bit float with five exponent bits.
    Float8E5M2 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2;
    /// An 8-bit float with five exponent bits and no negative zero.
    Float8E5M2FNUZ = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ;
    /// An unsigned 4-bit integer, packed.
    Uint4 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4;
    /// A signed 4-bit integer, packed.
    Int4 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4;
    /// A 4-bit float with two exponent bits, packed.
    Float4E2M1 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1;
    /// An unsigned 2-bit integer, packed.
    Uint2 = ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2;
    /// A signed 2-bit integer, packed.
    Int2 = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
    /// A power of two: eight exponent bits and nothing else.
    Float8E8M0 = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0;
}

pub(crate) mod sealed {
    pub trait Sealed: crate::ffi::Element {}
}

/// A Rust type that elements of tensors can have: numbers, `bool`, and with the feature `half` also `f16` and `bf16`.
/// Sealed, because the crate guarantees that each type matches the library's.
pub trait TensorElement: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// The element type of the library.
    const TYPE: ElementType;
}

/// An element type for which every bit pattern is a valid value: all but `bool`. The library may write to memory of
/// these.
pub trait PlainElement: TensorElement {}

macro_rules! elements {
    ($($(#[$meta:meta])* $type:ty = $name:ident;)*) => {
        $(
            $(#[$meta])* impl sealed::Sealed for $type {}
            $(#[$meta])* impl TensorElement for $type { const TYPE: ElementType = ElementType::$name; }
            // This crate and the module `ffi` use the same type.
            $(#[$meta])* const _: () = assert!(ElementType::$name.raw().0 == <$type as ffi::Element>::RAW.0);
        )*
    };
}

macro_rules! plain_elements {
    ($($(#[$meta:meta])* $type:ty = $name:ident;)*) => {
        elements! { $($(#[$meta])* $type = $name;)* }
        $($(#[$meta])* impl PlainElement for $type {})*
    };
}

plain_elements! {
    f32 = Float32; f64 = Float64;
    i8 = Int8; i16 = Int16; i32 = Int32; i64 = Int64;
    u8 = Uint8; u16 = Uint16; u32 = Uint32; u64 = Uint64;
    #[cfg(feature = "half")] half::f16 = Float16;
    #[cfg(feature = "half")] half::bf16 = Bfloat16;
}
elements! { bool = Bool; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_converted_both_ways() {
        for raw in 1..27 {
            let raw = ffi::ONNXTensorElementDataType(raw);
            assert!(!matches!(ElementType::from_raw(raw), ElementType::Other(_)), "{raw:?}");
            assert_eq!(ElementType::from_raw(raw).raw(), raw);
        }
        assert_eq!(ElementType::from_raw(ffi::ONNXTensorElementDataType(99)), ElementType::Other(99));
    }
}
