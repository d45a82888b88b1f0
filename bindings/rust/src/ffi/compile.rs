//! The table of functions that compile models.

use std::ffi::CString;
use std::path::Path;
use std::ptr::{NonNull, null_mut};

use super::call::{check, slot, slot_of};
use super::environment::Environment;
use super::error::{Error, Result};
use super::library::api;
use super::memory::{default_raw, free};
use super::options::SessionOptions;
use super::tables::{GraphOptimizationLevel, OrtCompileApi, OrtModelCompilationOptions, OrtWeightlessSupport};
use super::text::path;

/// Like `call!`, for a function of the table for compiling.
macro_rules! compile {
    ($of:expr, $name:ident($($argument:expr),* $(,)?)) => {
        check(slot_of!($of.table, api()?.version, $name)($($argument),*))
    };
}

/// A model that is to be compiled, and how.
pub(crate) struct ModelCompiler {
    raw: NonNull<OrtModelCompilationOptions>,
    table: *const OrtCompileApi,
    /// The bytes of the model, which the library reads when it compiles.
    model: Vec<u8>,
    /// The library reads the initializers of these options when it compiles.
    _options: SessionOptions,
}

// SAFETY: the options are not tied to a thread, methods that change them need exclusive access, and the table is
// constant.
unsafe impl Send for ModelCompiler {}
// SAFETY: as above.
unsafe impl Sync for ModelCompiler {}

impl ModelCompiler {
    pub(crate) fn new(options: SessionOptions) -> Result<Self> {
        let (environment, mut raw) = (Environment::get()?.raw(), null_mut());
        // SAFETY: the function takes no arguments and returns a constant table. The environment and the options are
        // valid.
        unsafe {
            let table = slot!(GetCompileApi)();
            if table.is_null() {
                return Err(Error::NotSupported("the library was built without the interface for compiling models".to_owned()));
            }
            check(slot_of!(table, api()?.version, CreateModelCompilationOptionsFromSessionOptions)(
                environment,
                options.raw(),
                &raw mut raw,
            ))?;
            let raw = NonNull::new(raw).ok_or(Error::Null("OrtModelCompilationOptions"))?;
            Ok(ModelCompiler { raw, table, model: Vec::new(), _options: options })
        }
    }

    fn raw(&self) -> *mut OrtModelCompilationOptions {
        self.raw.as_ptr()
    }

    pub(crate) fn set_file(&mut self, file: &Path) -> Result<()> {
        let file = path(file)?;
        // SAFETY: here and in the following methods, the options are valid and the library copies its arguments.
        unsafe { compile!(self, ModelCompilationOptions_SetInputModelPath(self.raw(), file.as_ptr())) }
    }

    pub(crate) fn set_model(&mut self, model: Vec<u8>) -> Result<()> {
        self.model = model;
        let (start, length) = (self.model.as_ptr().cast(), self.model.len());
        // SAFETY: the library keeps the address of the bytes, which stay in place until the options are released.
        unsafe { compile!(self, ModelCompilationOptions_SetInputModelFromBuffer(self.raw(), start, length)) }
    }

    pub(crate) fn set_external_initializers(&mut self, file: &Path, threshold: usize) -> Result<()> {
        let file = path(file)?;
        // SAFETY: as above.
        unsafe { compile!(self, ModelCompilationOptions_SetOutputModelExternalInitializersFile(self.raw(), file.as_ptr(), threshold)) }
    }

    pub(crate) fn set_embed_mode(&mut self, embed: bool) -> Result<()> {
        // SAFETY: as above.
        unsafe { compile!(self, ModelCompilationOptions_SetEpContextEmbedMode(self.raw(), embed)) }
    }

    pub(crate) fn set_context_binary(&mut self, folder: &Path, name: &str) -> Result<()> {
        // ONNX Runtime refuses a folder without a separator at the end.
        let (folder, name) = (path(&folder.join(""))?, CString::new(name)?);
        // SAFETY: as above.
        unsafe { compile!(self, ModelCompilationOptions_SetEpContextBinaryInformation(self.raw(), folder.as_ptr(), name.as_ptr())) }
    }

    pub(crate) fn set_flags(&mut self, flags: u32) -> Result<()> {
        // SAFETY: as above.
        unsafe { compile!(self, ModelCompilationOptions_SetFlags(self.raw(), flags)) }
    }

    pub(crate) fn set_optimization_level(&mut self, level: GraphOptimizationLevel) -> Result<()> {
        // SAFETY: as above.
        unsafe { compile!(self, ModelCompilationOptions_SetGraphOptimizationLevel(self.raw(), level)) }
    }

    pub(crate) fn set_weightless_mode(&mut self, mode: OrtWeightlessSupport) -> Result<()> {
        // SAFETY: as above.
        unsafe { compile!(self, ModelCompilationOptions_SetWeightlessMode(self.raw(), mode)) }
    }

    fn run(&self) -> Result<()> {
        // SAFETY: the environment and the options are valid, and what the options refer to is kept alive.
        unsafe { compile!(self, CompileModel(Environment::get()?.raw(), self.raw())) }
    }

    /// Compiles the model and writes it to a file.
    pub(crate) fn compile_to_file(self, file: &Path) -> Result<()> {
        let file = path(file)?;
        // SAFETY: as above.
        unsafe { compile!(self, ModelCompilationOptions_SetOutputModelPath(self.raw(), file.as_ptr()))? };
        self.run()
    }

    /// Compiles the model in memory.
    pub(crate) fn compile_to_memory(self) -> Result<Vec<u8>> {
        let (allocator, mut start, mut length) = (default_raw()?, null_mut(), 0);
        // SAFETY: both places live until the model is compiled, which is the last use of the options. The caller owns
        // the bytes, which are copied and freed.
        unsafe {
            compile!(self, ModelCompilationOptions_SetOutputModelBuffer(self.raw(), allocator, &raw mut start, &raw mut length))?;
            self.run()?;
            if start.is_null() {
                return Err(Error::Null("compiled model"));
            }
            let model = std::slice::from_raw_parts(start.cast::<u8>(), length).to_vec();
            free(start)?;
            Ok(model)
        }
    }
}

impl Drop for ModelCompiler {
    fn drop(&mut self) {
        let release = || -> Result<()> {
            // SAFETY: the options are owned, and this is their last use.
            unsafe { slot_of!(self.table, api()?.version, ReleaseModelCompilationOptions)(self.raw()) };
            Ok(())
        };
        let _ = release();
    }
}
