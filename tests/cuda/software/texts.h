// Texts that NVRTC's stand-in puts around a kernel.
#pragma once

extern "C" {
extern const char software_text_abi[], software_text_front[], software_text_math[], software_text_tail[];
}
