// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/file_system.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>

namespace train {

namespace {

// On some machines f_type is wider than 32 bits and sign-extended.
std::uint32_t kind_of(const struct statfs& status) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(status.f_type) & 0xFFFFFFFFu);
}

}  // namespace

std::uint32_t file_system_kind(int file) {
  struct statfs status {};
  return ::fstatfs(file, &status) == 0 ? kind_of(status) : 0;
}

std::uint32_t file_system_kind(const std::string& path) {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 ? kind_of(status) : 0;
}

bool is_shared_by_machines(std::uint32_t file_system_kind) {
  static constexpr std::array<std::uint32_t, 18> shared = {0x00006969,   // NFS
                                                           0x0000517B,   // SMB
                                                           0xFF534D42,   // CIFS
                                                           0xFE534D42,   // SMB 2 and 3
                                                           0x5346414F,   // OpenAFS
                                                           0x6B414653,   // AFS
                                                           0x73757245,   // Coda
                                                           0x00C36400,   // Ceph
                                                           0x01021997,   // 9P
                                                           0x65735546,   // FUSE
                                                           0x0BD00BD0,   // Lustre
                                                           0x47504653,   // GPFS
                                                           0x19830326,   // BeeGFS
                                                           0x20030528,   // OrangeFS
                                                           0xAAD7AAEA,   // PanFS
                                                           0x01161970,   // GFS2
                                                           0x7461636F,   // OCFS2
                                                           0x786F4256};  // VirtualBox
  return std::find(shared.begin(), shared.end(), file_system_kind) != shared.end();
}

}  // namespace train
