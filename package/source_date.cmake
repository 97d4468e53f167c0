# SPDX-License-Identifier: Apache-2.0
# Gives all files of the package one time: $SOURCE_DATE_EPOCH, else that of the newest commit, else,
# where there is no Git, that of CHANGELOG.md.
if("$ENV{SOURCE_DATE_EPOCH}" STREQUAL "")
  get_filename_component(sources "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
  execute_process(COMMAND git -C "${sources}" log -1 --format=%ct
    OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    file(TIMESTAMP "${sources}/CHANGELOG.md" date %s UTC)
  endif()
  set(ENV{SOURCE_DATE_EPOCH} "${date}")
endif()
