#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(unix))]
compile_error!("this crate supports Unix only: on Windows, paths in the C interface have wide characters, which needs other tables");

mod binding;
mod builder;
mod compile;
mod device;
mod element;
mod error;
#[allow(unsafe_code)]
mod ffi;
mod future;
mod init;
mod memory;
mod mistakes;
mod ports;
mod run;
mod session;
mod value;

pub use binding::IoBinding;
pub use builder::{DevicePolicy, GraphOptimizationLevel, SessionBuilder, session_builder};
pub use compile::{ModelCompiler, WeightlessMode};
pub use device::{EpDevice, HardwareDevice, HardwareType, MemoryCapacity, copy_tensors};
pub use element::{ElementType, PlainElement, TensorElement};
pub use error::{OnnxError, OrtErrorCode, Result};
pub use future::RunFuture;
pub use init::{Environment, LogLevel, ORT_API_VERSION, api_version, build_info, init, init_with, version};
pub use memory::{Allocator, DeviceType, MemoryDescription, MemoryInfo, MemoryKind};
pub use ports::{ModelMetadata, ValueInfo, ValueType};
pub use run::RunOptions;
pub use session::Session;
pub use value::view::ValueView;
pub use value::{Value, ValueKind};
