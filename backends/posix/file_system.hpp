// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace train {

/// The type of the file system of an open file or of a path: its magic number (linux/magic.h, or
/// its vendor's); 0: not known.
std::uint32_t file_system_kind(int file);
std::uint32_t file_system_kind(const std::string& path);

/// Whether other machines may use the same files at once, over a network or a shared disk: this
/// kernel does not see their locks, and shared memory does not work across machines. True for all
/// FUSE file systems (sshfs, GlusterFS), whose kind is not known.
bool is_shared_by_machines(std::uint32_t file_system_kind);

}  // namespace train
