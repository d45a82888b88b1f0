"""Runs of a loaded model, and what it tells about itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _native as C
from ._devices import OrtDevice, OrtDeviceVendorId
from ._iobinding import IOBinding
from ._values import OrtValue

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ._bound import Binding
    from ._copies import CopyLedger
    from ._providers import Provider


class Session:
    """What can be done with a loaded model. `InferenceSession` loads one."""

    _sess: C.InferenceSession
    _sess_options: C.SessionOptions
    _sess_options_initial: C.SessionOptions | None
    _model_path: str | None
    _model_bytes: bytes | None
    _inputs_meta: list[C.NodeArg]
    _outputs_meta: list[C.NodeArg]
    _overridable_initializers: list[C.NodeArg]
    _model_meta: C.ModelMetadata
    _providers: list[str]
    _provider_options: dict[str, dict[str, str]]
    _fallback_providers: list[str]

    def __init__(self, enable_fallback: bool = True) -> None:
        """Prepares a session without a model.

        Args:
            enable_fallback: see `enable_fallback`.
        """
        self._enable_fallback = enable_fallback
        self._from_model_package = False

    def get_session_options(self) -> C.SessionOptions:
        """The options that the session was made with. Changing them has no effect on it."""
        return self._sess_options

    def get_inputs(self) -> Sequence[C.NodeArg]:
        """Name, type and shape of each input, in the order of the model."""
        return self._inputs_meta

    def get_outputs(self) -> Sequence[C.NodeArg]:
        """Name, type and shape of each output, in the order of the model."""
        return self._outputs_meta

    def get_overridable_initializers(self) -> Sequence[C.NodeArg]:
        """Inputs that have a default: initializers that a run may replace."""
        return self._overridable_initializers

    def get_modelmeta(self) -> C.ModelMetadata:
        """Who made the model, its version, its description, and entries of its own."""
        return self._model_meta

    def get_input_memory_infos(self) -> Sequence[C.OrtMemoryInfo]:
        """For each input the memory from which the session reads it without a copy."""
        return self._sess.input_meminfos

    def get_output_memory_infos(self) -> Sequence[C.OrtMemoryInfo]:
        """For each output the memory into which the session writes it without a copy."""
        return self._sess.output_meminfos

    def get_input_epdevices(self) -> Sequence[C.OrtEpDevice | None]:
        """For each input the device that reads it first; None for one that no registered device reads."""
        return self._sess.input_epdevices

    def get_providers(self) -> Sequence[str]:
        """The execution providers of the session, the most preferred first."""
        return self._providers

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """For each provider of the session its options."""
        return self._provider_options

    def get_provider_graph_assignment_info(self) -> Sequence[C.OrtEpAssignedSubgraph]:
        """Which provider runs which nodes.

        Raises:
            Exception: the session was made without the configuration entry
                `session.record_ep_graph_assignment_info` = "1".
        """
        return self._sess.get_provider_graph_assignment_info()

    def set_providers(
        self,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
    ) -> None:
        """Loads the model again for other providers.

        Args:
            providers: names, or pairs of a name and a dict of options, the most preferred first; None: all that are
                available.
            provider_options: a dict of options for each name, if `providers` has only names.
        """
        self._require_model_source("set_providers")
        self._load(providers, provider_options)

    def _load(
        self, providers: Sequence[Provider] | None, provider_options: Sequence[dict[Any, Any]] | None
    ) -> None:
        raise NotImplementedError(f"{type(self).__name__} knows no model; use InferenceSession")

    def disable_fallback(self) -> None:
        """A run in which a provider fails raises its error at once."""
        self._enable_fallback = False

    def enable_fallback(self) -> None:
        """A run in which a provider fails loads the model for the CPU instead, with a warning, and runs there."""
        self._require_model_source("enable_fallback")
        self._enable_fallback = True

    def _require_model_source(self, method: str) -> None:
        if self._from_model_package:
            raise NotImplementedError(
                f"{method}: a session of a model package cannot load its model again; make another one with "
                "ModelPackageComponentContext.create_session()"
            )

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: C.RunOptions | None = None,
    ) -> list[Any]:
        """Runs the model once.

        Arrays that are contiguous and aligned are read where they lie; results own their memory. The lock of the
        interpreter is released meanwhile, several threads may call this at once, and Ctrl-C ends the run.

        Args:
            output_names: the outputs to compute; None or an empty list: all of them, in the order of the model.
            input_feed: for each input an array (or a number, a list, a tensor with `__dlpack__`, an OrtValue; a list
                for a sequence; a dict for a map; None for an empty optional).
            run_options: logging, configuration entries and cancellation of this run.

        Returns:
            One result for each name: an array, a SparseTensor, a list, a dict, or None for an empty optional.

        Raises:
            ValueError: a required input is missing.
            Exception: one of the classes of `retort.errors`, with attributes code, node and op.
        """
        try:
            return self._sess.run(output_names, input_feed, run_options)
        except C.EPFail as error:
            self._fall_back(error)
        return self._sess.run(output_names, input_feed, run_options)

    def _fall_back(self, error: Exception) -> None:
        """Loads the model for the providers that remain, or raises the error again."""
        if not self._enable_fallback:
            raise error
        warnings.warn(
            f"a provider failed ({error}); the model of {self._providers} runs with {self._fallback_providers} from "
            "now on",
            RuntimeWarning,
            stacklevel=3,
        )
        self.set_providers(self._fallback_providers)
        self.disable_fallback()

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[Any, Any, str], None] | None = None,
        user_data: Any = None,
        run_options: C.RunOptions | None = None,
    ) -> Awaitable[list[Any]] | None:
        """Runs the model once while the program goes on, in one of two ways.

        `await session.run_async(names, feed)` gives the results, or raises the error. The run is in a thread of the
        event loop's executor. Cancelling the task ends the run, and the cancellation is complete when the run is over.

        `session.run_async(names, feed, callback, data)` returns at once. A thread of the engine calls
        `callback(results, data, error)`: results is empty and error a text if the run failed, otherwise error is "".

        Args:
            output_names: the outputs to compute; None or an empty list: all of them.
            input_feed: for each input a value, as for `run`. Do not change arrays before the run is over.
            callback: called when the run is over; None: return an awaitable.
            user_data: handed to the callback.
            run_options: options of this run; use an object for one awaited run at a time.
        """
        if callback is None:
            from ._awaitable import run_awaitable

            return run_awaitable(self, output_names, input_feed, run_options)
        self._sess.run_async(output_names, input_feed, callback, user_data, run_options)
        return None

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: C.RunOptions | None = None,
    ) -> list[OrtValue]:
        """Runs the model once on values of the engine, on any device, and gives such values.

        Args:
            output_names: the outputs to compute; None or an empty list: all of them.
            input_dict_ort_values: for each input a value.
            run_options: options of this run.
        """
        try:
            feed = {name: value._get_c_value() for name, value in input_dict_ort_values.items()}
        except AttributeError:
            raise TypeError("input_dict_ort_values must be a dict of input names and OrtValues") from None
        try:
            results = self._sess.run_with_ort_values(feed, output_names, run_options)
        except C.EPFail as error:
            self._fall_back(error)
            results = self._sess.run_with_ort_values(feed, output_names, run_options)
        return [OrtValue(value) for value in results]

    def run_with_iobinding(self, iobinding: IOBinding, run_options: C.RunOptions | None = None) -> None:
        """Runs the model once on what is bound; `iobinding.get_outputs()` has the results.

        Args:
            iobinding: a binding that `io_binding` of this session made.
            run_options: options of this run.

        Raises:
            ValueError: the binding belongs to another session.
        """
        if iobinding._session is not self._sess:
            raise ValueError("run_with_iobinding: the binding is of another session; use io_binding() of this one")
        self._sess.run_with_iobinding(iobinding._iobinding, run_options)

    def run_with_ortvaluevector(
        self,
        run_options: C.RunOptions | None,
        feed_names: Sequence[str],
        feeds: C.OrtValueVector,
        fetch_names: Sequence[str],
        fetches: C.OrtValueVector,
        fetch_devices: Sequence[C.OrtDevice],
    ) -> None:
        """Runs the model once on vectors of native values, for programs that keep such vectors.

        Args:
            run_options: options of this run.
            feed_names: the names of the inputs.
            feeds: their values, in the same order.
            fetch_names: the names of the outputs.
            fetches: gets the results.
            fetch_devices: for each output the device where its result must be.
        """
        self._sess.run_with_ortvaluevector(run_options, feed_names, feeds, fetch_names, fetches, fetch_devices)

    def io_binding(self) -> IOBinding:
        """A new binding, which declares where inputs are and where outputs go. See also `bind`."""
        return IOBinding(self)

    def bind(self, values: Mapping[str, Any] | None = None, /, **by_name: Any) -> Binding:
        """Binds inputs and outputs by name, for many runs without lookups and copies.

            binding = session.bind(x=image, y=probabilities)
            for image[:] in images:
                binding.run()

        Args:
            values: values for names that are no identifiers, such as "input:0".
            by_name: for an input, what `run` accepts: arrays are read in place in each run. For an output, an array
                or OrtValue into which each run writes, or a device ("cpu", "cuda:0", OrtDevice) where the engine
                allocates it. Outputs that are not named are allocated on the CPU.

        Returns:
            The binding; see `retort.Binding`.
        """
        from ._bound import Binding

        return Binding(self, {**(values or {}), **by_name})

    def copies(self) -> CopyLedger:
        """What the engine has copied by itself since the session was made: which tensor, why, from where to where.

        Raises:
            NotImplemented: the library is not Retort's.
        """
        from ._copies import read_ledger

        return read_ledger(self._sess)

    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: Any,
        device_type: str,
        device_id: int = 0,
        vendor_id: int | OrtDeviceVendorId = -1,
    ) -> OrtValue:
        """A new tensor in the memory of one of the session's allocators; it keeps the session alive.

        Args:
            shape: the extents.
            element_type: a dtype or what numpy.dtype() accepts, or a number of onnx.TensorProto.DataType.
            device_type: the device, see `OrtDevice.make`.
            device_id: the number of the device.
            vendor_id: the vendor, if the name of the device does not imply it.
        """
        device = OrtDevice.make(device_type, device_id, vendor_id)._get_c_device()
        make = (
            self._sess.create_ortvalue_from_shape_and_onnx_type
            if isinstance(element_type, int)
            else self._sess.create_ortvalue_from_shape_and_type
        )
        return OrtValue(make(shape, element_type, device), session=self._sess)

    def release_captured_graph(self, graph_annotation_id: int = 0) -> None:
        """Frees what a provider recorded of earlier runs to play it again; nothing if it recorded nothing.

        Args:
            graph_annotation_id: the number that the entry `gpu_graph_id` of the runs had.
        """
        self._sess.release_captured_graph(graph_annotation_id)

    def set_ep_dynamic_options(self, options: dict[str, str]) -> None:
        """Changes options of the session's providers between runs.

        Args:
            options: keys and values that the providers know.
        """
        self._sess.set_ep_dynamic_options(options)

    def get_tuning_results(self) -> list[Any]:
        """What providers that tune their kernels have found; empty if none does."""
        return self._sess.get_tuning_results()

    def set_tuning_results(self, results: list[Any], *, error_on_invalid: bool = False) -> None:
        """Gives providers what `get_tuning_results` of another session gave.

        Args:
            results: the list.
            error_on_invalid: raise an error about results that do not fit this machine instead of ignoring them.
        """
        self._sess.set_tuning_results(results, error_on_invalid)

    def end_profiling(self) -> str:
        """Ends the profile that `SessionOptions.enable_profiling` began, and gives the name of its file."""
        return self._sess.end_profiling()

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, on the clock of time.monotonic_ns()."""
        return self._sess.get_profiling_start_time_ns
