// SPDX-License-Identifier: Apache-2.0
#include "backends/control/control_client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "backends/control/control_socket.hpp"

namespace train {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

tl::unexpected<Error> no_answer(milliseconds limit) {
  return fail(ErrorClass::busy,
              fmt::format("the supervisor of the task has not answered for {} ms", limit.count()),
              "it may be stopped (SIGSTOP), or its machine is overloaded");
}

tl::unexpected<Error> unusable(const std::string& why) {
  return fail(ErrorClass::host, "the supervisor of the task cannot be talked to: " + why);
}

// Whether the error says that the peer has closed the connection.
bool is_end(int error) { return error == ECONNRESET || error == EPIPE; }

}  // namespace

Result<std::optional<ControlClient>> ControlClient::connect(const std::string& path,
                                                            milliseconds limit) {
  auto socket = connect_to(path);
  if (!socket) return tl::make_unexpected(socket.error());
  if (!*socket) return std::optional<ControlClient>();
  if (!is_of_this_user(socket->get()))
    return fail(ErrorClass::no_input,
                fmt::format("the socket '{}' belongs to a process of another user", path));
  ControlClient client(std::move(*socket));
  const auto line = client.read_line(limit);
  if (!line) return tl::make_unexpected(line.error());
  if (!*line) return std::optional<ControlClient>();
  auto greeting = decode_greeting(**line);
  if (!greeting) return tl::make_unexpected(greeting.error());
  client.greeting_ = std::move(*greeting);
  if (client.greeting_.version != control_version)
    return fail(ErrorClass::no_input,
                fmt::format("the supervisor of the task is a train {} and speaks version {} over "
                            "its socket; this one speaks {}",
                            client.greeting_.program, client.greeting_.version, control_version),
                "use the train that launched it");
  return std::optional<ControlClient>(std::move(client));
}

// A request is much smaller than the buffer of a socket, so one `send` takes all of it.
Result<std::optional<ControlAnswer>> ControlClient::ask(const ControlRequest& request,
                                                        milliseconds limit) {
  const std::string line = encode_control_request(request);
  const ssize_t count =
      uninterrupted([&] { return ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL); });
  if (count < 0 && is_end(errno)) return std::optional<ControlAnswer>();
  if (count < 0) return unusable(system_reason(errno));
  if (static_cast<std::size_t>(count) < line.size()) return unusable("it takes no more");
  const auto heard = read_line(limit);
  if (!heard) return tl::make_unexpected(heard.error());
  if (!*heard) return std::optional<ControlAnswer>();
  auto answer = decode_answer(**heard);
  if (!answer) return tl::make_unexpected(answer.error());
  return std::optional(std::move(*answer));
}

// Returns nothing when the connection has ended.
Result<std::optional<std::string>> ControlClient::read_line(milliseconds limit) {
  const auto deadline = steady_clock::now() + limit;
  while (true) {
    if (const auto end = heard_.find('\n'); end != heard_.npos) {
      std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return std::optional(std::move(line));
    }
    if (heard_.size() > longest_control_answer) return unusable("it says too much");
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
    if (left <= milliseconds(0)) return no_answer(limit);
    pollfd waited{socket_.get(), POLLIN, 0};
    const auto patience = std::min<milliseconds::rep>(left.count(), 60'000);
    if (::poll(&waited, 1, static_cast<int>(patience)) <= 0) continue;
    char buffer[64 << 10];
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count == 0 || (count < 0 && is_end(errno))) return std::optional<std::string>();
    if (count < 0 && errno != EAGAIN && errno != EINTR) return unusable(system_reason(errno));
    if (count > 0) heard_.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace train
