// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace train {

/// Whether a call that failed with this errno value may succeed later: a non-blocking descriptor is
/// not ready, or a signal came.
bool is_passing(int error);

/// Makes the open file non-blocking, for all processes that share it.
void make_nonblocking(int fd);

/// Output that waits for the reader of a non-blocking descriptor.
class UnsentOutput {
 public:
  /// The descriptor must stay open as long as this object exists.
  explicit UnsentOutput(int fd) : fd_(fd) {}

  void add(std::string_view bytes) { bytes_ += bytes; }
  std::size_t size() const { return bytes_.size() - sent_; }
  bool is_empty() const { return size() == 0; }
  /// Writes as much as the descriptor takes now. False when the descriptor has failed, such as when
  /// its reader is gone.
  bool send_some();

 private:
  int fd_;
  std::string bytes_;
  std::size_t sent_ = 0;  ///< of `bytes_`
};

}  // namespace train
