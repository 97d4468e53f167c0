// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "examples/nccl_allreduce/result.hpp"

namespace nccl_allreduce {

/// What rank 0 gives to all others: the bytes of its ncclUniqueId.
using Token = std::array<char, 128>;

/// Who meets whom, and for how long.
struct Meeting {
  std::string address;  // where rank 0 listens: a numeric address, or a name
  int port = 0;
  int rank = 0;
  int world_size = 1;
  std::uint64_t job = 0;  // digest_of what must be the same for all: task, attempt, flags
  std::uint32_t nccl_version = 0;
  std::chrono::milliseconds limit{60'000};
};

/// FNV-1a, 64 bits: tells jobs apart, and keeps no secret.
std::uint64_t digest_of(const std::string& text);

// The protocol, over one TCP connection for each rank but 0, integers in network order:
//
//   hello,  28 bytes:  "TRNCCL1?", job (8), world size (4), rank (4), NCCL version (4)
//   answer, 16 + n:    "TRNCCL1!", 0 welcome or 1 refused (4), n (4, at most 512), and as n bytes
//   the
//                      token, or a sentence that says why
//
// Rank 0 answers once all are there, or its time is over, or at once where it refuses. Who says
// anything else than a hello is hung up on, and who says nothing keeps nobody waiting. It is no
// protection against those who know the protocol, no more than torchrun's store is.

/// Rank 0's side: listens at the port (at the address alone where it is a numeric one of this
/// machine) until all other ranks have come, and gives them the token. Fails at the limit, with the
/// names of those that have not come; ranks that came are told as well.
Status hand_out(const Meeting& meeting, const Token& token);

/// The others' side: connects again and again until rank 0 is there, and waits for its answer. Its
/// limit is 5 s longer, so that rank 0, which knows who is missing, is the first to say so. The
/// resolver of names has limits of its own.
Result<Token> fetch(const Meeting& meeting);

}  // namespace nccl_allreduce
