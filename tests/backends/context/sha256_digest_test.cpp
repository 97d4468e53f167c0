// SPDX-License-Identifier: Apache-2.0
#include "backends/context/sha256_digest.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("the digest is SHA-256, however the bytes come") {
  CHECK(sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const std::string long_text(100'000, 'x');
  Sha256Digest digest;
  for (std::size_t begin = 0; begin < long_text.size(); begin += 777)
    digest.add(std::string_view(long_text).substr(begin, 777));
  CHECK(digest.finish() == sha256_of(long_text));
}
