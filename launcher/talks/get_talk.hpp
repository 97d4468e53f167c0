// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "config_schema/text/error.hpp"
#include "launcher/frames/frame.hpp"
#include "launcher/ports/clock.hpp"

namespace train {

// What is said over a connection to `agent get` (`AgentCall::Verb::get`), in frames: first a
// get_talk::Start, then from the host what it has found, and last a get_talk::End. Whoever asked
// for it ends it by closing the connection.
//
// A folder is sent as its entries one after the other, each with all that is in it, and a
// FolderEnd; a file as its content in frames of kind `output`, none of them empty, and a FileEnd.
// Neither side holds more than `get_window` of it.

namespace get_talk {

/// To the host: what is wanted.
struct Start {
  std::string path;         ///< of a file or folder; absolute, or below `directory`
  std::string directory;    ///< in which the rank started
  bool in_context = false;  ///< that is relative to the task's copy of its context
  bool operator==(const Start&) const = default;
};
/// To the host: so many bytes of frames, with their headers, were taken from it since the
/// beginning. It sends at most `get_window` more.
struct Taken {
  std::uint64_t bytes = 0;
  bool operator==(const Taken&) const = default;
};
/// A sign of life: from the asker every few seconds, and from the host in answer. Whoever hears
/// nothing for `longest_get_silence` takes the other one for gone.
struct Alive {
  bool operator==(const Alive&) const = default;
};

enum class Kind { file, folder, link };
std::string_view to_string(Kind kind);

/// What tells a file or folder from all others, also to another machine that has the same file
/// system: its number, with a time of it that does not come twice. Empty: not known.
struct Identity {
  std::string born = {};     ///< with the time when it was made; some file systems keep none
  std::string changed = {};  ///< with the time of its last change
  bool operator==(const Identity&) const = default;
};
bool is_same(const Identity& one, const Identity& other);

/// From the host, first: what is there.
struct Found {
  Kind kind = Kind::file;  ///< never a link: that is followed
  std::string path;        ///< absolute
  unsigned mode = 0;       ///< at most 0777, as everywhere here
  std::uint64_t size = 0;  ///< of a file
  Identity identity = {};
  bool operator==(const Found&) const = default;
};
/// From the host: the next thing in the folder that is open.
struct Entry {
  Kind kind = Kind::file;
  std::string name;  ///< `is_entry_name`
  unsigned mode = 0;
  std::uint64_t size = 0;  ///< of a file
  std::string target;      ///< of a link, wherever it leads
  bool operator==(const Entry&) const = default;
};
/// From the host: the file that is open is over.
struct FileEnd {
  bool is_whole = true;  ///< else a Trouble has just said why, and what came is worth nothing
  bool operator==(const FileEnd&) const = default;
};
/// From the host: the folder that is open is over.
struct FolderEnd {
  bool operator==(const FolderEnd&) const = default;
};
/// From the host: something that is not sent.
struct Trouble {
  std::string path;      ///< absolute
  std::string why;       ///< "is a socket", "cannot be read: permission denied"
  bool is_loss = false;  ///< it should have been; else it is of a kind that cannot travel
  bool operator==(const Trouble&) const = default;
};
/// From the host, last: all was sent, or nothing, and why.
struct End {
  std::string refusal = {};
  std::string hint = {};  ///< of a refusal
  bool operator==(const End&) const = default;
};

}  // namespace get_talk

using GetMessage = std::variant<get_talk::Start, get_talk::Taken, get_talk::Alive, get_talk::Found,
                                get_talk::Entry, get_talk::FileEnd, get_talk::FolderEnd,
                                get_talk::Trouble, get_talk::End>;

inline constexpr milliseconds get_alive_period{5'000};
inline constexpr milliseconds longest_get_silence{30'000};
inline constexpr std::uint64_t get_window = std::uint64_t{8} << 20;
/// The longest piece of a file in one frame.
inline constexpr std::size_t longest_get_piece = max_output_payload;
/// The longest path that is said; of one that is longer, the end.
inline constexpr std::size_t longest_get_path = 4'096;
/// Folders within folders, and entries in all.
inline constexpr int deepest_get_folder = 256;
inline constexpr std::uint64_t most_get_entries = 10'000'000;

/// What a folder may have in it: not empty, "." or "..", no '/' and no NUL, at most 255 bytes.
bool is_entry_name(std::string_view name);

/// The name of what has not come whole yet, beside where it will be. A host leaves such things out:
/// it may be the machine on which they are made.
std::string get_part_name(std::uint64_t random_bits);
bool is_get_part(std::string_view name);

/// As a frame of kind `control`.
std::string encode_get(const GetMessage& message);
/// The payload of one; class `host` when it is none.
Result<GetMessage> decode_get(std::string_view payload);

/// Bytes that a frame with this payload takes on the wire, as `Taken` counts them.
std::uint64_t get_frame_size(std::string_view payload);

/// Checks that what a host says comes in an order that makes sense: nothing before Found, an entry
/// only in a folder, content only in a file and as much as was announced, no file that is not whole
/// without a word of why, nothing after End.
class GetOrder {
 public:
  /// Class `host` when nobody says that now.
  Result<void> take(const GetMessage& message);
  Result<void> take_content(std::size_t bytes);
  /// The host has said End.
  bool is_over() const { return is_over_; }

 private:
  Result<void> begin(get_talk::Kind kind, std::uint64_t size);

  bool has_found_ = false;
  bool is_over_ = false;
  bool is_file_open_ = false;
  std::uint64_t left_ = 0;           ///< of that file
  bool is_file_in_trouble_ = false;  ///< it was said why that file does not come whole
  int open_folders_ = 0;
  std::uint64_t entries_ = 0;
};

}  // namespace train
