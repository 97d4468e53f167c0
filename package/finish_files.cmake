# SPDX-License-Identifier: Apache-2.0
# Run by CPack on the installed files: the pages and the changelog are packed as Debian packs them, and
# all files get the time that source_date.cmake has chosen.
set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}")
set(documents "${root}/usr/share/doc/${CPACK_PACKAGE_NAME}")
file(RENAME "${documents}/CHANGELOG.md" "${documents}/changelog")
file(GLOB pages "${root}/usr/share/man/man*/*")
execute_process(COMMAND gzip -9nf ${pages} "${documents}/changelog" COMMAND_ERROR_IS_FATAL ANY)
# Folders that CPack makes have the rights that the umask leaves.
execute_process(COMMAND find "${root}" -type d -exec chmod 755 {} + COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find "${root}" -exec touch -hd "@$ENV{SOURCE_DATE_EPOCH}" {} +
  COMMAND_ERROR_IS_FATAL ANY)
