# SPDX-License-Identifier: Apache-2.0
# What CPack makes a Debian package of: the files that are installed, and this.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "The developers of train")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "\
It reads an experiment in YAML, places every rank on an inventory of hosts, and
launches the ranks with their rendezvous variables and batch sizes: PyTorch,
DeepSpeed, JAX and TensorFlow. There is no server, and hosts need only sshd.")
# Depends: what the program's libraries ask for. The program ssh reads ~/.ssh/config for train.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openssh-client)
# The same bytes, whatever the clock and the umask.
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/source_date.cmake)
set(CPACK_DEBIAN_COMPRESSION_TYPE none)  # dpkg-deb packs it, in same_bytes.cmake
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/finish_files.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/same_bytes.cmake)
include(CPack)
