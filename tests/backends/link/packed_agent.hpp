// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <openssl/sha.h>
#include <zlib.h>

#include <array>
#include <stdexcept>

#include "backends/link/agent_binary.hpp"

namespace train::testing {

/// A program as an agent that travels.
inline AgentBinary packed_agent(const std::string& program) {
  AgentBinary agent;
  agent.size = program.size();
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(program.data()), program.size(), digest.data());
  agent.sha256 = fmt::format("{:02x}", fmt::join(digest, ""));
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  if (deflateInit2(&stream, 6, Z_DEFLATED, gzip_window, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  std::string packed(deflateBound(&stream, program.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(program.data()));
  stream.avail_in = static_cast<uInt>(program.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("zlib");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  agent.packed = SharedBytes(std::move(packed));
  return agent;
}

}  // namespace train::testing
