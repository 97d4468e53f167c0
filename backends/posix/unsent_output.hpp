// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace train {

/// Whether a call that failed with this errno value may succeed later: a non-blocking descriptor
/// has nothing, or takes nothing, now, or a signal came.
bool is_passing(int error);

/// Calls that would wait fail from now on, for all who share the open file.
void make_nonblocking(int fd);

/// What is on its way to the reader of a non-blocking descriptor.
class UnsentOutput {
 public:
  /// The descriptor stays open as long as this object.
  explicit UnsentOutput(int fd) : fd_(fd) {}

  void add(std::string_view bytes) { bytes_ += bytes; }
  std::size_t size() const { return bytes_.size() - sent_; }
  bool is_empty() const { return size() == 0; }
  /// Writes as much as is taken now. False when nobody reads it any more.
  bool send_some();

 private:
  int fd_;
  std::string bytes_;
  std::size_t sent_ = 0;  ///< of `bytes_`
};

}  // namespace train
