// SPDX-License-Identifier: Apache-2.0
#include "backends/ssh_session/ssh_channel.hpp"

#include <libssh2.h>

namespace train {

namespace {

constexpr int output_stream = 0;

long count_of(ssize_t result) {
  if (result >= 0) return result;
  return result == LIBSSH2_ERROR_EAGAIN ? 0 : -1;
}

}  // namespace

Progress SshChannel::execute(const std::string& command) {
  return progress_of(libssh2_channel_process_startup(channel_, "exec", 4, command.data(),
                                                     static_cast<unsigned>(command.size())));
}

long SshChannel::read(Stream stream, char* buffer, std::size_t size) {
  return count_of(libssh2_channel_read_ex(channel_, static_cast<int>(stream), buffer, size));
}

bool SshChannel::take_arrivals() {
  char nothing = 0;
  return count_of(libssh2_channel_read_ex(channel_, output_stream, &nothing, 0)) >= 0;
}

bool SshChannel::can_read() const {
  unsigned long queued = 0;
  libssh2_channel_window_read_ex(channel_, &queued, nullptr);
  return queued > 0 || at_end();
}

long SshChannel::write(std::string_view bytes) {
  return count_of(libssh2_channel_write(channel_, bytes.data(), bytes.size()));
}

bool SshChannel::has_room() const { return libssh2_channel_window_write_ex(channel_, nullptr) > 0; }

bool SshChannel::at_end() const { return libssh2_channel_eof(channel_) == 1; }

Progress SshChannel::wait_closed() { return progress_of(libssh2_channel_wait_closed(channel_)); }

RemoteExit SshChannel::exit() const {
  RemoteExit exit;
  exit.status = libssh2_channel_get_exit_status(channel_);
  char* signal = nullptr;
  std::size_t size = 0;
  if (libssh2_channel_get_exit_signal(channel_, &signal, &size, nullptr, nullptr, nullptr,
                                      nullptr) == 0 &&
      signal)
    exit.signal.assign(signal, size);
  if (signal) libssh2_free(session_, signal);
  return exit;
}

Progress SshChannel::close() { return progress_of(libssh2_channel_free(channel_)); }

Progress progress_of(int code) {
  if (code == 0) return Progress::done;
  return code == LIBSSH2_ERROR_EAGAIN ? Progress::wait : Progress::failed;
}

}  // namespace train
