#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(not(unix))]
compile_error!("this crate runs on Unix: where paths of the C interface have wide characters, it would need other tables");

#[cfg(feature = "ndarray")]
mod arrays;
mod binding;
mod builder;
mod device;
mod element;
mod environment;
mod error;
#[rustfmt::skip]
#[allow(unsafe_code, unreachable_pub)]
mod ffi;
mod future;
mod library;
mod memory;
mod run;
mod session;
mod value;

pub use binding::IoBinding;
pub use builder::{DevicePolicy, OptimizationLevel, SessionBuilder, session_builder};
pub use device::{EpDevice, HardwareDevice, HardwareType, copy_tensors};
pub use element::{ElementType, PlainElement, TensorElement};
pub use environment::{Environment, LogLevel, init, init_with};
pub use error::{ErrorCode, OnnxError, Result};
pub use future::RunFuture;
pub use library::{api_version, build_info, version};
pub use memory::{Allocator, DeviceType, MemoryDescription, MemoryInfo, MemoryKind};
pub use run::RunOptions;
pub use session::{ModelMetadata, Session, ValueInfo, ValueType};
pub use value::{Value, ValueKind, ValueView};
