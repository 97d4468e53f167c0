// SPDX-License-Identifier: Apache-2.0
#include "backends/local/local_transport.hpp"

#include <errno.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "backends/local/own_addresses.hpp"
#include "backends/posix/connected_process.hpp"
#include "backends/posix/files.hpp"
#include "backends/process/children.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

using namespace std::chrono_literals;

constexpr size_t read_size = size_t{64} << 10;
constexpr int reads_per_wake_up = 16;  // then other descriptors have their turn
constexpr size_t longest_errors = size_t{4} << 10;
// How long the process may normally run after the end of the stream.
constexpr auto end_limit = 2s;

// The process outlives this one, so that the agent still receives the last bytes.
ProgramCall call_of(const std::vector<std::string>& command) {
  ProgramCall call{command.front(), command, {}, OnParentEnd::go_on};
  call.environment = environment_texts();
  return call;
}

// "exit status 3", "signal 9"; the status is -1 when the process was collected elsewhere.
std::string describe_end(const ExitStatus& end) {
  return end.signal ? fmt::format("signal {}", *end.signal)
                    : fmt::format("exit status {}", end.code.value_or(-1));
}

// Complete at once, because the link is open before the agent sends anything.
LinkInfo info_of(const Host& host) {
  const std::vector<InterfaceAddress> addresses = interface_addresses();
  return {.address = "127.0.0.1",
          .transport = "local",
          .own_address = declared_address(host, addresses),
          .likely_own_address = only_address(addresses)};
}

// The state of a link. Callbacks of the loop hold it weakly, or only while they run. After each
// call to the owner, the code checks whether the link was destroyed.
class LinkState : public std::enable_shared_from_this<LinkState> {
 public:
  LinkState(Loop& loop, std::shared_ptr<Children> children, LinkInfo info, LinkEvents events)
      : loop_(loop),
        children_(std::move(children)),
        info_(std::move(info)),
        events_(std::move(events)) {}
  ~LinkState() { end(); }
  LinkState(const LinkState&) = delete;
  LinkState& operator=(const LinkState&) = delete;

  void start(const std::vector<std::string>& command) {
    auto started = start_connected(call_of(command));
    if (!started) {
      post([why = started.error()](LinkState& link) { link.close(why); });
      return;
    }
    process_ = std::move(*started);
    children_->add(process_.pid, std::move(process_.pidfd),
                   [weak = weak_from_this()](const ExitStatus& child_end) {
                     if (const auto link = weak.lock()) link->on_child_end(child_end);
                   });
    post([](LinkState& link) { link.begin(); });
  }

  void send(std::string bytes) {
    if (ended_ || !can_send_) return;
    if (unsent_.empty())
      unsent_ = std::move(bytes);
    else
      unsent_ += bytes;
    if (is_open_ && !writable_) flush();
  }

  size_t unsent_bytes() const { return unsent_.size() - sent_; }

  // Ends everything; no events follow.
  void end() {
    ended_ = true;
    close_stream();
    stderr_readable_.reset();
    timer_.reset();
    process_.errors.reset();
    if (process_.pid >= 0) children_->forget(std::exchange(process_.pid, -1));
  }

 private:
  template <class Action>
  void post(Action action) {
    loop_.post([weak = weak_from_this(), action = std::move(action)] {
      const auto link = weak.lock();
      if (link && !link->ended_) action(*link);
    });
  }

  void begin() {
    is_open_ = true;
    readable_ =
        loop_.when_readable(process_.stream.get(), [this] { keep_alive(&LinkState::read); });
    stderr_readable_ =
        loop_.when_readable(process_.errors.get(), [this] { keep_alive(&LinkState::read_errors); });
    const auto on_open = events_.on_open;
    if (on_open) on_open(info_);
    if (!ended_ && !writable_) flush();
  }

  // The link may be destroyed inside one of its callbacks.
  void keep_alive(void (LinkState::*action)()) {
    const auto self = shared_from_this();
    (this->*action)();
  }

  void read() {
    std::array<char, read_size> buffer;
    for (int i = 0; i < reads_per_wake_up && !ended_; ++i) {
      const ssize_t count = read_some(process_.stream.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) return on_stream_end();
      const auto on_bytes = events_.on_bytes;
      if (on_bytes) on_bytes({buffer.data(), static_cast<size_t>(count)});
    }
  }

  void read_errors() {
    std::array<char, 4096> buffer;
    for (int i = 0; i < reads_per_wake_up && process_.errors; ++i) {
      const ssize_t count = read_some(process_.errors.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        stderr_readable_.reset();
        process_.errors.reset();
        return;
      }
      const size_t room = longest_errors - error_text_.size();
      error_text_.append(buffer.data(), std::min(room, static_cast<size_t>(count)));
    }
  }

  void flush() {
    while (sent_ < unsent_.size()) {
      const ssize_t count = uninterrupted([this] {
        return ::send(process_.stream.get(), unsent_.data() + sent_, unsent_.size() - sent_,
                      MSG_NOSIGNAL);
      });
      if (count < 0 && errno == EAGAIN) return await_room();
      if (count < 0) return stop_sending();  // the end of the stream reports it to the owner
      sent_ += static_cast<size_t>(count);
    }
    unsent_.clear();
    sent_ = 0;
    writable_.reset();
  }

  void await_room() {
    unsent_.erase(0, sent_);
    sent_ = 0;
    if (!writable_)
      writable_ =
          loop_.when_writable(process_.stream.get(), [this] { keep_alive(&LinkState::flush); });
  }

  void stop_sending() {
    can_send_ = false;
    writable_.reset();
    unsent_.clear();
    sent_ = 0;
  }

  void close_stream() {
    readable_.reset();
    stop_sending();
    process_.stream.reset();
  }

  void on_stream_end() {
    close_stream();
    has_stream_ended_ = true;
    close_or_wait();
  }

  void on_child_end(const ExitStatus& child_end) {
    process_.pid = -1;
    child_end_ = child_end;
    if (!ended_) close_or_wait();
  }

  void close_or_wait() {
    if (has_stream_ended_ && child_end_) return close(reason());
    if (!timer_)
      timer_ = loop_.after(end_limit, [this] {
        const auto self = shared_from_this();
        close(reason());
      });
  }

  Error reason() {
    read_errors();
    std::string what = "the agent ended the connection";
    if (!child_end_)
      what = "the agent's connection broke, but its process goes on";
    else if (child_end_->code != 0)
      what = fmt::format("the connection to the agent failed ({})", describe_end(*child_end_));
    // The first line names the problem, the others what to do.
    std::vector<std::string> lines;
    for (const std::string_view line : split(error_text_, '\n'))
      if (const std::string_view words = trim(line); !words.empty()) lines.emplace_back(words);
    if (lines.empty()) return make_error(ErrorClass::host, what);
    what += ": " + lines.front();
    lines.erase(lines.begin());
    return with_hints(make_error(ErrorClass::host, what), std::move(lines));
  }

  void close(const Error& why) {
    const auto on_closed = events_.on_closed;
    end();
    if (on_closed) on_closed(why);
  }

  Loop& loop_;
  std::shared_ptr<Children> children_;
  LinkInfo info_;
  LinkEvents events_;
  ConnectedProcess process_;
  std::unique_ptr<Subscription> readable_;
  std::unique_ptr<Subscription> writable_;  ///< only while something is queued
  std::unique_ptr<Subscription> stderr_readable_;
  std::unique_ptr<Subscription> timer_;
  std::string unsent_;
  size_t sent_ = 0;  ///< bytes of `unsent_` that were sent
  std::string error_text_;
  std::optional<ExitStatus> child_end_;
  bool is_open_ = false;
  bool can_send_ = true;
  bool has_stream_ended_ = false;
  bool ended_ = false;
};

class LocalLink final : public HostLink {
 public:
  explicit LocalLink(std::shared_ptr<LinkState> state) : state_(std::move(state)) {}
  ~LocalLink() override { state_->end(); }
  LocalLink(const LocalLink&) = delete;
  LocalLink& operator=(const LocalLink&) = delete;

  void send(std::string bytes) override { state_->send(std::move(bytes)); }
  std::size_t unsent_bytes() const override { return state_->unsent_bytes(); }

 private:
  std::shared_ptr<LinkState> state_;
};

}  // namespace

LocalTransport::LocalTransport(Loop& loop, std::vector<std::string> command,
                               std::vector<std::string> attach_options)
    : loop_(loop),
      command_(std::move(command)),
      attach_options_(std::move(attach_options)),
      children_(std::make_shared<Children>(loop, Children::Rest::goes_on)) {}

LocalTransport::~LocalTransport() = default;

std::unique_ptr<HostLink> LocalTransport::open(const Host& host, const AgentCall& call,
                                               LinkEvents events) {
  std::vector<std::string> command = command_;
  command.insert(command.end(), {to_string(call.verb), call.key});
  if (call.verb == AgentCall::Verb::attach)
    command.insert(command.end(), attach_options_.begin(), attach_options_.end());
  auto state = std::make_shared<LinkState>(loop_, children_, info_of(host), std::move(events));
  state->start(command);
  return std::make_unique<LocalLink>(std::move(state));
}

}  // namespace train
