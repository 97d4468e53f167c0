// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "backends/link/agent_binary.hpp"

namespace train {

/// Bytes to be sent to a host, in order. Queues may share bytes.
class SendQueue {
 public:
  void push(std::string bytes);
  void push(SharedBytes bytes);
  /// Pushes the answer to a host that asked for the agent: `upload_header`, then the packed bytes,
  /// which are not copied.
  void push_upload(const AgentBinary& agent);

  bool empty() const { return pieces_.empty(); }
  std::size_t size() const { return size_; }  ///< in bytes
  /// The next bytes; empty only when the queue is empty.
  std::string_view front() const;
  /// Removes `count` bytes from the beginning of `front`.
  void consume(std::size_t count);
  void clear();

 private:
  std::deque<SharedBytes> pieces_;
  std::size_t offset_ = 0;  ///< in the first piece
  std::size_t size_ = 0;
};

}  // namespace train
