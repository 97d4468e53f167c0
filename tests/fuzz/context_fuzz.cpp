// SPDX-License-Identifier: Apache-2.0
// What a host is sent to unpack, and what a directory says of itself. An input is read as an
// archive of a context, and as an ignore file whose last line is a path.
#include <algorithm>

#include "launcher/context/archive.hpp"
#include "launcher/context/ignore_rules.hpp"
#include "launcher/context/private_files.hpp"
#include "tests/fuzz/property.hpp"

using namespace train;
using fuzz::require;

namespace {

// Writes down again what it is told.
class Rewriter final : public ArchiveSink {
 public:
  std::string bytes;

  Result<void> begin(const ContextEntry& entry) override {
    require(is_context_path(entry.path), "a path stays inside", entry.path);
    if (entry.kind == ContextEntry::Kind::link)
      require(is_inside(entry.path, entry.target), "a link stays inside", entry.target);
    bytes += archive_header(entry);
    size_ = entry.size;
    return {};
  }
  Result<void> content(std::string_view piece) override {
    bytes += piece;
    return {};
  }
  Result<void> end() override {
    bytes += archive_padding(size_);
    return {};
  }

 private:
  std::uint64_t size_ = 0;
};

// What was read of an archive that comes in pieces of that size, and whether all of it was.
std::pair<std::string, bool> read_archive(std::string_view archive, std::size_t piece) {
  Rewriter rewriter;
  ArchiveReader reader(rewriter);
  while (!archive.empty()) {
    const auto fed = reader.feed(archive.substr(0, piece));
    if (!fed) fuzz::check_error(fed.error(), ErrorClass::host, {});
    if (!fed) return {rewriter.bytes, false};
    archive.remove_prefix(std::min(piece, archive.size()));
  }
  return {rewriter.bytes, reader.finish().has_value()};
}

void check_archive(std::string_view archive) {
  const auto read = read_archive(archive, archive.size() + 1);
  require(read_archive(archive, 1).second == read.second, "an archive reads the same in bytes");
  require(read_archive(archive, 500) == read || !read.second,
          "an archive reads the same in pieces");
  if (read.second)
    require(read.first + archive_end() == archive, "an archive is the one that would be written");
}

void check_rules(std::string_view text) {
  const std::size_t last = text.rfind('\n') + 1;
  IgnoreRules rules;
  rules.add(text.substr(0, last), "");
  const std::size_t before = rules.size();
  const std::string_view path = text.substr(last);
  if (!is_context_path(path)) return;
  const bool is_ignored = rules.ignores(path, false);
  rules.add("!*\n", "");
  require(!rules.ignores(path, false), "the last rule counts", path);
  rules.shrink(before);
  require(rules.ignores(path, false) == is_ignored, "rules can be taken back", path);
  require(!is_private_file(path) || !warning_of_private_files({std::string(path)}).empty(),
          "a private file is warned of", path);
  rules.add_last("!*\n");
  rules.add("*\n", "");
  require(!rules.ignores(path, false), "rules that count last do", path);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const fuzz::CpuLimit limit;
  check_archive(bytes);
  check_rules(bytes);
  return 0;
}
