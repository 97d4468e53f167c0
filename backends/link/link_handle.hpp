// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "backends/link/setup_window.hpp"
#include "launcher/ports/transport.hpp"

namespace train {

/// The owner's handle of a link. Destroying it closes the link, which may live on until one of its
/// callbacks has returned. `Link` has `send` for shared bytes, `unsent_bytes`, `is_asking` and
/// `close`.
template <class Link>
class LinkHandle final : public HostLink {
 public:
  explicit LinkHandle(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  ~LinkHandle() override { link_->close(); }
  LinkHandle(const LinkHandle&) = delete;
  LinkHandle& operator=(const LinkHandle&) = delete;

  void send(std::string bytes) override {
    link_->send(std::make_shared<const std::string>(std::move(bytes)));
  }
  void send_shared(const std::shared_ptr<const std::string>& bytes) override { link_->send(bytes); }
  std::size_t unsent_bytes() const override { return link_->unsent_bytes(); }
  bool is_asking() const override { return link_->is_asking(); }

 private:
  std::shared_ptr<Link> link_;
};

/// Starts the link when the window has room for it, unless it is closed or destroyed by then.
template <class Link>
void start_in(SetupWindow& window, const std::string& server, const std::shared_ptr<Link>& link,
              SetupWindow::Turn turn = SetupWindow::Turn::last) {
  const auto start = [weak = std::weak_ptr(link)] {
    const auto waiting = weak.lock();
    if (!waiting || waiting->is_closed()) return false;
    waiting->start();
    return true;
  };
  window.enqueue(server, start, turn);
}

}  // namespace train
