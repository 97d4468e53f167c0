// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/file_system.hpp"

#include <fcntl.h>
#include <linux/magic.h>

#include "backends/posix/descriptor.hpp"
#include "tests/catch.hpp"

using namespace train;

TEST_CASE("file systems that other machines may use at once are known by their numbers") {
  for (const unsigned long kind :
       {static_cast<unsigned long>(NFS_SUPER_MAGIC), static_cast<unsigned long>(SMB_SUPER_MAGIC),
        static_cast<unsigned long>(AFS_SUPER_MAGIC), static_cast<unsigned long>(CODA_SUPER_MAGIC),
        static_cast<unsigned long>(CEPH_SUPER_MAGIC), static_cast<unsigned long>(V9FS_MAGIC),
        static_cast<unsigned long>(OCFS2_SUPER_MAGIC), 0xFF534D42UL, 0xFE534D42UL, 0x65735546UL,
        0x0BD00BD0UL, 0x47504653UL, 0x19830326UL, 0xAAD7AAEAUL}) {
    INFO(kind);
    CHECK(is_shared_by_machines(static_cast<std::uint32_t>(kind)));
  }
}

TEST_CASE("file systems of one machine are not among them") {
  for (const unsigned long kind :
       {static_cast<unsigned long>(EXT4_SUPER_MAGIC), static_cast<unsigned long>(XFS_SUPER_MAGIC),
        static_cast<unsigned long>(BTRFS_SUPER_MAGIC), static_cast<unsigned long>(TMPFS_MAGIC),
        static_cast<unsigned long>(OVERLAYFS_SUPER_MAGIC), 0UL}) {
    INFO(kind);
    CHECK_FALSE(is_shared_by_machines(static_cast<std::uint32_t>(kind)));
  }
}

TEST_CASE("the kind of a file system is asked of the kernel, by path and by descriptor") {
  CHECK(file_system_kind("/proc") == PROC_SUPER_MAGIC);
  const Descriptor folder(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(file_system_kind(folder.get()) == PROC_SUPER_MAGIC);
  CHECK(file_system_kind("/nonesuch/file") == 0);
  CHECK(file_system_kind(-1) == 0);
}
