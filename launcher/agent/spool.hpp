// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config_schema/text/error.hpp"
#include "launcher/wire/output_chunk.hpp"

namespace train {

using SpooledChunks = std::vector<std::shared_ptr<OutputChunk>>;

/// What the output queue of an agent asks to be done with its file on the host's disk, in this
/// order. Blocks are numbered 1, 2, ...
namespace spool_work {
/// Make the file, if there is none yet. Answer with Opened.
struct Open {
  std::uint64_t limit = 0;  ///< bytes that it may take at most
};
/// Write these chunks into the `size` bytes from `offset` on. The chunks are only read. Answer with
/// Written.
struct Write {
  std::uint64_t block = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  ///< at least what they cost
  SpooledChunks chunks;
};
/// Read a block back. Answer with Read.
struct Read {
  std::uint64_t block = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};
/// These bytes are no longer needed: their room on the disk is given back.
struct Release {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};
/// The same for the whole file.
struct Clear {};
}  // namespace spool_work

using SpoolWork = std::variant<spool_work::Open, spool_work::Write, spool_work::Read,
                               spool_work::Release, spool_work::Clear>;

namespace spool_answer {
struct Opened {
  std::uint64_t limit = 0;  ///< bytes that the file may take in fact; 0: there is no file
};
struct Written {
  std::uint64_t block = 0;
  bool is_kept = false;  ///< else there was no room, or the disk is in trouble
};
struct Read {
  std::uint64_t block = 0;
  bool is_whole = false;  ///< false: the bytes are not those that were written
  SpooledChunks chunks;
};
}  // namespace spool_answer

using SpoolAnswer = std::variant<spool_answer::Opened, spool_answer::Written, spool_answer::Read>;

/// Encodes chunks for the spool, in at most as many bytes as the chunks cost (`cost_of`).
std::string encode_spooled(const SpooledChunks& chunks);
/// Decodes them. An error if the bytes were changed; bytes after the chunks are ignored.
Result<SpooledChunks> decode_spooled(std::string_view bytes);

}  // namespace train
