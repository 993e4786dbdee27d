// The bytes of the page. An assembler file, because compilers' ways to embed a file are slow, or hide its changes from the
// compiler cache.
  .section .rodata
  .global corral_console_pack
  .global corral_console_pack_end
  .balign 16
corral_console_pack:
  .incbin CORRAL_CONSOLE_PACK
corral_console_pack_end:
  .byte 0
  .section .note.GNU-stack, "", %progbits
