"""Plug-in libraries of other vendors (requirements-plugins.txt): their paths, and what each needs to find a device."""
import ctypes
import dataclasses
import importlib.util
import os

SWIFTSHADER = "/usr/lib/chromium/vk_swiftshader_icd.json"  # a software Vulkan in Debian's package of Chromium
DRIVERS = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")


@dataclasses.dataclass
class Plugin:
    package: str
    file: str
    provider: str
    every: int  # N: every N-th official case is run
    # Entries for Retort's environment that declare a device.
    environment: dict = dataclasses.field(default_factory=dict)
    # The processor that other_processor.cc shows to it, for hosts in which no device can be declared.
    processor: dict = dataclasses.field(default_factory=dict)
    options: tuple = ()
    vulkan: bool = False
    leave_out: tuple = ()  # kinds of cases to leave out
    takes_models: bool | None = True  # whether it claims nodes of each of MODELS; None: of some
    models_in: tuple = ("retort", "official")
    used: str = "normalised"  # the graph of graphs.py for plugin_uses


PLUGINS = {
    "nxrt-ep-cpu": Plugin("nxrt_ep_cpu", "libonnx_runtime_ep_cpu_plugin.so", "cpu_ep", 1, takes_models=False),
    # It requires a processor of its vendor, and computes in bfloat16 if the processor supports it, unless an option
    # forbids it.
    "onnxruntime-ep-openvino": Plugin("onnxruntime_ep_openvino", "libonnxruntime_providers_openvino_plugin.so", "OpenVINOExecutionProvider", 6,
                                      {"retort.virtual_devices": "cpu:0x8086:0x0"}, {"PLUGIN_VENDOR": "0x8086"},
                                      ('load_config={"CPU":{"INFERENCE_PRECISION_HINT":"f32"}}',)),
    # Whole image models take minutes on a software GPU.
    "onnxruntime-ep-webgpu": Plugin("onnxruntime_ep_webgpu", "libonnxruntime_providers_webgpu.so", "WebGpuExecutionProvider", 15,
                                    {"retort.discover_vulkan": "1"}, {"PLUGIN_VENDOR": "0x10de", "PLUGIN_TYPE": "1"},
                                    vulkan=True, leave_out=("light",), models_in=("retort",)),
    # It claims only graphs all of whose nodes it has. Its products differ from float32's by more than MODEL_RULE allows.
    "onnxruntime-ggml": Plugin("onnxruntime_ggml", "lib/libonnxruntime_ggml.so", "ggml", 12, options=("device=cpu",), models_in=(), used="reads_itself"),
    # Its library for Qualcomm's NPU simulates one on the processor. It claims only nodes whose shapes are fixed.
    "onnxruntime-qnn": Plugin("onnxruntime_qnn", "libonnxruntime_providers_qnn.so", "QNNExecutionProvider", 36, options=("backend_type=htp",), takes_models=None),
}


def library(plugin):
    """The path of a plug-in's library, or None."""
    found = importlib.util.find_spec(plugin.package)
    folders = found.submodule_search_locations if found else []
    paths = [os.path.join(folder, plugin.file) for folder in folders]
    return next((p for p in paths if os.path.exists(p)), None)


def variables(plugin):
    """Environment variables with which it finds a driver. A driver that the user has chosen is kept."""
    chosen = any(name in os.environ for name in DRIVERS)
    return {} if chosen or not plugin.vulkan else {name: SWIFTSHADER for name in DRIVERS}


def missing(name):
    """Why a plug-in cannot be run here; "" if it can."""
    plugin = PLUGINS[name]
    if not library(plugin):
        return f"the package {name} is not installed (tools/setup.sh plugins)"
    if not plugin.vulkan:
        return ""
    try:
        ctypes.CDLL("libvulkan.so.1")
    except OSError:
        return f"{name}: libvulkan.so.1 is missing (Debian's libvulkan1)"
    return "" if not variables(plugin) or os.path.exists(SWIFTSHADER) else f"{name}: {SWIFTSHADER} is missing (Debian's chromium)"
