// The texts in front of and behind every kernel, as they are in this folder when the library is built.
#include "texts.h"

#define TEXT(name, file)                                                                                       \
  asm(".section .rodata\n.globl " #name "\n.hidden " #name "\n" #name ":\n.incbin \"" SOFTWARE_FOLDER "/" file \
      "\"\n.byte 0\n.previous\n")

TEXT(software_text_abi, "kernel_abi.h");
TEXT(software_text_front, "shim.cuh");
TEXT(software_text_math, "shim_math.cuh");
TEXT(software_text_tail, "shim_tail.cuh");
