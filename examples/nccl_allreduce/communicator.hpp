// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstddef>
#include <string>
#include <utility>

#include "examples/nccl_allreduce/gpu.hpp"
#include "examples/nccl_allreduce/rendezvous.hpp"
#include "examples/nccl_allreduce/result.hpp"

namespace nccl_allreduce {

/// The job's own NCCL, found when the program runs: only what every version of NCCL 2 has.
struct Nccl {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclGetLastError) last_error = nullptr;  // null before NCCL 2.13
  int version = 0;                                   // 22809 is 2.28.9

  /// `file` as dlopen takes it.
  static Result<Nccl> load(const std::string& file);
  /// What a call has come to; `doing` completes "cannot ...".
  Status status(ncclResult_t result, const std::string& doing) const;
  std::string version_text() const;
  /// What rank 0 hands out.
  Result<Token> make_token() const;
};

/// All ranks, as NCCL has brought them together. Calls of NCCL may hang when a peer is lost: the
/// watchdog is for that. What NCCL itself notices, `wait` returns at once.
class Communicator {
 public:
  /// Returns when all ranks have joined. `nccl` must outlive the communicator.
  static Result<Communicator> join(const Nccl& nccl, const Token& token, int rank, int world_size);
  Communicator(Communicator&& other) noexcept
      : nccl_(other.nccl_), handle_(std::exchange(other.handle_, nullptr)) {}
  Communicator& operator=(Communicator&&) = delete;
  /// Aborts what was not left.
  ~Communicator();

  /// Puts an all-reduce on the stream of the GPU.
  Status all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                    ncclRedOp_t operation, const Gpu& gpu);
  /// Waits until all before the end mark of the GPU is done, or NCCL says that a peer was lost.
  Status wait(Gpu& gpu);
  /// Leaves in good order, when nothing is on the stream any more.
  Status leave();

 private:
  Communicator(const Nccl& nccl, ncclComm_t handle) : nccl_(nccl), handle_(handle) {}

  const Nccl& nccl_;
  ncclComm_t handle_;
};

}  // namespace nccl_allreduce
