# SPDX-License-Identifier: Apache-2.0
# Run by CPack on the package, which dpkg-deb packs once more: CPack's own archive has the umask in it.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  set(unpacked "${CPACK_TEMPORARY_DIRECTORY}/again")
  foreach(step "rm;-rf;${unpacked}" "dpkg-deb;-R;${package};${unpacked}" "chmod;755;${unpacked};${unpacked}/DEBIAN"
      "dpkg-deb;--root-owner-group;-b;${unpacked};${package}")
    execute_process(COMMAND ${step} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endforeach()
