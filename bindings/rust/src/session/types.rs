//! What models say of their inputs and outputs.

use std::ffi::CString;

use crate::element::ElementType;

/// The type of an input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// A tensor.
    Tensor {
        /// The type of its elements.
        element: ElementType,
        /// Its extents, outermost first; -1 where one is not known.
        shape: Vec<i64>,
        /// The names of extents, `""` where one has none; as many as `shape` has.
        names: Vec<String>,
    },
    /// A sequence of values of one type.
    Sequence(Box<ValueType>),
    /// A map.
    Map {
        /// The type of its keys.
        key: ElementType,
        /// The type of its values.
        value: Box<ValueType>,
    },
    /// A value that may be missing.
    Optional(Box<ValueType>),
    /// A sparse tensor.
    SparseTensor,
    /// A type that a custom operator defines, or that this crate does not know.
    Other,
}

/// An input or output of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub value_type: ValueType,
}

impl ValueInfo {
    /// The type of the elements, where it is a tensor.
    #[must_use]
    pub fn element_type(&self) -> Option<ElementType> {
        match self.value_type {
            ValueType::Tensor { element, .. } => Some(element),
            _ => None,
        }
    }
}

/// An input or output, with its name as the C interface takes it.
pub(crate) struct Port {
    pub(crate) info: ValueInfo,
    pub(crate) raw_name: CString,
    /// The library may give the very memory of an input as the result: a model whose output is an input, or a sequence
    /// of tensors that were inputs.
    pub(crate) may_share: bool,
}
