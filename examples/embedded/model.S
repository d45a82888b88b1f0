/* The model, as the constants model_begin and model_end around it. */
    .section .rodata
    .balign 64
    .globl model_begin, model_end
model_begin:
    .incbin MODEL
model_end:
    .section .note.GNU-stack, "", %progbits
