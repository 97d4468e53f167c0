// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "tests/temporary_directory.hpp"

namespace train {

/// A folder on a file system whose server never answers, as NFS does when its server is down: who
/// looks into it waits until this object goes. For root only, where there is FUSE.
class StalledFolder {
 public:
  StalledFolder() : server_(open_device()) {
    const std::string options =
        "fd=" + std::to_string(server_) + ",rootmode=40000,user_id=0,group_id=0";
    is_mounted_ =
        server_ >= 0 && ::mount("stalled", folder_.path().c_str(), "fuse", 0, options.c_str()) == 0;
  }
  ~StalledFolder() {
    if (server_ >= 0) ::close(server_);  // everybody who waits is told an error
    if (is_mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }
  StalledFolder(const StalledFolder&) = delete;
  StalledFolder& operator=(const StalledFolder&) = delete;

  bool is_there() const { return is_mounted_; }
  const std::string& path() const { return folder_.path(); }

 private:
  // Containers often lack the device, though the kernel has it.
  static int open_device() {
    const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device >= 0) return device;
    const TemporaryDirectory folder;
    const std::string made = folder.path() + "/fuse";
    if (::mknod(made.c_str(), S_IFCHR | 0600, makedev(10, 229)) != 0) return -1;
    return ::open(made.c_str(), O_RDWR | O_CLOEXEC);
  }

  TemporaryDirectory folder_;
  int server_;
  bool is_mounted_ = false;
};

}  // namespace train
