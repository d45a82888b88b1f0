// Memory and semaphores of other interfaces to a device (CUDA, Vulkan, Direct3D), through the provider that drives it.
#pragma once
#include "abi/devices/devices.h"

/// What a provider imports with, behind the caller's handle.
struct OrtExternalResourceImporter : retort::abi::Handle<retort::abi::tag_of("exri")> {
  explicit OrtExternalResourceImporter(OrtExternalResourceImporterImpl& i) : impl(i) {}
  ~OrtExternalResourceImporter();
  OrtExternalResourceImporter(const OrtExternalResourceImporter&) = delete;
  OrtExternalResourceImporterImpl& impl;
};

namespace retort::abi {

/// A new importer of the plug-in that drives the device; null when it has none. The CPU has none, as in the official
/// library.
OrtExternalResourceImporterImpl* find_importer(const OrtEpDevice& device);

}  // namespace retort::abi
