// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace train;

namespace {

// 'r' for each page that is resident, else '-'.
std::string residence(char* begin, std::size_t pages, std::size_t page) {
  std::vector<unsigned char> flags(pages);
  REQUIRE(::mincore(begin, pages * page, flags.data()) == 0);
  std::string text;
  for (const unsigned char flag : flags) text += (flag & 1) != 0 ? 'r' : '-';
  return text;
}

}  // namespace

TEST_CASE("whole pages of zeros are given back, and read as zeros; what holds anything stays") {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t pages = 6;
  void* const mapped = ::mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  auto* const bytes = static_cast<char*>(mapped);
  bytes[2 * page + 17] = 'x';
  bytes[4 * page - 1] = 'y';
  REQUIRE(residence(bytes, pages, page) == "rrrrrr");
  // The first and the last page belong to the block only in part.
  release_zero_pages(bytes + 1, pages * page - 2);
  CHECK(residence(bytes, pages, page) == "r-rr-r");
  CHECK(bytes[2 * page + 17] == 'x');
  CHECK(bytes[4 * page - 1] == 'y');
  CHECK(std::count(bytes, bytes + pages * page, '\0') == static_cast<long>(pages * page) - 2);
  release_zero_pages(bytes, page - 1);
  CHECK(residence(bytes, 1, page) == "r");
  ::munmap(mapped, pages * page);
}
