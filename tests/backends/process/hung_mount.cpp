// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/process/hung_mount.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

namespace train::testing {

// The kernel asks the server of the mount for everything, and nobody ever reads what it asks.
HungMount::HungMount(std::string path)
    : path_(std::move(path)), device_(::open("/dev/fuse", O_RDWR | O_CLOEXEC)) {
  (void)::mkdir(path_.c_str(), 0755);
  const std::string options =
      fmt::format("fd={},rootmode=40755,user_id=0,group_id=0,allow_other", device_.get());
  is_there_ =
      device_ && ::mount("hung", path_.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
}

HungMount::~HungMount() {
  device_.reset();
  if (is_there_) (void)::umount2(path_.c_str(), MNT_DETACH);
}

}  // namespace train::testing
