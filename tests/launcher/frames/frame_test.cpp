// SPDX-License-Identifier: Apache-2.0
#include "launcher/frames/frame.hpp"

#include "tests/catch.hpp"

using namespace train;

TEST_CASE("frames survive a stream that arrives byte by byte") {
  const std::string stream = encode_frame(FrameKind::control, "{}") +
                             encode_frame(FrameKind::output, std::string(1, '\0'));
  FrameDecoder decoder(FrameSender::launcher);
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
  FrameDecoder decoder(FrameSender::launcher);
  decoder.feed({"\x7f\xff\xff\xff\x01", 5});
  CHECK_FALSE(decoder.next());
  decoder.feed(encode_frame(FrameKind::control, "{}"));
  CHECK_FALSE(decoder.next());
}

TEST_CASE("an agent may send less than the launcher") {
  const std::string most = encode_frame(FrameKind::control, std::string(256u << 10, ' '));
  const std::string more = encode_frame(FrameKind::control, std::string((256u << 10) + 1, ' '));
  for (const FrameSender sender : {FrameSender::launcher, FrameSender::agent}) {
    FrameDecoder decoder(sender);
    decoder.feed(most);
    const auto first = decoder.next();
    REQUIRE((first && *first));
    decoder.feed(std::string_view(more).substr(0, 5));
    CHECK(decoder.next().has_value() == (sender == FrameSender::launcher));
  }
}

TEST_CASE("a frame of unknown kind is refused") {
  FrameDecoder decoder(FrameSender::launcher);
  decoder.feed({"\0\0\0\0\x09", 5});
  CHECK_FALSE(decoder.next());
}
