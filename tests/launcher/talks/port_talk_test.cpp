// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/port_talk.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "launcher/frames/big_endian.hpp"
#include "tests/catch.hpp"
#include "tests/contains.hpp"

using namespace train;
using train::testing::contains;

namespace {

enum PortSaid : unsigned char { opens = 1, bytes = 2, ends = 3, takes = 4, resets = 5 };

std::string frame(unsigned char said, std::uint32_t connection, std::string_view rest = {}) {
  std::string payload(1, static_cast<char>(said));
  append_big_endian(payload, connection, 4);
  return encode_frame(FrameKind::output, payload.append(rest));
}

std::string number(std::uint32_t value) {
  std::string text;
  append_big_endian(text, value, 4);
  return text;
}

// What `to` hears of `from` now, in words: "opened 1", "bytes 1 abc", "end 1", "reset 1 why".
std::vector<std::string> hear(PortTalk& to, const std::string& said) {
  constexpr const char* names[] = {"opened", "bytes", "end", "reset"};
  std::vector<std::string> heard;
  to.feed(said);
  while (true) {
    const auto event = to.next();
    if (!event) {
      heard.push_back("error " + event.error().diagnostics.front().message);
      return heard;
    }
    if (!*event) return heard;
    heard.push_back(std::string(names[static_cast<int>((*event)->kind)]) + " " +
                    std::to_string((*event)->connection));
    if (!(*event)->payload.empty()) heard.back() += " " + std::string((*event)->payload);
  }
}
std::vector<std::string> pass(PortTalk& from, PortTalk& to) { return hear(to, from.take_frames()); }

using Words = std::vector<std::string>;

struct Pair {
  PortTalk here{PortTalk::Side::opens};
  PortTalk there{PortTalk::Side::answers};
};

}  // namespace

TEST_CASE("a connection passes bytes both ways, and is over when both sides have ended it") {
  Pair pair;
  CHECK(pair.here.open() == 1);
  pair.here.send(1, "question");
  pair.here.end(1);
  CHECK(pass(pair.here, pair.there) == Words{"opened 1", "bytes 1 question", "end 1"});
  pair.there.send(1, "answer");
  pair.there.took(1, 8);
  pair.there.end(1);
  CHECK(pair.there.is_open(1));  // its bytes are not taken yet
  CHECK(pass(pair.there, pair.here) == Words{"bytes 1 answer", "end 1"});
  pair.here.took(1, 6);
  CHECK(pair.here.is_open(1));  // until that is said
  CHECK(pass(pair.here, pair.there).empty());
  CHECK(pair.here.size() == 0);
  CHECK(pair.there.size() == 0);
}

TEST_CASE("a slow reader holds up its own connection alone") {
  Pair pair;
  pair.here.open();
  pair.here.open();
  CHECK(pair.here.room(1) == PortTalk::window);
  for (int piece = 0; piece < 4; ++piece)
    pair.here.send(1, std::string(PortTalk::longest_piece, 'x'));
  CHECK(pair.here.room(1) == 0);
  CHECK(pair.here.room(2) == PortTalk::window);
  pair.here.send(2, "other");
  CHECK(pass(pair.here, pair.there).size() == 2 + 4 + 1);  // four pieces
  pair.there.took(2, 5);
  CHECK(pass(pair.there, pair.here).empty());
  CHECK(pair.here.room(1) == 0);
  CHECK(pair.here.room(2) == PortTalk::window);
  // However often something is taken, that is said once.
  pair.there.took(1, 1);
  pair.there.took(1, 9);
  const std::string said = pair.there.take_frames();
  CHECK(said == frame(takes, 1, number(10)));
  CHECK(hear(pair.here, said).empty());
  CHECK(pair.here.room(1) == 10);
}

TEST_CASE("a reset says why, and what was on its way then is ignored") {
  Pair pair;
  pair.here.open();
  CHECK(pass(pair.here, pair.there) == Words{"opened 1"});
  pair.there.reset(1, "nothing answers");
  pair.here.send(1, "late");
  pair.here.end(1);
  CHECK(pass(pair.there, pair.here) == Words{"reset 1 nothing answers"});
  CHECK(pass(pair.here, pair.there).empty());
  CHECK(pair.here.size() == 0);
  CHECK(pair.there.size() == 0);
  // What is done with it afterwards, before anybody has noticed, says nothing.
  pair.here.send(1, "");
  pair.here.end(1);
  pair.here.took(1, 7);
  pair.here.reset(1);
  CHECK(pair.here.room(1) == 0);
  CHECK(pair.here.take_frames().empty());
  CHECK(pair.here.open() == 2);
  pair.here.reset(2, std::string(5'000, 'w'));
  CHECK(pass(pair.here, pair.there) == Words{"opened 2", "reset 2 " + std::string(1'024, 'w')});
}

TEST_CASE("what does not fit into a stream of connections is refused") {
  const std::string full(PortTalk::window - 20, 'x');
  struct Refused {
    std::string said;
    std::string did;
  };
  std::string many;
  for (std::uint32_t i = 1; i <= PortTalk::most_connections + 1; ++i) many += frame(opens, i);
  const std::vector<Refused> there = {
      {many, "opened more than 64 connections"},
      {frame(opens, 1) + frame(opens, 1), "opened connection 1"},
      {frame(opens, 0), "opened connection 0"},
      {frame(opens, 7) + frame(opens, 3), "opened connection 3"},
      {frame(bytes, 1, "x"), "spoke of connection 1, never opened"},
      {frame(resets, 1), "spoke of connection 1, never opened"},
      {frame(opens, 1) + frame(9, 1), "sent a frame that is not understood"},
      {frame(opens, 1) + frame(0, 1), "sent a frame that is not understood"},
      {frame(opens, 1) + frame(ends, 1) + frame(ends, 1), "ended connection 1 twice"},
      {frame(opens, 1) + frame(ends, 1) + frame(bytes, 1, "x"),
       "sent more of connection 1 than it may"},
      {frame(opens, 1) + frame(bytes, 1, full) + frame(bytes, 1, std::string(21, 'x')),
       "sent more of connection 1 than it may"},
      {frame(opens, 1) + frame(takes, 1, number(1)), "took what was not sent"},
      {frame(opens, 1) + frame(takes, 1, "x"), "took what was not sent"},
      {encode_frame(FrameKind::output, "\x01"), "sent a frame that is of no connection"},
      {encode_frame(FrameKind::control, frame(opens, 1)), "sent a frame that is of no connection"},
      {"train: this is no frame", "sent a frame of unknown kind"},
  };
  for (const Refused& each : there) {
    PortTalk talk(PortTalk::Side::answers);
    CHECK(contains(hear(talk, each.said).back(), "error " + each.did));
    // It stays unusable where the stream was cut, and never grows.
    CHECK(talk.size() <= PortTalk::most_connections);
  }
  PortTalk here(PortTalk::Side::opens);
  here.open();
  CHECK(contains(hear(here, frame(opens, 2)).back(), "opened connection 2"));
}

TEST_CASE("whatever comes in whatever order, each connection gets its own bytes", "[property]") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const auto below = [&](std::size_t limit) {
      return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
    };
    struct Side {
      explicit Side(PortTalk::Side which) : talk(which) {}
      PortTalk talk;
      std::string on_its_way;  // to the other side
      struct Known {
        std::string sent, got;
        std::size_t untaken = 0;
        bool has_ended = false, peer_has_ended = false, is_reset = false;
      };
      std::map<std::uint32_t, Known> known;
    };
    Side sides[2] = {Side(PortTalk::Side::opens), Side(PortTalk::Side::answers)};
    // A part of what is on its way arrives, cut anywhere.
    const auto deliver = [&](Side& from, Side& to, std::size_t most) {
      from.on_its_way += from.talk.take_frames();
      const std::size_t count = std::min(from.on_its_way.size(), most);
      to.talk.feed(std::string_view(from.on_its_way).substr(0, count));
      from.on_its_way.erase(0, count);
      while (true) {
        const auto event = to.talk.next();
        if (!event) FAIL(event.error().diagnostics.front().message);
        if (!*event) break;
        auto& it = to.known[(*event)->connection];
        it.got += (*event)->kind == PortEvent::Kind::bytes ? (*event)->payload : "";
        it.untaken += (*event)->kind == PortEvent::Kind::bytes ? (*event)->payload.size() : 0;
        REQUIRE(it.untaken <= PortTalk::window);
        if ((*event)->kind == PortEvent::Kind::end) it.peer_has_ended = true;
        if ((*event)->kind == PortEvent::Kind::reset) it.is_reset = true;
      }
      REQUIRE(sides[1].talk.size() <= PortTalk::most_connections);
    };
    const auto take = [&](Side& side, std::uint32_t connection, std::size_t most) {
      auto& it = side.known[connection];
      const std::size_t count = std::min(it.untaken, most);
      it.untaken -= count;
      side.talk.took(connection, count);
    };
    for (int step = 0; step < 2'000; ++step) {
      const std::size_t which = below(2);
      Side& side = sides[which];
      const std::size_t action = below(12);
      if (action < 4) deliver(side, sides[1 - which], 1 + below(200'000));
      if (action == 4 && which == 0 && side.talk.size() < PortTalk::most_connections)
        side.known[side.talk.open()];
      if (action <= 4 || side.known.empty()) continue;
      const auto at = std::next(side.known.begin(), static_cast<long>(below(side.known.size())));
      auto& [connection, it] = *at;
      if (action <= 7) {
        const std::size_t room = side.talk.room(connection);
        const std::string said(below(std::min(room, PortTalk::longest_piece) + 1),
                               static_cast<char>('a' + below(26)));
        side.talk.send(connection, said);
        if (room > 0) it.sent += said;
      } else if (action <= 9) {
        take(side, connection, 1 + below(100'000));
      } else if (action == 10) {
        side.talk.end(connection);
        it.has_ended = true;
      } else if (below(8) == 0) {
        if (side.talk.is_open(connection)) it.is_reset = true;
        side.talk.reset(connection);
      }
    }
    // At the end all is ended, arrives and is taken: nothing is left of it.
    for (int round = 0; round < 50; ++round)
      for (std::size_t which = 0; which < 2; ++which) {
        for (auto& [connection, it] : sides[which].known) {
          take(sides[which], connection, SIZE_MAX);
          sides[which].talk.end(connection);
        }
        deliver(sides[which], sides[1 - which], SIZE_MAX);
      }
    for (std::size_t which = 0; which < 2; ++which) {
      REQUIRE(sides[which].talk.size() == 0);
      for (const auto& [connection, it] : sides[which].known) {
        const auto& other = sides[1 - which].known[connection];
        const std::string_view sent = it.sent;
        REQUIRE(other.got == sent.substr(0, other.got.size()));
        if (!it.is_reset && !other.is_reset) REQUIRE(other.got == sent);
      }
    }
  }
}

TEST_CASE("a stream of connections that is changed anywhere is refused, or understood",
          "[property]") {
  for (unsigned seed = 0; seed < 1'000; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    std::string said = frame(opens, 1) + frame(bytes, 1, "hello") + frame(opens, 2) +
                       frame(ends, 1) + frame(resets, 2, "why") + frame(opens, 3) +
                       frame(bytes, 3, std::string(300, 'b'));
    for (int change = 0; change < 3; ++change)
      said[random() % said.size()] = static_cast<char>(random());
    PortTalk talk(PortTalk::Side::answers);
    const auto heard = hear(talk, said);
    REQUIRE(talk.size() <= 3);
    REQUIRE(heard.size() <= 8);
  }
}
