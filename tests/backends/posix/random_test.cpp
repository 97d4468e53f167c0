// SPDX-License-Identifier: Apache-2.0
#include "backends/posix/random.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("no two nonces are the same") {
  CHECK(new_nonce().size() == 32);
  CHECK(new_nonce() != new_nonce());
  CHECK(new_nonce().find_first_not_of("0123456789abcdef") == std::string::npos);
}
