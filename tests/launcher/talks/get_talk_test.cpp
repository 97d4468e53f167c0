// SPDX-License-Identifier: Apache-2.0
#include "launcher/talks/get_talk.hpp"

#include "tests/catch.hpp"

using namespace train;
using get_talk::Kind;

namespace {

// As it is after the other side has taken the frame off.
Result<GetMessage> sent(const GetMessage& message) {
  FrameDecoder decoder(FrameSender::agent);
  decoder.feed(encode_get(message));
  const auto frame = decoder.next();
  REQUIRE(frame);
  REQUIRE(*frame);
  CHECK((*frame)->kind == FrameKind::control);
  return decode_get((*frame)->payload);
}

get_talk::Found file_of(std::uint64_t size) { return {Kind::file, "/out/model.pt", 0644, size}; }
const get_talk::Found folder{Kind::folder, "/out", 0755, 0};
get_talk::Entry entry(Kind kind, std::uint64_t size = 0) { return {kind, "x", 0, size, {}}; }

// What a host says, in order: messages, and amounts of content. The last one is not what comes
// next.
using Said = std::variant<GetMessage, std::size_t>;
bool is_refused_at_its_end(const std::vector<Said>& all) {
  GetOrder order;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto* message = std::get_if<GetMessage>(&all[i]);
    const auto taken = message != nullptr ? order.take(*message)
                                          : order.take_content(std::get<std::size_t>(all[i]));
    const bool is_last = i + 1 == all.size();
    if (taken.has_value() == is_last) return false;
    if (!taken && taken.error().error_class != ErrorClass::host) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("what is said of files arrives as it was said") {
  const std::string longest(longest_get_path, '\x01');
  for (const GetMessage& message : std::vector<GetMessage>{
           get_talk::Start{"out", "", true}, get_talk::Start{"/a\xff\n", "/srv", false},
           get_talk::Taken{INT64_MAX}, get_talk::Alive{}, file_of(INT64_MAX), folder,
           get_talk::Found{Kind::folder, longest, 0777, 0, {"7/1.5", std::string(64, '\x01')}},
           get_talk::Entry{Kind::file, "a\nb \xfe", 0, 7, {}},
           get_talk::Entry{Kind::folder, std::string(255, 'n'), 0750, 0, {}},
           get_talk::Entry{Kind::link, "latest", 0, 0, "/../../\xff"}, get_talk::FileEnd{true},
           get_talk::FileEnd{false}, get_talk::FolderEnd{},
           get_talk::Trouble{longest, "is a socket", false}, get_talk::Trouble{"/x", longest, true},
           get_talk::End{}, get_talk::End{"no", ""}, get_talk::End{longest, longest}}) {
    const auto back = sent(message);
    REQUIRE(back);
    CHECK(*back == message);
  }
}

TEST_CASE("what no host says of files is refused") {
  for (const char* bad :
       {"", "[]", "7", R"({"type":"soul"})", R"({"type":"taken","bytes":-1})",
        R"({"type":"start","path":"","directory":"","in_context":false})",
        R"({"type":"start","path":{"hex":"6100"},"directory":"","in_context":false})",
        R"({"type":"found","kind":"link","path":"/x","mode":0,"size":0,"born":"","changed":""})",
        R"({"type":"found","kind":"folder","path":"/x","mode":0,"size":1,"born":"","changed":""})",
        R"({"type":"found","kind":"folder","path":"/x","mode":0,"size":0,"born":""})",
        R"({"type":"entry","kind":"file","name":"x","mode":2541,"size":0})",
        R"({"type":"entry","kind":"file","name":"x","mode":0,"size":-1})",
        R"({"type":"entry","kind":"device","name":"x","mode":0})",
        R"({"type":"entry","kind":"link","name":"x","target":""})",
        R"({"type":"entry","kind":"link","name":"x","target":{"hex":"00"}})",
        R"({"type":"file_end"})", R"({"type":"end","refusal":"","hint":""})"}) {
    CAPTURE(bad);
    const auto refused = decode_get(bad);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().error_class == ErrorClass::host);
  }
}

TEST_CASE("a name that leads out of its folder is none") {
  for (const char* name : {"", ".", "..", "/", "a/b", "../a", "/etc"}) {
    CAPTURE(name);
    CHECK_FALSE(is_entry_name(name));
    get_talk::Entry entry{Kind::folder, name, 0755, 0, {}};
    CHECK_FALSE(sent(entry));
  }
  CHECK_FALSE(is_entry_name(std::string_view("a\0b", 3)));
  CHECK_FALSE(is_entry_name(std::string(256, 'n')));
  for (const char* name : {"...", "..a", "-rf", "a\nb", "\xff", " "}) CHECK(is_entry_name(name));
}

TEST_CASE("a file is told from others by when it was made, or else changed") {
  using get_talk::Identity;
  CHECK(is_same({"7/1.5", "7/2.0"}, Identity{"7/1.5", "7/3.0"}));
  CHECK_FALSE(is_same({"7/1.5", "7/2.0"}, Identity{"7/1.6", "7/2.0"}));
  CHECK(is_same({"", "7/2.0"}, Identity{"7/1.5", "7/2.0"}));
  CHECK_FALSE(is_same({"", "7/2.0"}, Identity{"7/1.5", "7/3.0"}));
  CHECK_FALSE(is_same({"", ""}, Identity{"", ""}));
  CHECK_FALSE(is_same({"7/1.5", ""}, Identity{"", "7/2.0"}));
}

TEST_CASE("what has not come whole has a name that is told from all others") {
  CHECK(is_get_part(get_part_name(0)));
  CHECK(is_get_part(get_part_name(UINT64_MAX)));
  for (const char* name : {"", ".train-get.", ".train-get.0123", ".train-get.0123456789abcdeg",
                           "train-get.0123456789abcdef", ".train-get.0123456789abcdef0"})
    CHECK_FALSE(is_get_part(name));
}

TEST_CASE("a file is as long as it was said to be, and over when its host says so") {
  GetOrder order;
  CHECK(order.take(file_of(5)));
  CHECK(order.take_content(2));
  CHECK(order.take(get_talk::Alive{}));
  CHECK(order.take_content(3));
  CHECK(order.take(get_talk::FileEnd{true}));
  CHECK_FALSE(order.is_over());
  CHECK(order.take(get_talk::End{}));
  CHECK(order.is_over());

  using namespace get_talk;
  CHECK(is_refused_at_its_end({file_of(5), std::size_t{6}}));
  CHECK(is_refused_at_its_end({file_of(5), std::size_t{0}}));
  CHECK(is_refused_at_its_end({file_of(5), std::size_t{4}, FileEnd{true}}));
  const Trouble why{"/out/model.pt", "cannot be read", true};
  CHECK(is_refused_at_its_end({file_of(5), std::size_t{4}, why, FileEnd{false}, std::size_t{1}}));
  CHECK(is_refused_at_its_end({file_of(5), std::size_t{5}, why, FileEnd{true}}));
  CHECK(is_refused_at_its_end({file_of(5), std::size_t{4}, FileEnd{false}}));
  CHECK(is_refused_at_its_end(
      {folder, why, entry(Kind::file, 1), Trouble{"/x", "is a socket", false}, FileEnd{false}}));
  CHECK(is_refused_at_its_end({file_of(0), FileEnd{true}, FileEnd{true}}));
  CHECK(is_refused_at_its_end({file_of(0), FileEnd{true}, entry(Kind::file)}));
  CHECK(is_refused_at_its_end({file_of(5), std::size_t{4}, End{}}));
}

TEST_CASE("what is in a folder comes between its beginning and its end") {
  using namespace get_talk;
  CHECK(is_refused_at_its_end({std::size_t{1}}));
  CHECK(is_refused_at_its_end({entry(Kind::file)}));
  CHECK(is_refused_at_its_end({Trouble{"/x", "y", true}}));
  CHECK(is_refused_at_its_end({End{}}));
  CHECK(is_refused_at_its_end({folder, folder}));
  CHECK(is_refused_at_its_end({folder, End{}}));
  CHECK(is_refused_at_its_end({folder, End{"too late", ""}}));
  CHECK(is_refused_at_its_end({folder, FileEnd{true}}));
  CHECK(is_refused_at_its_end({folder, Start{"x", "", false}}));
  CHECK(is_refused_at_its_end({folder, Taken{1}}));
  CHECK(is_refused_at_its_end({folder, std::size_t{1}}));
  CHECK(is_refused_at_its_end({folder, entry(Kind::link), std::size_t{1}}));
  CHECK(is_refused_at_its_end({folder, entry(Kind::file, 1), entry(Kind::file)}));
  CHECK(is_refused_at_its_end({folder, entry(Kind::file, 1), FolderEnd{}}));
  CHECK(is_refused_at_its_end({folder, FolderEnd{}, FolderEnd{}}));
  CHECK(is_refused_at_its_end({folder, FolderEnd{}, entry(Kind::file)}));
  CHECK(is_refused_at_its_end({folder, entry(Kind::folder), FolderEnd{}, End{}}));
  CHECK(is_refused_at_its_end({folder, entry(Kind::folder), entry(Kind::file, 1), std::size_t{1},
                               FileEnd{true}, Trouble{"/x", "y", true}, entry(Kind::link),
                               FolderEnd{}, FolderEnd{}, End{}, End{}}));
  CHECK(is_refused_at_its_end({End{"why", ""}, folder}));
}

TEST_CASE("folders lie in each other to a bound") {
  std::vector<Said> said{GetMessage(folder)};
  for (int depth = 0; depth <= deepest_get_folder; ++depth)
    said.emplace_back(GetMessage(entry(Kind::folder)));
  CHECK(is_refused_at_its_end(said));
}
