// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "launcher/context/archive.hpp"
#include "tests/catch.hpp"

using namespace train;
using Kind = ContextEntry::Kind;

namespace {

struct Item {
  ContextEntry entry;
  std::string content;

  bool operator==(const Item&) const = default;
};

Item folder(std::string path) { return {{Kind::folder, std::move(path), 0755, 0, {}}, {}}; }
Item file(std::string path, std::string content, unsigned mode = 0644) {
  return {{Kind::file, std::move(path), mode, content.size(), {}}, content};
}
Item link_to(std::string path, std::string target) {
  return {{Kind::link, std::move(path), 0777, 0, std::move(target)}, {}};
}

std::string archived(const Item& item) {
  return archive_header(item.entry) + item.content + archive_padding(item.content.size());
}

std::string archive_of(const std::vector<Item>& items) {
  std::string bytes;
  for (const Item& item : items) bytes += archived(item);
  return bytes + archive_end();
}

class Collector final : public ArchiveSink {
 public:
  std::vector<Item> items;
  int open = 0;

  Result<void> begin(const ContextEntry& entry) override {
    ++open;
    items.push_back({entry, {}});
    return {};
  }
  Result<void> content(std::string_view bytes) override {
    items.back().content += bytes;
    return {};
  }
  Result<void> end() override {
    --open;
    return {};
  }
};

// The items of an archive that comes in pieces of that size; why not, if it is refused.
Result<std::vector<Item>> read_back(std::string_view bytes, std::size_t piece) {
  Collector collector;
  ArchiveReader reader(collector);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    if (auto fed = reader.feed(bytes.substr(0, piece)); !fed)
      return tl::make_unexpected(fed.error());
  if (auto finished = reader.finish(); !finished) return tl::make_unexpected(finished.error());
  CHECK(collector.open == 0);
  return std::move(collector.items);
}

std::string refusal_of(const std::string& bytes) {
  const auto read = read_back(bytes, 1'000);
  return read ? "" : read.error().diagnostics.front().message;
}

// A header with other bytes in it, and the checksum that belongs to them.
std::string forged(std::string header, std::size_t offset, std::string_view text) {
  header.replace(offset, text.size(), text);
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header.substr(0, 512)) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  header.replace(148, 6, digits, 6);
  header[154] = '\0';
  return header;
}

const std::string long_part(200, 'x');

std::vector<Item> many_kinds() {
  return {file("-rf", ""),
          file("a\nb", "newline"),
          folder("empty"),
          link_to("link", "src/main.py"),
          file("nul-free \xff\xfe", std::string("\0\1\2", 3)),
          folder("src"),
          file("src/block", std::string(512, 'b')),
          file("src/main.py", std::string(100'000, 'm')),
          link_to("src/up", "../link"),
          file("src/" + long_part, "long", 0755),
          link_to("src/" + long_part + "2", "../" + long_part + "/../" + long_part),
          link_to("z", ".")};
}

}  // namespace

TEST_CASE("an archive comes back as it was written, in pieces of any size") {
  const std::vector<Item> items = many_kinds();
  const std::string bytes = archive_of(items);
  std::uint64_t size = archive_end().size();
  for (const Item& item : items) size += archived_size(item.entry);
  CHECK(size == bytes.size());
  for (const std::size_t piece : {1u, 7u, 512u, 1'000u, 1u << 20}) {
    const auto read = read_back(bytes, piece);
    REQUIRE(read);
    CHECK(*read == items);
  }
}

TEST_CASE("an archive of nothing is legal") {
  const auto read = read_back(archive_end(), 3);
  REQUIRE(read);
  CHECK(read->empty());
}

TEST_CASE("an archive that is cut off anywhere is refused") {
  const std::string bytes = archive_of({folder("a"), file("a/b", "content"), link_to("c", "a/b")});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THAT(refusal_of(bytes.substr(0, size)), Catch::Contains("cut off"));
}

TEST_CASE("no byte of a header can be changed, but for those of a name") {
  const std::string bytes = archive_of({folder("some"), file("some/" + long_part, "x")});
  for (std::size_t at = 0; at < 512 * 4; ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    INFO("byte " << at);
    const auto read = read_back(changed, 1'000);
    CHECK((!read || read->back().entry.path != "some/" + long_part));
  }
}

TEST_CASE("what an archive must not hold is refused") {
  const std::string end = archive_end();
  const auto raw = [&end](ContextEntry entry) {
    // A path that the writer would not take stands in a forged header.
    const std::string path = std::exchange(entry.path, "p");
    std::string padded = path;
    padded.resize(std::max<std::size_t>(path.size(), 1), '\0');
    return forged(archive_header(entry), 0, padded) + end;
  };
  CHECK_THAT(refusal_of(raw({Kind::file, "../x", 0644, 0, {}})), Catch::Contains("leaves"));
  CHECK_THAT(refusal_of(raw({Kind::file, "/etc/x", 0644, 0, {}})), Catch::Contains("leaves"));
  CHECK_THAT(refusal_of(raw({Kind::file, "a/../../x", 0644, 0, {}})), Catch::Contains("leaves"));
  CHECK_THAT(refusal_of(raw({Kind::file, "./x", 0644, 0, {}})), Catch::Contains("leaves"));
  CHECK_THAT(refusal_of(raw({Kind::folder, "x/", 0755, 0, {}})), Catch::Contains("leaves"));
  CHECK_THAT(refusal_of(raw({Kind::file, "", 0644, 0, {}})), Catch::Contains("leaves"));
  for (const char* target : {"/etc/passwd", "../x", "a/../../x", ""})
    CHECK_FALSE(refusal_of(archived(link_to("x", target)) + end).empty());
  CHECK_FALSE(
      refusal_of(archived(link_to("x", std::string(150, 'a') + "/../../..")) + end).empty());
  CHECK_THAT(refusal_of(archived(file("a/x", "")) + end), Catch::Contains("below no folder"));
  CHECK_THAT(refusal_of(archived(link_to("a", "b")) + archived(file("a/x", "")) + end),
             Catch::Contains("below no folder"));
  CHECK_THAT(refusal_of(archived(file("a", "")) + archived(file("a/x", "")) + end),
             Catch::Contains("below no folder"));
  CHECK_THAT(refusal_of(archived(file("a", "")) + archived(file("a", "")) + end),
             Catch::Contains("order"));
  CHECK_THAT(refusal_of(archived(file("b", "")) + archived(file("a", "")) + end),
             Catch::Contains("order"));
  const std::string plain = archive_header(file("a", "").entry);
  for (const char type : {'1', '3', '4', '6', '7', 'g', 'L', 'S', '\0'})
    CHECK_FALSE(refusal_of(forged(plain, 156, std::string(1, type)) + end).empty());
  CHECK_FALSE(refusal_of(forged(plain, 100, "0004755") + end).empty());  // setuid
  CHECK_FALSE(refusal_of(forged(plain, 136, "00000000001") + end).empty());
  CHECK_FALSE(refusal_of(forged(plain, 124, "-0000000001") + end).empty());
  CHECK_FALSE(
      refusal_of(forged(archive_header(folder("a").entry), 124, "00000000001") + end).empty());
  CHECK_THAT(refusal_of(archive_of({}) + "x"), Catch::Contains("after its end"));
  CHECK_THAT(refusal_of(std::string(512, '\0') + std::string(512, 'x')),
             Catch::Contains("after its end"));
}

TEST_CASE("content beyond what a context may have is refused before it comes") {
  ContextEntry entry{Kind::file, "big", 0644, largest_context + 1, {}};
  CHECK_THAT(refusal_of(archive_header(entry)), Catch::Contains("too large"));
}

TEST_CASE("a link stays inside as it is written, or not") {
  for (const auto& [path, target] :
       std::vector<std::pair<const char*, const char*>>{{"a", "b"},
                                                        {"a", "."},
                                                        {"a/b", ".."},
                                                        {"a/b", "../c"},
                                                        {"a", "b/../c"},
                                                        {"a/b/c", "../.."}})
    CHECK(is_inside(path, target));
  for (const auto& [path, target] : std::vector<std::pair<const char*, const char*>>{
           {"a", ".."}, {"a", "/"}, {"a", "/b"}, {"a/b", "../.."}, {"a", "b/../../a"}, {"a", ""}})
    CHECK_FALSE(is_inside(path, target));
}

TEST_CASE("random bytes in an archive are never more than a refusal") {
  std::mt19937 random(7);
  const std::string good = archive_of(many_kinds());
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good.substr(0, 8'192);
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    CHECK_FALSE(refusal_of(bytes).empty());
  }
}
