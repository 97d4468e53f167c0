// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/kept_descriptors.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

#include "backends/posix/descriptor.hpp"
#include "tests/backends/lease/lease_fixture.hpp"

using namespace train;

namespace {

// A socket pair, of which a keeper has an end.
struct Keeper {
  Descriptor end;
  Descriptor keepers;

  Keeper() {
    int ends[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    end = Descriptor(ends[0]);
    keepers = Descriptor(ends[1]);
  }
  KeepingSocket socket() const { return {end.get(), keepers.get()}; }
};

LeaseFile locked_slot(const HostUnderTest& host, const std::string& name) {
  auto file = LeaseFile::open(host.folder(), name);
  REQUIRE(file);
  REQUIRE(file->lock({0, 1}));
  return std::move(*file);
}

bool is_locked(const HostUnderTest& host, const std::string& name) {
  return !LeaseFile::look(host.folder(), name).held_by_others(2).empty();
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

}  // namespace

TEST_CASE("what is kept stays locked, and what is not wanted any more does not") {
  const HostUnderTest host;
  const Keeper keeper;
  KeptDescriptors kept(keeper.socket());
  {
    const LeaseFile one = locked_slot(host, "one");
    const LeaseFile two = locked_slot(host, "two");
    REQUIRE(kept.add({one.descriptor()}));
    REQUIRE(kept.add({two.descriptor()}));
  }
  CHECK(is_locked(host, "one"));
  CHECK(is_locked(host, "two"));
  const LeaseFile three = locked_slot(host, "three");
  REQUIRE(kept.replace({three.descriptor()}));
  CHECK_FALSE(is_locked(host, "one"));
  CHECK_FALSE(is_locked(host, "two"));
  REQUIRE(kept.replace({}));
  CHECK(is_locked(host, "three"));  // by this process
}

TEST_CASE("a socket has room for ever for what is replaced, and this process keeps no copy") {
  const HostUnderTest host;
  const Keeper keeper;
  KeptDescriptors kept(keeper.socket());
  const LeaseFile always = locked_slot(host, "always");
  const auto before = open_descriptors();
  for (int round = 0; round < 1'000; ++round) {
    LeaseFile brief = locked_slot(host, "brief");
    if (kept.is_filling())
      REQUIRE(kept.replace({always.descriptor(), brief.descriptor()}));
    else
      REQUIRE(kept.add({brief.descriptor()}));
    // As who lets go does: others have copies.
    brief.unlock({0, 1});
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("more descriptors than one packet takes are kept") {
  const HostUnderTest host;
  const Keeper keeper;
  KeptDescriptors kept(keeper.socket());
  {
    const LeaseFile last = locked_slot(host, "last");
    const LeaseFile other = locked_slot(host, "other");
    std::vector<int> many(450, other.descriptor());
    many.push_back(last.descriptor());
    REQUIRE(kept.add(many));
    REQUIRE(kept.replace(many));
  }
  CHECK(is_locked(host, "last"));
  REQUIRE(kept.replace({}));
  CHECK_FALSE(is_locked(host, "last"));
}
