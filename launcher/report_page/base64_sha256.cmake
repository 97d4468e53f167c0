# SPDX-License-Identifier: Apache-2.0
# Sets VARIABLE to the SHA-256 of a file in base64.
function(base64_sha256 VARIABLE FILE)
  set(digits "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  file(SHA256 "${FILE}" hexadecimal)
  # 32 bytes and one that is cut off again: eleven groups of three bytes, each four digits.
  string(APPEND hexadecimal "00")
  set(text "")
  foreach(begin RANGE 0 60 6)
    string(SUBSTRING ${hexadecimal} ${begin} 6 group)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING "${digits}" ${digit} 1 digit)
      string(APPEND text "${digit}")
    endforeach()
  endforeach()
  string(SUBSTRING "${text}" 0 43 text)
  set(${VARIABLE} "${text}=" PARENT_SCOPE)
endfunction()
