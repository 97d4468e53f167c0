# SPDX-License-Identifier: Apache-2.0
# Writes the source that has the commit of a build; it stays as it is where that has not changed.
# Without git, or outside of its repository, there is no commit.
#   cmake -D ROOT=folder -D YAML_VERSION=version -D SOURCE=file.cpp -P build_info.cmake
set(COMMIT "")
if(EXISTS "${ROOT}/.git")
  execute_process(COMMAND git -C "${ROOT}" describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE ignored)
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/surroundings/build_info.cpp.in" "${SOURCE}" @ONLY)
