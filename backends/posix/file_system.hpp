// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace train {

/// Of which kind the file system of an open file or of a path is: the number that linux/magic.h or
/// its makers have given it; 0: not known.
std::uint32_t file_system_kind(int file);
std::uint32_t file_system_kind(const std::string& path);

/// Whether other machines may use the same files at once, over a network or a shared disk: they
/// share no memory with this one, and its kernel does not see their locks. So may those behind FUSE
/// (sshfs, GlusterFS), of which nobody knows.
bool is_shared_by_machines(std::uint32_t file_system_kind);

}  // namespace train
