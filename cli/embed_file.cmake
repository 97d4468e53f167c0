# SPDX-License-Identifier: Apache-2.0
# Sets the variable `embedded` to C++ that has the bytes of a file from `NAME` to `NAME_end`. The
# checksum tells the compiler's cache that the file has changed.
macro(embed_file NAME FILE)
  file(SHA256 "${FILE}" embedded_sha256)
  set(embedded "asm(R\"(.pushsection .rodata.${NAME},\"a\"
.global ${NAME}
.global ${NAME}_end
${NAME}: # ${embedded_sha256}
.incbin \"${FILE}\"
${NAME}_end:
.popsection)\");

extern \"C\" const char ${NAME}[];
extern \"C\" const char ${NAME}_end[];")
endmacro()
