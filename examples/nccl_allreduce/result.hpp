// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace nccl_allreduce {

/// How the program ends; the numbers are those of sysexits.h, as `train` has them.
enum class ExitCode {
  success = 0,
  failed = 1,        // CUDA, NCCL, a peer, or a wrong sum
  usage = 64,        // flags or variables that make no sense
  unavailable = 69,  // no driver, no GPU, no NCCL, too little memory
};

/// Why something is not to be had: what happened, and behind a colon or semicolon what to do next.
struct Failure {
  std::string message;
  ExitCode code = ExitCode::failed;
};

/// A value, or why there is none.
template <typename T = std::monostate>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::move(value)) {}
  Result(Failure failure) : held_(std::move(failure)) {}

  explicit operator bool() const { return std::holds_alternative<T>(held_); }
  T& operator*() { return std::get<T>(held_); }
  T* operator->() { return &std::get<T>(held_); }
  const Failure& failure() const { return std::get<Failure>(held_); }

 private:
  std::variant<T, Failure> held_;
};

/// Of what has no value.
using Status = Result<>;
inline Status done() { return std::monostate(); }

}  // namespace nccl_allreduce
