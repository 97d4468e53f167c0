// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_talk.hpp"

#include "config_schema/text/terminal_text.hpp"
#include "tests/catch.hpp"

using namespace train;

using Step = BootstrapTalk::Step;

namespace {

std::string message_of(const Result<Step>& step) {
  return step ? "no error" : step.error().diagnostics[0].message;
}

}  // namespace

TEST_CASE("a host that has the binary is ready at once, and says who is connected to whom") {
  BootstrapTalk talk("n", "x86_64");
  talk.feed("welcome\n");
  CHECK(talk.next().value() == Step::listen);
  talk.feed("train:n:ready 10.77.0.1 40000 fe80::1%eth0 22\nagent");
  CHECK(talk.next().value() == Step::ready);
  CHECK(talk.client_address() == "10.77.0.1");
  CHECK(talk.host_address() == "fe80::1%eth0");
  CHECK(talk.take_rest() == "agent");
}

TEST_CASE("a host behind a pipe does not know addresses") {
  for (const std::string answer : {"ready", "ready UNKNOWN 65535 UNKNOWN 65535"}) {
    BootstrapTalk talk("n", "x86_64");
    talk.feed("train:n:" + answer + "\n");
    CHECK(talk.next().value() == Step::ready);
    CHECK(talk.client_address().empty());
    CHECK(talk.host_address().empty());
  }
}

TEST_CASE("what is no connection is not taken for one") {
  for (const std::string answer : {"ready 1 2 3 4 5", "ready 1.2.3.4 5 6.7.8.9 10 train"}) {
    BootstrapTalk talk("n", "x86_64");
    talk.feed("train:n:" + answer + "\n");
    CHECK_FALSE(talk.next());
  }
  BootstrapTalk hostile("n", "x86_64");
  hostile.feed("train:n:ready \x1b[2J. 1 $(reboot). 2\n");
  CHECK(hostile.next().value() == Step::ready);
  CHECK(hostile.client_address().empty());
  CHECK(hostile.host_address().empty());
}

TEST_CASE("every place of a host may ask for the binary once") {
  BootstrapTalk talk("n", "x86_64");
  for (int place = 0; place < 4; ++place) {
    talk.feed("train:n:need x86_64 Linux\n");
    CHECK(talk.next().value() == Step::upload);
    CHECK(talk.next().value() == Step::listen);
  }
  talk.feed("train:n:need x86_64 Linux\n");
  CHECK(message_of(talk.next()) == "the host asks for the binary again and again");
}

TEST_CASE("a host of another kind is refused by name, without its control characters") {
  BootstrapTalk arm("n", "x86_64");
  arm.feed("train:n:need aarch64 Linux\n");
  CHECK(message_of(arm.next()) ==
        "the host is a Linux aarch64 machine, and this is a train for Linux x86_64");
  BootstrapTalk bsd("n", "x86_64");
  bsd.feed("train:n:need x86_64 \x1b[31mFreeBSD\n");
  CHECK(message_of(bsd.next()) ==
        "the host is a \\x1b[31mFreeBSD x86_64 machine, and this is a train for Linux x86_64");
}

TEST_CASE("what each place said is passed on when none takes the binary") {
  BootstrapTalk talk("n", "x86_64");
  talk.feed("train:n:failed /tmp/train-0: no space left;\n");
  CHECK(message_of(talk.next()) ==
        "no place on the host takes the binary: /tmp/train-0: no space left");
}

TEST_CASE("a host on which the agent does not run is told so") {
  BootstrapTalk talk("n", "x86_64");
  talk.feed("train:n:failed /root: FATAL: kernel too old (it does not run there);\n");
  const auto next = talk.next();
  CHECK(message_of(next) ==
        "train's agent does not run on the host: /root: FATAL: kernel too old (it does not run "
        "there)");
  CHECK(next.error().diagnostics.front().hint.find("Linux 5.3 or newer") != std::string::npos);
}

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

TEST_CASE("much may be printed on standard error before the answer, and not without end") {
  BootstrapTalk talk("n", "x86_64");
  constexpr std::size_t mib = std::size_t{1} << 20;
  for (int i = 0; i < 16; ++i) CHECK(talk.take_errors(mib));
  const auto counted = talk.take_errors(1);
  REQUIRE_FALSE(counted);
  CHECK(counted.error().error_class == ErrorClass::host);
}

TEST_CASE("an answer without end, or an unknown one, is refused") {
  BootstrapReader endless("n");
  endless.feed("train:n:failed " + std::string(BootstrapReader::max_answer, 'x'));
  CHECK_FALSE(endless.next());
  BootstrapReader unknown("n");
  unknown.feed("train:n:what\n");
  CHECK_FALSE(unknown.next());
}
