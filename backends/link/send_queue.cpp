// SPDX-License-Identifier: Apache-2.0
#include "backends/link/send_queue.hpp"

#include "launcher/bootstrap/bootstrap_command.hpp"

namespace train {

void SendQueue::push(std::string bytes) { push(SharedBytes(std::move(bytes))); }

void SendQueue::push(SharedBytes bytes) {
  if (bytes.bytes.empty()) return;
  size_ += bytes.bytes.size();
  pieces_.push_back(std::move(bytes));
}

void SendQueue::push_upload(const AgentBinary& agent) {
  push(upload_header(agent.packed.bytes.size(), agent.size, agent.sha256));
  push(agent.packed);
}

std::string_view SendQueue::front() const {
  if (pieces_.empty()) return {};
  return pieces_.front().bytes.substr(offset_);
}

void SendQueue::consume(std::size_t count) {
  offset_ += count;
  size_ -= count;
  if (pieces_.empty() || offset_ < pieces_.front().bytes.size()) return;
  pieces_.pop_front();
  offset_ = 0;
}

void SendQueue::clear() {
  pieces_.clear();
  offset_ = 0;
  size_ = 0;
}

}  // namespace train
