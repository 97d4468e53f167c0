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

// The protocol of a connection to `agent get` (`AgentCall::Verb::get`), in frames: first a
// get_talk::Start, then from the host what it has found, and last a get_talk::End. The client ends
// the transfer by closing the connection.
//
// A folder is sent as its entries in sequence, each with all its contents, and a FolderEnd. A file
// is sent as its content in frames of kind `output`, none of them empty, and a FileEnd. Neither
// side holds more than `get_window` of it.

namespace get_talk {

/// To the host: the file or folder to send.
struct Start {
  std::string path;         ///< of a file or folder; absolute, or below `directory`
  std::string directory;    ///< the working directory of the rank
  bool in_context = false;  ///< `directory` is relative to the task's copy of its context
  bool operator==(const Start&) const = default;
};
/// To the host: this many bytes of its frames, headers included, were consumed since the beginning.
/// The host sends at most `get_window` more.
struct Taken {
  std::uint64_t bytes = 0;
  bool operator==(const Taken&) const = default;
};
/// A heartbeat: from the client every few seconds, and from the host in answer. A side that hears
/// nothing for `longest_get_silence` considers the other one gone.
struct Alive {
  bool operator==(const Alive&) const = default;
};

enum class Kind { file, folder, link };
std::string_view to_string(Kind kind);

/// Identifies a file or folder, also for another machine with the same file system: its number,
/// with a time stamp that does not occur twice. Empty: not known.
struct Identity {
  std::string born = {};     ///< with the time of its creation; some file systems do not keep it
  std::string changed = {};  ///< with the time of its last change
  bool operator==(const Identity&) const = default;
};
bool is_same(const Identity& one, const Identity& other);

/// From the host, first: what was found.
struct Found {
  Kind kind = Kind::file;  ///< never a link: links are followed
  std::string path;        ///< absolute
  unsigned mode = 0;       ///< at most 0777, as everywhere here
  std::uint64_t size = 0;  ///< of a file
  Identity identity = {};
  bool operator==(const Found&) const = default;
};
/// From the host: the next entry of the open folder.
struct Entry {
  Kind kind = Kind::file;
  std::string name;  ///< `is_entry_name`
  unsigned mode = 0;
  std::uint64_t size = 0;  ///< of a file
  std::string target;      ///< of a link, which may lead anywhere
  bool operator==(const Entry&) const = default;
};
/// From the host: the open file ends.
struct FileEnd {
  bool is_whole = true;  ///< false: a Trouble has just said why, and the content is worthless
  bool operator==(const FileEnd&) const = default;
};
/// From the host: the open folder ends.
struct FolderEnd {
  bool operator==(const FolderEnd&) const = default;
};
/// From the host: something that is not sent.
struct Trouble {
  std::string path;      ///< absolute
  std::string why;       ///< "is a socket", "cannot be read: permission denied"
  bool is_loss = false;  ///< it should have been sent; false: its kind cannot be sent
  bool operator==(const Trouble&) const = default;
};
/// From the host, last: everything was sent, or nothing, with the reason.
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
/// The longest path in a message; a longer one is cut to its end.
inline constexpr std::size_t longest_get_path = 4'096;
/// Limits of the depth of folders and of the number of entries.
inline constexpr int deepest_get_folder = 256;
inline constexpr std::uint64_t most_get_entries = 10'000'000;

/// A legal name of an entry: not empty, "." or "..", no '/' and no NUL, at most 255 bytes.
bool is_entry_name(std::string_view name);

/// The name of a file or folder while it is incomplete, beside its final place. A host does not
/// send things with such names: it may be the machine on which they are made.
std::string get_part_name(std::uint64_t random_bits);
bool is_get_part(std::string_view name);

/// Encodes a frame of kind `control`.
std::string encode_get(const GetMessage& message);
/// Decodes the payload of such a frame; class `host` if it is malformed.
Result<GetMessage> decode_get(std::string_view payload);

/// The size of a frame with this payload on the wire, as `Taken` counts it.
std::uint64_t get_frame_size(std::string_view payload);

/// Checks the order of a host's messages: nothing before Found, an entry only in a folder, content
/// only in a file and as much as was announced, no incomplete file without a Trouble, nothing after
/// End.
class GetOrder {
 public:
  /// Class `host` if this message is not allowed now.
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
  bool is_file_in_trouble_ = false;  ///< a Trouble has said why the file is incomplete
  int open_folders_ = 0;
  std::uint64_t entries_ = 0;
};

}  // namespace train
