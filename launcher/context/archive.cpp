// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <optional>
#include <string_view>

namespace train {
namespace {

constexpr std::size_t longest_field = 100;
constexpr std::size_t checksum_offset = 148;

char type_of(ContextEntry::Kind kind) {
  switch (kind) {
    case ContextEntry::Kind::folder:
      return '5';
    case ContextEntry::Kind::file:
      return '0';
    case ContextEntry::Kind::link:
      return '2';
  }
  return '0';
}

void put(std::string& block, std::size_t offset, std::string_view text) {
  std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(offset));
}

// The fields of the ustar header, by offset and length: name 0 100, mode 100 8, uid 108 8, gid 116
// 8, size 124 12, mtime 136 12, chksum 148 8, typeflag 156 1, linkname 157 100, magic 257 6,
// version 263 2.
std::string ustar(std::string_view name, unsigned mode, std::uint64_t size, char type,
                  std::string_view target) {
  std::string block(archive_block, '\0');
  put(block, 0, name.substr(0, longest_field));
  put(block, 100, fmt::format("{:07o}", mode));
  put(block, 108, "0000000");
  put(block, 116, "0000000");
  put(block, 124, fmt::format("{:011o}", size));
  put(block, 136, "00000000000");
  block[156] = type;
  put(block, 157, target.substr(0, longest_field));
  put(block, 257, std::string_view("ustar\00000", 8));
  // The checksum counts its own field as blanks.
  put(block, checksum_offset, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  put(block, checksum_offset, fmt::format("{:06o}", sum));
  block[checksum_offset + 6] = '\0';
  return block;
}

// "LENGTH KEY=VALUE\n", where the length counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (length != rest + fmt::formatted_size("{}", length))
    length = rest + fmt::formatted_size("{}", length);
  return fmt::format("{} {}={}\n", length, key, value);
}

}  // namespace

std::string archive_padding(std::uint64_t size) {
  return std::string((archive_block - size % archive_block) % archive_block, '\0');
}

std::string archive_header(const ContextEntry& entry) {
  assert(is_context_path(entry.path));
  std::string records;
  if (entry.path.size() > longest_field) records += pax_record("path", entry.path);
  if (entry.target.size() > longest_field) records += pax_record("linkpath", entry.target);
  std::string header;
  if (!records.empty()) {
    // Names are bytes, in whatever encoding their file system has.
    records = pax_record("hdrcharset", "BINARY") + records;
    header = ustar("././@PaxHeader", 0644, records.size(), 'x', "");
    header += records + archive_padding(records.size());
  }
  return header + ustar(entry.path, entry.mode, entry.size, type_of(entry.kind), entry.target);
}

std::string archive_end() { return std::string(2 * archive_block, '\0'); }

std::uint64_t archived_size(const ContextEntry& entry) {
  return archive_header(entry).size() + entry.size + archive_padding(entry.size).size();
}

namespace {

constexpr char long_names_type = 'x';
// Room for two paths, their keys, and the charset.
constexpr std::uint64_t longest_records = 16u << 10;

// Text up to a NUL or the end of the field.
std::string_view field(std::string_view block, std::size_t offset, std::size_t length) {
  const std::string_view whole = block.substr(offset, length);
  return whole.substr(0, whole.find('\0'));
}

std::optional<std::uint64_t> number(std::string_view digits, int base) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value, base);
  if (digits.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

bool is_zeros(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

// Removes the first record if it has this key, and returns its value.
std::optional<std::string> take_record(std::string_view& records, std::string_view key) {
  const std::size_t blank = records.find(' ');
  if (blank == records.npos) return std::nullopt;
  const auto length = number(records.substr(0, blank), 10);
  const std::size_t before = blank + 1 + key.size() + 1;
  if (!length || *length <= before || *length > records.size()) return std::nullopt;
  const std::string_view record = records.substr(0, *length);
  if (record.substr(blank + 1, key.size()) != key || record[before - 1] != '=') return std::nullopt;
  records.remove_prefix(*length);
  return std::string(record.substr(before, record.size() - before - 1));
}

std::optional<ContextEntry::Kind> kind_of(char type) {
  if (type == '5') return ContextEntry::Kind::folder;
  if (type == '0') return ContextEntry::Kind::file;
  if (type == '2') return ContextEntry::Kind::link;
  return std::nullopt;
}

}  // namespace

tl::unexpected<Error> ArchiveReader::refuse(std::string_view why) const {
  return fail(ErrorClass::host, fmt::format("not an archive of a context: {}", why));
}

Result<void> ArchiveReader::feed(std::string_view bytes) {
  while (!broken_ && !bytes.empty())
    if (auto done = step(bytes); !done) broken_ = done.error();
  if (broken_) return tl::make_unexpected(*broken_);
  return {};
}

Result<void> ArchiveReader::finish() {
  if (!broken_ && state_ != State::over) broken_ = refuse("it is cut off").value();
  if (broken_) return tl::make_unexpected(*broken_);
  return {};
}

Result<void> ArchiveReader::step(std::string_view& bytes) {
  switch (state_) {
    case State::header:
    case State::long_header:
      return collect(bytes, archive_block) ? take_header() : Result<void>();
    case State::long_names:
      return collect(bytes, records_size_ + archive_padding(records_size_).size())
                 ? take_long_names()
                 : Result<void>();
    case State::content:
      return take_content(bytes);
    case State::padding:
      return collect(bytes, archive_padding(entry_.size).size()) ? after_content() : Result<void>();
    case State::end:
      return collect(bytes, archive_end().size() - archive_block) ? take_end() : Result<void>();
    case State::over:
      break;
  }
  return refuse("it goes on after its end");
}

// True once `block_` holds that many bytes.
bool ArchiveReader::collect(std::string_view& bytes, std::size_t count) {
  const std::size_t more = std::min(count - block_.size(), bytes.size());
  block_ += bytes.substr(0, more);
  bytes.remove_prefix(more);
  return block_.size() == count;
}

Result<void> ArchiveReader::take_header() {
  const std::string block = std::exchange(block_, {});
  if (state_ == State::header && is_zeros(block)) {
    state_ = State::end;
    return {};
  }
  const auto size = number(field(block, 124, 12), 8);
  const auto mode = number(field(block, 100, 8), 8);
  if (!size || !mode || *mode > 0777) return refuse("a size or mode is no number");
  if (state_ == State::header && block[156] == long_names_type) {
    if (*size == 0 || *size > longest_records) return refuse("a name is too long");
    long_header_ = block;
    records_size_ = static_cast<std::size_t>(*size);
    state_ = State::long_names;
    return {};
  }
  const auto kind = kind_of(block[156]);
  if (!kind) return refuse("something that is neither folder, file nor link");
  ContextEntry entry = state_ == State::long_header ? std::move(long_names_) : ContextEntry();
  entry.kind = *kind;
  entry.mode = static_cast<unsigned>(*mode);
  entry.size = *size;
  if (entry.path.empty()) entry.path = field(block, 0, 100);
  if (entry.target.empty()) entry.target = field(block, 157, 100);
  long_header_ += block;
  return begin(std::move(entry));
}

Result<void> ArchiveReader::take_long_names() {
  long_header_ += block_;
  const std::string block = std::exchange(block_, {});
  std::string_view records = std::string_view(block).substr(0, records_size_);
  (void)take_record(records, "hdrcharset");  // the comparison of headers checks its presence
  long_names_ = {};
  if (auto path = take_record(records, "path")) long_names_.path = std::move(*path);
  if (auto target = take_record(records, "linkpath")) long_names_.target = std::move(*target);
  if (!records.empty()) return refuse("an unknown record");
  state_ = State::long_header;
  return {};
}

// The header must equal the one that its entry would be given, so that it has only one meaning.
Result<void> ArchiveReader::begin(ContextEntry entry) {
  const std::string header = std::exchange(long_header_, {});
  if (!is_context_path(entry.path)) return refuse("a path that leaves it");
  if (header != archive_header(entry)) return refuse("a header that is not in its usual form");
  const bool is_file = entry.kind == ContextEntry::Kind::file;
  const bool is_link = entry.kind == ContextEntry::Kind::link;
  if (!is_file && entry.size != 0) return refuse("content of something that has none");
  if (is_link ? !is_inside(entry.path, entry.target) : !entry.target.empty())
    return refuse("a link that leaves it");
  if (entries_ > 0 && entry.path <= last_path_) return refuse("its paths are not in order");
  const std::string_view folder = folder_of(entry.path);
  if (!folder.empty() && !folders_.contains(folder)) return refuse("a path below no folder");
  if (++entries_ > most_context_entries) return refuse("it has too many entries");
  if (entry.size > largest_context || content_sum_ + entry.size > largest_context)
    return refuse("it is too large");
  content_sum_ += entry.size;
  if (entry.kind == ContextEntry::Kind::folder) folders_.insert(entry.path);
  last_path_ = entry.path;
  entry_ = std::move(entry);
  left_ = entry_.size;
  if (auto begun = sink_.begin(entry_); !begun) return begun;
  if (left_ > 0) {
    state_ = State::content;
    return {};
  }
  return after_content();
}

Result<void> ArchiveReader::take_content(std::string_view& bytes) {
  const std::string_view piece =
      bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
  bytes.remove_prefix(piece.size());
  left_ -= piece.size();
  if (auto taken = sink_.content(piece); !taken) return taken;
  if (left_ > 0) return {};
  if (entry_.size % archive_block == 0) return after_content();
  state_ = State::padding;
  return {};
}

Result<void> ArchiveReader::after_content() {
  if (!is_zeros(block_)) return refuse("something between two files");
  block_.clear();
  state_ = State::header;
  return sink_.end();
}

Result<void> ArchiveReader::take_end() {
  if (!is_zeros(block_)) return refuse("something after its end");
  block_.clear();
  state_ = State::over;
  return {};
}

}  // namespace train
