// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_keys/held_keys.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "config_schema/text/terminal_text.hpp"

namespace train {

namespace {

// An agent that need not ask the user answers in milliseconds.
constexpr nanoseconds soon = std::chrono::seconds(2);
constexpr std::size_t longest_name = 200;

}  // namespace

struct HeldKeys::Pending {
  Request request;
  OnSigned on_signed;
  std::unique_ptr<Subscription> slow;
};

HeldKeys::Ticket HeldKeys::sign(Request request, OnSigned on_signed) {
  const auto pending = std::make_shared<Pending>();
  pending->request = std::move(request);
  pending->on_signed = std::move(on_signed);
  const std::weak_ptr<Pending> weak = pending;
  pending->slow = loop_.after(soon, [this, weak] {
    if (const auto waiting = weak.lock()) report_if_slow(waiting);
  });
  auto& holder = holders_[pending->request.key->holder()];
  if (!holder) holder = std::make_unique<Background>(loop_);
  // The thread gets copies: the request itself belongs to the loop, and is destroyed with its
  // ticket.
  const auto made = std::make_shared<std::optional<Result<std::string>>>();
  const Request& wanted = pending->request;
  const auto begun = holder->run(
      [weak, made, key = wanted.key, data = wanted.data, algorithm = wanted.algorithm] {
        if (!weak.expired()) *made = key->sign(data, algorithm);
      },
      [weak, made] {
        const auto waiting = weak.lock();
        if (!waiting || !*made) return;
        waiting->slow.reset();
        const auto told = waiting->on_signed;
        told(std::move(**made));
      });
  if (!begun)
    loop_.post([weak, error = begun.error()] {
      if (const auto waiting = weak.lock()) waiting->on_signed(tl::make_unexpected(error));
    });
  return pending;
}

void HeldKeys::report_if_slow(const std::shared_ptr<Pending>& pending) {
  const Request& request = pending->request;
  if (!print_ || !told_.insert(request.key->origin()).second) return;
  print_(fmt::format("waiting for {} to sign for {}: confirm it where ssh-agent asks",
                     printable(request.key->origin(), longest_name), request.host));
}

}  // namespace train
