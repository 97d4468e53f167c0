// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_reader.hpp"

#include "tests/catch.hpp"

using namespace train;
using Kind = BootstrapAnswer::Kind;

TEST_CASE("the answer is found behind banners, byte by byte, and the rest is the agent's") {
  const std::string stream =
      "Welcome!\ntrain:other:ready\nno newline train:train:n1:ready\n\x01\x02 agent";
  BootstrapReader reader("n1");
  std::optional<BootstrapAnswer> found;
  for (const char byte : stream) {
    reader.feed({&byte, 1});
    const auto answer = reader.next();
    REQUIRE(answer);
    if (*answer) {
      CHECK_FALSE(found);
      found = **answer;
    }
  }
  REQUIRE(found);
  CHECK(found->kind == Kind::ready);
  CHECK(reader.take_rest() == "\x01\x02 agent");
  CHECK(reader.take_rest().empty());
  CHECK(reader.noise().starts_with("Welcome!"));
}

TEST_CASE("what a host printed instead of an answer is kept whole") {
  BootstrapReader reader("n0123456789abcdef");
  for (const std::string piece : {"no such ", "shell"}) {
    reader.feed(piece);
    CHECK(reader.next().value() == std::nullopt);
  }
  CHECK(reader.noise() == "no such shell");
}

TEST_CASE("a host may ask several times before it is ready") {
  BootstrapReader reader("n");
  reader.feed(
      "train:n:need aarch64 Linux\ntrain:n:need aarch64 Linux\ntrain:n:failed a: b; c: d;\n");
  CHECK(reader.next().value() == BootstrapAnswer{Kind::need, "aarch64", "Linux", ""});
  CHECK(reader.next().value() == BootstrapAnswer{Kind::need, "aarch64", "Linux", ""});
  CHECK(reader.next().value() == BootstrapAnswer{Kind::failed, "", "", "a: b; c: d"});
  CHECK(reader.next().value() == std::nullopt);
  CHECK(reader.take_rest().empty());
}

TEST_CASE("a host that prints without end before it answers is cut off") {
  BootstrapReader reader("n");
  const std::string piece(1024, 'x');
  std::size_t fed = 0;
  while (reader.next() && fed < 2 * BootstrapReader::max_noise) {
    reader.feed(piece);
    fed += piece.size();
  }
  CHECK(fed > BootstrapReader::max_noise);
  CHECK(fed < BootstrapReader::max_noise + 4096);
  reader.feed("train:n:ready\n");
  CHECK_FALSE(reader.next());
  CHECK(reader.noise().size() == 500);
}

TEST_CASE("an answer without end, or an unknown one, is refused") {
  BootstrapReader endless("n");
  endless.feed("train:n:failed " + std::string(BootstrapReader::max_answer, 'x'));
  CHECK_FALSE(endless.next());
  BootstrapReader unknown("n");
  unknown.feed("train:n:what\n");
  CHECK_FALSE(unknown.next());
}
