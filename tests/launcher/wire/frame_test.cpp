// SPDX-License-Identifier: Apache-2.0
#include "launcher/wire/frame.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("frames survive a stream that arrives byte by byte") {
  const std::string stream = encode_frame(FrameKind::control, "{}") +
                             encode_frame(FrameKind::output, std::string(1, '\0'));
  FrameDecoder decoder;
  std::vector<std::pair<FrameKind, std::string>> frames;
  for (const char byte : stream) {
    decoder.feed({&byte, 1});
    while (true) {
      auto frame = decoder.next();
      REQUIRE(frame);
      if (!*frame) break;
      frames.emplace_back((*frame)->kind, (*frame)->payload);
    }
  }
  REQUIRE(frames.size() == 2);
  CHECK(frames[0] == std::pair(FrameKind::control, std::string("{}")));
  CHECK(frames[1] == std::pair(FrameKind::output, std::string(1, '\0')));
}

TEST_CASE("an oversized frame is refused before its payload arrives") {
  FrameDecoder decoder;
  decoder.feed({"\x7f\xff\xff\xff\x01", 5});
  CHECK_FALSE(decoder.next());
  decoder.feed(encode_frame(FrameKind::control, "{}"));
  CHECK_FALSE(decoder.next());
}

TEST_CASE("a frame of unknown kind is refused") {
  FrameDecoder decoder;
  decoder.feed({"\0\0\0\0\x09", 5});
  CHECK_FALSE(decoder.next());
}
