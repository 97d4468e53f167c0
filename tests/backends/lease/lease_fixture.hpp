// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>

#include <string>

#include "backends/lease/task_leases.hpp"
#include "tests/catch.hpp"
#include "tests/temporary_directory.hpp"

namespace train {

/// A folder for leases that belongs to the test.
class HostUnderTest {
 public:
  const std::string& path() const { return folder_.path(); }
  LeaseFolder folder(const std::string& prefix = "") const {
    LeaseFolder folder;
    folder.folder = Descriptor(::open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    folder.path = path();
    folder.prefix = prefix;
    REQUIRE(folder.folder);
    return folder;
  }
  /// As of a task that has found this folder first, on a host whose other place is that one.
  LeaseFolder folder_beside(const HostUnderTest& other) const {
    LeaseFolder ours = folder();
    ours.others = {named_place(other.path())};
    return ours;
  }

 private:
  TemporaryDirectory folder_;
};

inline LeaseWant whole_slot(int slot) {
  return {{LeaseKey::Kind::place, slot, {}}, lease_units, lease_units};
}

inline LeaseWant part_of_slot(int slot, std::uint64_t amount) {
  return {{LeaseKey::Kind::place, slot, {}}, amount, lease_units};
}

}  // namespace train
