// SPDX-License-Identifier: Apache-2.0
#include "launcher/connections/host_question.hpp"

#include <utility>

namespace train {

HostQuestion::HostQuestion(Transport& transport, const Host& host, const AgentCall& call,
                           std::size_t longest,
                           std::function<void(Result<std::string_view>)> on_answer,
                           const std::string& request)
    : longest_(longest), on_answer_(std::move(on_answer)) {
  LinkEvents events;
  events.on_open = [](const LinkInfo&) {};
  events.on_bytes = [this](std::string_view bytes) { received(bytes); };
  events.on_closed = [this](const Error& why) { answer(tl::make_unexpected(why)); };
  link_ = transport.open(host, call, std::move(events));
  if (!request.empty()) link_->send(request);
}

void HostQuestion::received(std::string_view bytes) {
  if (is_answered_) return;
  text_.feed(bytes);
  if (const auto line = text_.next())
    answer(*line);
  else if (text_.rest().size() > longest_)
    answer(text_.rest());
}

void HostQuestion::answer(Result<std::string_view> what) {
  if (!std::exchange(is_answered_, true)) on_answer_(std::move(what));
}

}  // namespace train
