# SPDX-License-Identifier: Apache-2.0
# Joins the licenses of the libraries and the project's own, and writes the
# source that puts the text into `train`.
#   cmake -D TEXT=file.txt -D LICENSE=file -D JOINED=file -D SOURCE=file.cpp -P embed_licenses.cmake
file(READ "${TEXT}" joined)
file(READ "${LICENSE}" license)
file(WRITE "${JOINED}" "${joined}${license}")
include("${CMAKE_CURRENT_LIST_DIR}/embed_file.cmake")
embed_file(train_licenses "${JOINED}")
file(WRITE "${SOURCE}" "// Written by embed_licenses.cmake.
#include \"cli/commands/licenses.hpp\"

${embedded}

std::string_view train::licenses() {
  return {train_licenses, static_cast<std::size_t>(train_licenses_end - train_licenses - 1)};
}
")
