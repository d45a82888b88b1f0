# Toolchain of the preset `neon`: Debian's cross compiler for AArch64, and user-mode emulation to run its programs
# (tools/setup.sh neon). Header-only libraries are those of this machine: the cross compiler looks in /usr/include, too.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
# QEMU_CPU in the environment chooses the processor (cortex-a53: no dot products). Without it, the emulated processor
# has every extension that the emulator knows.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
