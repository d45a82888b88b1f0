//! Inputs, outputs and metadata of models.

use std::collections::BTreeMap;

use crate::element::ElementType;
use crate::error::{OnnxError, Result};
use crate::ffi::{self, ONNXType};

/// The type of an input or output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueType {
    /// A tensor.
    Tensor {
        /// The type of its elements.
        element: ElementType,
        /// Its extents, outermost first; -1 for an unknown extent.
        shape: Vec<i64>,
        /// The names of its extents, `""` for an extent without a name; as many as `shape` has.
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
    /// The type of the elements of a tensor; `None` for other types.
    #[must_use]
    pub fn element_type(&self) -> Option<ElementType> {
        match self.value_type {
            ValueType::Tensor { element, .. } => Some(element),
            _ => None,
        }
    }
}

impl ValueType {
    fn of(info: &ffi::TypeInfo) -> Result<Self> {
        Ok(match info.kind()? {
            ONNXType::ONNX_TYPE_TENSOR => {
                let (element, shape, names) = info.tensor()?;
                ValueType::Tensor { element: ElementType::from_raw(element), shape, names }
            }
            ONNXType::ONNX_TYPE_SEQUENCE => ValueType::Sequence(Box::new(Self::of(&info.sequence()?)?)),
            ONNXType::ONNX_TYPE_OPTIONAL => ValueType::Optional(Box::new(Self::of(&info.optional()?)?)),
            ONNXType::ONNX_TYPE_MAP => {
                let (key, value) = info.map()?;
                ValueType::Map { key: ElementType::from_raw(key), value: Box::new(Self::of(&value)?) }
            }
            ONNXType::ONNX_TYPE_SPARSETENSOR => ValueType::SparseTensor,
            _ => ValueType::Other,
        })
    }
}

/// An output of a model.
pub(crate) struct Output {
    pub(crate) info: ValueInfo,
    /// The library may return the very memory of an input as the result: a model whose output is an input, or a sequence
    /// of tensors that were inputs.
    pub(crate) may_share: bool,
}

/// The inputs and outputs of a session, in its order.
pub(crate) struct Ports {
    /// The inputs, then the constants of the model that an input may replace.
    pub(crate) inputs: Vec<ValueInfo>,
    pub(crate) outputs: Vec<Output>,
    /// How many of `inputs` are not constants.
    pub(crate) required: usize,
}

impl Ports {
    pub(crate) fn of(session: &ffi::Session) -> Result<Self> {
        let info =
            |port: &ffi::Port| Ok(ValueInfo { name: port.name.to_string_lossy().into_owned(), value_type: ValueType::of(&port.info)? });
        let inputs = session.inputs.iter().map(info).collect::<Result<Vec<_>>>()?;
        let outputs = session.outputs.iter().map(info).collect::<Result<Vec<_>>>()?;
        let outputs = outputs.into_iter().map(|info| {
            let named_twice = inputs.iter().any(|i| i.name == info.name);
            Output { may_share: named_twice || !matches!(info.value_type, ValueType::Tensor { .. }), info }
        });
        Ok(Ports { outputs: outputs.collect(), required: session.required, inputs })
    }

    /// The place of an input.
    pub(crate) fn input(&self, name: &str) -> Result<usize> {
        find(&self.inputs, |i| &i.name, name, "input")
    }

    /// The place of an output.
    pub(crate) fn output(&self, name: &str) -> Result<usize> {
        find(&self.outputs, |o| &o.info.name, name, "output")
    }
}

fn find<P>(ports: &[P], name_of: impl Fn(&P) -> &str, name: &str, what: &str) -> Result<usize> {
    ports.iter().position(|p| name_of(p) == name).ok_or_else(|| {
        let names: Vec<&str> = ports.iter().map(name_of).collect();
        OnnxError::invalid(format!("the model has no {what} '{name}', it has '{}'", names.join("', '")))
    })
}

/// The metadata of a model.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ModelMetadata {
    /// The program that wrote the model.
    pub producer: String,
    /// The name of its graph.
    pub graph_name: String,
    /// Its origin, as a reversed domain name.
    pub domain: String,
    /// A description of the model.
    pub description: String,
    /// A description of its graph.
    pub graph_description: String,
    /// Its version, a number of its makers.
    pub version: i64,
    /// Further entries of its makers.
    pub custom: BTreeMap<String, String>,
}

impl ModelMetadata {
    pub(crate) fn of(session: &ffi::Session) -> Result<Self> {
        let raw = session.metadata()?;
        Ok(ModelMetadata {
            producer: raw.producer()?,
            graph_name: raw.graph_name()?,
            domain: raw.domain()?,
            description: raw.description()?,
            graph_description: raw.graph_description()?,
            version: raw.version()?,
            custom: raw.custom()?,
        })
    }
}
