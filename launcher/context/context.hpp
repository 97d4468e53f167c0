// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace train {

/// A directory of code that is sent to the hosts, named by its content: two with the same files,
/// modes and links have the same name, whenever and wherever they were packed.
struct Context {
  std::string sha256;      ///< of the archive (archive.hpp), lower-case hexadecimal
  std::uint64_t size = 0;  ///< of the archive, in bytes

  bool operator==(const Context&) const = default;
};

/// Limits of a context. Determined allows 95 MiB.
constexpr std::uint64_t largest_context = 100u << 20;  ///< bytes of all files
constexpr std::size_t most_context_entries = 100'000;
/// Including the headers of that many entries.
constexpr std::uint64_t largest_archive = 512u << 20;

/// A packed context is sent in pieces of this size, except the last one, which is smaller and may
/// be empty. A piece is small enough to pass a slow link between two heartbeats.
constexpr std::size_t context_piece_size = 16u << 10;
/// Limit of the bytes that are sent to a host before it confirms that it took them.
constexpr std::uint64_t context_window = 4u << 20;

/// 64 digits of lower-case hexadecimal, and a size within bounds.
bool is_well_formed(const Context& context);

/// One entry of a context.
struct ContextEntry {
  enum class Kind { folder, file, link };
  Kind kind = Kind::file;
  std::string path;        ///< bytes; see `is_context_path`
  unsigned mode = 0;       ///< permission bits; of a link 0777
  std::uint64_t size = 0;  ///< of a file
  std::string target;      ///< of a link; see `is_inside`

  bool operator==(const ContextEntry&) const = default;
};

/// A legal path in a context: parts between single slashes, none of them empty, "." or "..", at
/// most 255 bytes each, 4,000 in all and 128 parts; no NUL.
bool is_context_path(std::string_view path);

/// Whether a symbolic link at `path` stays inside of the context, by its text: relative, and at no
/// step above the context's own folder. An empty target does not.
bool is_inside(std::string_view path, std::string_view target);

/// The folder part of a path; empty for entries of the context's own folder.
std::string_view folder_of(std::string_view path);

}  // namespace train
