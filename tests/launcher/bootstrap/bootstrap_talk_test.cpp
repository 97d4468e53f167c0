// SPDX-License-Identifier: Apache-2.0
#include "launcher/bootstrap/bootstrap_talk.hpp"

#include "launcher/bootstrap/host_words.hpp"
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
        "the host is a ?[31mFreeBSD x86_64 machine, and this is a train for Linux x86_64");
}

TEST_CASE("what each place said is passed on when none takes the binary") {
  BootstrapTalk talk("n", "x86_64");
  talk.feed("train:n:failed /tmp/train-0: no space left;\n");
  CHECK(message_of(talk.next()) ==
        "no place on the host takes the binary: /tmp/train-0: no space left");
}

TEST_CASE("a host whose C library is too old is told what is needed") {
  BootstrapTalk talk("n", "x86_64");
  talk.feed("train:n:failed /root: version `GLIBC_2.34' not found (it does not run there);\n");
  CHECK(message_of(talk.next()) ==
        "the C library of the host is too old for this train: /root: version `GLIBC_2.34' not "
        "found (it does not run there)");
}

TEST_CASE("a host without our C library is told so, in the words of any shell") {
  for (const std::string words :
       {"not found", "No such file or directory", "inaccessible or not found",
        "cannot execute: required file not found"}) {
    BootstrapTalk talk("n", "x86_64");
    talk.feed("train:n:failed /root: " + words + " (it does not run there);\n");
    const auto next = talk.next();
    CHECK(message_of(next) == "the host lacks the C library that train needs: /root: " + words +
                                  " (it does not run there)");
    CHECK(next.error().diagnostics.front().hint.find("glibc 2.34 or newer") != std::string::npos);
  }
  // A tool that is missing is another matter.
  BootstrapTalk talk("n", "x86_64");
  talk.feed("train:n:failed /root: gzip: not found;\n");
  CHECK(message_of(talk.next()) == "no place on the host takes the binary: /root: gzip: not found");
}

TEST_CASE("what a host said becomes one printable line") {
  CHECK(printable(" a\r\n\x1b[1m b \n", 100) == "a ?[1m b");
  CHECK(printable("0123456789", 4) == "6789");
}
