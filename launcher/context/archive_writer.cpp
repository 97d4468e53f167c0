// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/archive_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
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
    // Names are bytes, whatever the encoding of the file system they come from.
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

}  // namespace train
