// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/last_words.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <exception>

#include "backends/posix/descriptor.hpp"
#include "launcher/wire/message.hpp"

namespace train {

namespace {

constexpr int exit_code_of_a_bug = 70;
constexpr int patience_milliseconds = 5'000;

std::atomic<int> told_connection{-1};

// Sends as much as the supervisor takes within some seconds: the process ends right after that.
void send_whole(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = uninterrupted(
        [&] { return ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    pollfd writable{socket, POLLOUT, 0};
    if ((errno != EAGAIN && errno != EWOULDBLOCK) ||
        ::poll(&writable, 1, patience_milliseconds) <= 0)
      return;
  }
}

[[noreturn]] void end_with_last_words() {
  report_fatal_error(reason_of_current_exception());
  ::_exit(exit_code_of_a_bug);
}

}  // namespace

std::string reason_of_current_exception() {
  try {
    if (std::current_exception()) throw;
    return "it was terminated";
  } catch (const std::bad_alloc&) {
    return "it is out of memory";
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an unknown exception";
  }
}

void report_uncaught_exceptions(int connection) {
  told_connection = connection;
  std::set_terminate(end_with_last_words);
}

void report_fatal_error(const std::string& reason) {
  const int connection = told_connection.exchange(-1);
  if (connection >= 0) send_whole(connection, frame_of(message::AgentFailed{reason}));
}

void report_failure(int listening_socket, const std::string& reason) {
  pollfd waiting{listening_socket, POLLIN, 0};
  if (::poll(&waiting, 1, patience_milliseconds) <= 0) return;
  const Descriptor connection(::accept4(listening_socket, nullptr, nullptr, SOCK_CLOEXEC));
  if (connection) send_whole(connection.get(), frame_of(message::AgentFailed{reason}));
}

}  // namespace train
