//! All `unsafe` code of the crate: the tables of the C interface, owned handles, and calls with checked statuses.
//!
//! All items that are visible outside this folder are safe to call. If a caller must keep a promise that the compiler
//! cannot check, the function documents it. Nothing here uses a module outside this folder.

mod arena;
mod binding;
mod call;
mod compile;
mod device;
mod element;
mod environment;
mod error;
mod few;
mod future;
mod library;
mod memory;
mod options;
mod run;
mod session;
#[rustfmt::skip]
#[allow(unreachable_pub)]
mod tables;
mod text;
mod value;

pub(crate) use arena::register_arena;
pub(crate) use binding::Binding;
pub(crate) use compile::ModelCompiler;
pub(crate) use device::{EpDevice, copy_tensors};
pub(crate) use element::{Element, bytes_of, check_count, count_of};
pub(crate) use environment::{Environment, build_info, providers};
pub(crate) use error::{Error, Result};
pub(crate) use few::Few;
pub(crate) use future::{InFlight, InputValue};
pub(crate) use library::{api_version, version};
pub(crate) use memory::{Allocator, Description, MemoryInfo};
pub(crate) use options::SessionOptions;
pub(crate) use run::RunOptions;
pub(crate) use session::{Port, Session, TypeInfo, is_in_callback};
pub(crate) use tables::{
    ExecutionMode, GraphOptimizationLevel, ONNXTensorElementDataType, ONNXType, ORT_API_VERSION, OrtCompileApiFlags, OrtDeviceMemoryType,
    OrtExecutionProviderDevicePolicy, OrtLoggingLevel, OrtMemoryInfoDeviceType, OrtWeightlessSupport,
};
pub(crate) use value::{Value, ValueHandle};
