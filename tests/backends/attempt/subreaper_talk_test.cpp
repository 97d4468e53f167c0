// SPDX-License-Identifier: Apache-2.0
#include "backends/attempt/subreaper_talk.hpp"

#include <sys/socket.h>

#include "tests/catch.hpp"

using namespace train;

// The kernel tells first that something was left unread.
TEST_CASE("what was said last is heard, although the one who said it left something unread") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  SubreaperTalk ours{Descriptor(ends[0])};
  const ExitStatus ended{.code = 3, .at = Instant(5), .cpu = nanoseconds(6), .largest_memory = 7};
  {
    SubreaperTalk theirs{Descriptor(ends[1])};
    ours.send(SubreaperCommand{SubreaperCommand::Kind::signal_rank, 4711, 15});
    theirs.send(news_of(4711, ended));
    theirs.send(SubreaperNews{});
  }
  const auto news = ours.receive_news();
  REQUIRE(news);
  CHECK(news->kind == SubreaperNews::Kind::rank_ended);
  CHECK(news->pid == 4711);
  CHECK(status_in(*news) == ended);
  const auto gone = ours.receive_news();
  REQUIRE(gone);
  CHECK(gone->kind == SubreaperNews::Kind::gone);
  CHECK_FALSE(ours.receive_news());
  CHECK(ours.is_over());
}
