// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/communicator.hpp"

#include <dlfcn.h>

#include <chrono>
#include <cstring>
#include <thread>

namespace nccl_allreduce {

Result<Nccl> Nccl::load(const std::string& file) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return Failure{
        std::string("cannot load NCCL: ") + ::dlerror() +
            "; install it, or name the file with --nccl or its folder in LD_LIBRARY_PATH",
        ExitCode::unavailable};
  Nccl nccl;
  std::string missing;
  const auto find = [&](auto& function, const char* name) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) missing = name;
  };
  find(nccl.last_error, "ncclGetLastError");
  missing.clear();
  find(nccl.get_version, "ncclGetVersion");
  find(nccl.error_string, "ncclGetErrorString");
  find(nccl.get_unique_id, "ncclGetUniqueId");
  find(nccl.comm_init_rank, "ncclCommInitRank");
  find(nccl.comm_get_async_error, "ncclCommGetAsyncError");
  find(nccl.comm_abort, "ncclCommAbort");
  find(nccl.comm_destroy, "ncclCommDestroy");
  find(nccl.all_reduce, "ncclAllReduce");
  if (!missing.empty())
    return Failure{"'" + file + "' has no " + missing + ": name a libnccl.so.2 with --nccl",
                   ExitCode::unavailable};
  const auto asked = nccl.status(nccl.get_version(&nccl.version), "ask NCCL for its version");
  if (!asked) return asked.failure();
  return nccl;
}

Status Nccl::status(ncclResult_t result, const std::string& doing) const {
  if (result == ncclSuccess) return done();
  const char* const last = last_error != nullptr ? last_error(nullptr) : nullptr;
  std::string message = "cannot " + doing + ": NCCL says '" + error_string(result) + "'";
  if (last != nullptr && *last != '\0') message += std::string(" (") + last + ")";
  const bool is_peer = result == ncclRemoteError || result == ncclSystemError;
  return Failure{
      message +
      (is_peer ? "; see what the other ranks say first, and whether NCCL_SOCKET_IFNAME is right"
               : "; run again with NCCL_DEBUG=INFO to see why")};
}

std::string Nccl::version_text() const {
  if (version < 10'000)  // up to 2.8
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 100) + "." +
           std::to_string(version % 100);
  return std::to_string(version / 10'000) + "." + std::to_string(version % 10'000 / 100) + "." +
         std::to_string(version % 100);
}

Result<Token> Nccl::make_token() const {
  static_assert(sizeof(Token) == sizeof(ncclUniqueId));
  ncclUniqueId id{};
  const auto made = status(get_unique_id(&id), "make an id for the ranks to meet by");
  if (!made) return made.failure();
  Token token{};
  std::memcpy(token.data(), id.internal, token.size());
  return token;
}

Result<Communicator> Communicator::join(const Nccl& nccl, const Token& token, int rank,
                                        int world_size) {
  ncclUniqueId id{};
  std::memcpy(id.internal, token.data(), token.size());
  ncclComm_t handle = nullptr;
  const auto joined =
      nccl.status(nccl.comm_init_rank(&handle, world_size, id, rank), "join the other ranks");
  if (!joined) return joined.failure();
  return Communicator(nccl, handle);
}

Communicator::~Communicator() {
  if (handle_ != nullptr)
    (void)nccl_.comm_abort(handle_);  // something else has failed, and was said
}

Status Communicator::all_reduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                ncclRedOp_t operation, const Gpu& gpu) {
  return nccl_.status(nccl_.all_reduce(from, to, count, type, operation, handle_, gpu.stream()),
                      "start an all-reduce");
}

Status Communicator::wait(Gpu& gpu) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  for (;;) {
    auto is_done = gpu.is_done();
    if (!is_done) return is_done.failure();
    if (*is_done) return done();
    ncclResult_t error = ncclSuccess;
    if (auto asked =
            nccl_.status(nccl_.comm_get_async_error(handle_, &error), "ask NCCL how it is");
        !asked)
      return asked;
    if (auto is_well = nccl_.status(error, "finish an all-reduce"); !is_well) return is_well;
    // The time is read on the GPU: this takes nothing from it.
    if (Clock::now() - began > std::chrono::milliseconds(1))
      std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Status Communicator::leave() {
  return nccl_.status(nccl_.comm_destroy(std::exchange(handle_, nullptr)), "leave the other ranks");
}

}  // namespace nccl_allreduce
