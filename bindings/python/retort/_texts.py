"""What native objects print: reprs that say what a device, a model or options are."""

from __future__ import annotations

from . import _native as C

_SETTINGS = (
    "enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse", "enable_profiling", "execution_mode",
    "execution_order", "graph_optimization_level", "inter_op_num_threads", "intra_op_num_threads", "log_severity_level",
    "log_verbosity_level", "logid", "optimized_model_filepath", "profile_file_prefix", "use_deterministic_compute",
    "use_per_session_threads",
)  # fmt: skip


def _of_options(options: C.SessionOptions) -> str:
    default = C.SessionOptions()
    changed = [
        f"{name}={getattr(options, name)!r}" for name in _SETTINGS if getattr(options, name) != getattr(default, name)
    ]
    return f"<SessionOptions: {', '.join(changed) or 'defaults'}>"


def _of_run_options(options: C.RunOptions) -> str:
    return f"<RunOptions: terminate={options.terminate}, logid={options.logid!r}>"


def _of_hardware(device: C.OrtHardwareDevice) -> str:
    return f"<OrtHardwareDevice {device.type.name} {device.vendor} {device.vendor_id:#06x}:{device.device_id:#06x}>"


def _of_ep_device(device: C.OrtEpDevice) -> str:
    return f"<OrtEpDevice {device.ep_name} of {device.ep_vendor} on {device.device!r}>"


def _of_metadata(metadata: C.ModelMetadata) -> str:
    return (
        f"<ModelMetadata of '{metadata.graph_name}': version {metadata.version}, made by '{metadata.producer_name}', "
        f"{len(metadata.custom_metadata_map)} entries>"
    )


def _of_assigned(part: C.OrtEpAssignedSubgraph) -> str:
    nodes = [f"{node.op_type} '{node.name}'" for node in part.get_nodes()]
    return f"<OrtEpAssignedSubgraph {part.ep_name}: {', '.join(nodes)}>"


def add_texts() -> None:
    """Gives the native classes their reprs."""
    for cls, function in (
        (C.SessionOptions, _of_options),
        (C.RunOptions, _of_run_options),
        (C.OrtHardwareDevice, _of_hardware),
        (C.OrtEpDevice, _of_ep_device),
        (C.ModelMetadata, _of_metadata),
        (C.OrtEpAssignedSubgraph, _of_assigned),
    ):
        setattr(cls, "__repr__", function)
