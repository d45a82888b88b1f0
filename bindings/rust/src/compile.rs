//! Compiles models ahead of time.

use std::path::Path;

use crate::builder::{GraphOptimizationLevel, SessionBuilder};
use crate::error::{OnnxError, OrtErrorCode, Result};
use crate::ffi::{self, OrtCompileApiFlags as Flags, OrtWeightlessSupport};

/// Which weights a compiled model does not contain, so that a session reads them from the original model. It is an
/// error if a provider of the model does not support the mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum WeightlessMode {
    /// The compiled model contains all weights.
    #[default]
    None,
    /// It contains no weight that the original model stores in another file.
    ExternalOnly,
    /// It contains no weights.
    All,
}

impl WeightlessMode {
    fn raw(self) -> OrtWeightlessSupport {
        match self {
            WeightlessMode::None => OrtWeightlessSupport::OrtWeightlessSupport_NONE,
            WeightlessMode::ExternalOnly => OrtWeightlessSupport::OrtWeightlessSupport_EXTERNAL_ONLY,
            WeightlessMode::All => OrtWeightlessSupport::OrtWeightlessSupport_ALL,
        }
    }
}

/// Compiles a model ahead of time for the providers of a session. The result is again a model, in which the parts of
/// the providers are compiled, so that sessions load it faster.
///
/// An error of a method waits: the `compile_to_…` method returns the first one. Needs version 1.22 of the library.
///
/// ```
/// use onnx::ModelCompiler;
/// # if onnx::api_version()? >= 22 {
/// # let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/growing.onnx");
/// let model = ModelCompiler::from_file(onnx::session_builder().with_cpu(), file).compile_to_memory()?;
/// let session = onnx::session_builder().commit_from_memory(&model)?;
/// # assert_eq!(session.inputs().len(), 2);
/// # }
/// # Ok::<(), onnx::OnnxError>(())
/// ```
#[must_use = "a compiler does nothing until a compile_to_… method is called"]
pub struct ModelCompiler {
    /// The compilation, or the first error.
    inner: Result<ffi::ModelCompiler>,
    flags: u32,
}

impl ModelCompiler {
    /// Compiles the model in a file, for the providers and with the other options of the builder.
    pub fn from_file(options: SessionBuilder, path: impl AsRef<Path>) -> Self {
        Self::new(options).set(|inner| inner.set_file(path.as_ref()))
    }

    /// Compiles a model of bytes: those of a vector, or a copy of those of a slice.
    pub fn from_memory(options: SessionBuilder, model: impl Into<Vec<u8>>) -> Self {
        let model = model.into();
        if model.is_empty() {
            return ModelCompiler { inner: Err(OnnxError::new(OrtErrorCode::InvalidProtobuf, "the model is empty")), flags: 0 };
        }
        Self::new(options).set(|inner| inner.set_model(model))
    }

    fn new(options: SessionBuilder) -> Self {
        ModelCompiler { inner: options.into_options().and_then(|options| Ok(ffi::ModelCompiler::new(options)?)), flags: 0 }
    }

    /// Changes the compilation, unless there was an error before.
    fn set(mut self, change: impl FnOnce(&mut ffi::ModelCompiler) -> ffi::Result<()>) -> Self {
        if let Err(error) = self.inner.as_mut().map_or(Ok(()), change) {
            self.inner = Err(error.into());
        }
        self
    }

    /// Writes the weights of more than `threshold` bytes to a file beside the compiled model. Applies to a compiled
    /// model that is written to a file.
    pub fn with_external_initializers(self, file: impl AsRef<Path>, threshold: usize) -> Self {
        self.set(|inner| inner.set_external_initializers(file.as_ref(), threshold))
    }

    /// Sets whether the compiled parts are stored in the model. By default, they are in files beside it.
    pub fn with_embedded_context(self, embedded: bool) -> Self {
        self.set(|inner| inner.set_embed_mode(embedded))
    }

    /// Sets the folder of the files for compiled parts, and the name that theirs begin with. Used if the model is
    /// compiled in memory, which does not tell them. Needs version 1.23 of the library.
    pub fn with_context_files(self, folder: impl AsRef<Path>, name: &str) -> Self {
        self.set(|inner| inner.set_context_binary(folder.as_ref(), name))
    }

    /// Makes it an error if no provider compiles a part of the model. Needs version 1.23 of the library.
    pub fn error_if_nothing_compiled(self) -> Self {
        self.with_flag(Flags::OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED)
    }

    /// Makes it an error if the file for the compiled model exists. Needs version 1.23 of the library.
    pub fn error_if_output_exists(self) -> Self {
        self.with_flag(Flags::OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS)
    }

    fn with_flag(mut self, flag: Flags) -> Self {
        self.flags |= flag.0.unsigned_abs();
        let flags = self.flags;
        self.set(|inner| inner.set_flags(flags))
    }

    /// Sets how much the library optimises the model before it compiles it. Needs version 1.23 of the library.
    pub fn with_optimization_level(self, level: GraphOptimizationLevel) -> Self {
        self.set(|inner| inner.set_optimization_level(level.raw()))
    }

    /// Sets which weights the compiled model does not contain; [`None`](WeightlessMode::None) by default. Needs version
    /// 1.32 of the library.
    pub fn with_weightless_mode(self, mode: WeightlessMode) -> Self {
        self.set(|inner| inner.set_weightless_mode(mode.raw()))
    }

    /// Compiles the model and writes it to a file.
    pub fn compile_to_file(self, path: impl AsRef<Path>) -> Result<()> {
        Ok(self.inner?.compile_to_file(path.as_ref())?)
    }

    /// Compiles the model in memory, and returns its bytes.
    pub fn compile_to_memory(self) -> Result<Vec<u8>> {
        Ok(self.inner?.compile_to_memory()?)
    }
}

impl std::fmt::Debug for ModelCompiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelCompiler").field("error", &self.inner.as_ref().err()).finish_non_exhaustive()
    }
}
