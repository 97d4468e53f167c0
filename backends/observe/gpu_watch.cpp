// SPDX-License-Identifier: Apache-2.0
#include "backends/observe/gpu_watch.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include "backends/posix/files.hpp"
#include "backends/process/own_processes.hpp"
#include "backends/process/process_tree.hpp"

namespace train {

namespace {

constexpr std::size_t read_at_once = 16u << 10;

// Reads once. False if the stream has ended.
template <class Take>
bool read_from(const Descriptor& from, Take take) {
  char buffer[read_at_once];
  const ssize_t count = read_some(from.get(), buffer, sizeof buffer);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
  take(std::string_view(buffer, static_cast<std::size_t>(count)));
  return count > 0;
}

}  // namespace

GpuWatch::Reader::Reader(GpuWatch& watch, ConnectedProcess process)
    : watch_(watch), process_(std::move(process)) {
  watch_.own(process_.pid, std::move(process_.pidfd));
  readable_ = watch_.loop_.when_readable(process_.stream.get(), [this] { read(); });
  errors_readable_ = watch_.loop_.when_readable(process_.errors.get(), [this] { drop_errors(); });
}

GpuWatch::Reader::~Reader() { close(); }

std::vector<GpuUse> GpuWatch::Reader::uses() const {
  const bool is_known = is_open() && watch_.loop_.now() - at_ <= watch_.oldest_use_;
  return is_known ? uses_ : std::vector<GpuUse>();
}

// Nothing that it writes can be trusted once a line is too long or is none of its own.
void GpuWatch::Reader::read() {
  if (!read_from(process_.stream, [this](std::string_view bytes) { lines_.feed(bytes); }))
    return close();
  while (const auto line = lines_.next()) {
    auto uses = decode_gpu_uses(*line);
    if (!uses) return close();
    uses_ = std::move(*uses);
    at_ = watch_.loop_.now();
  }
  if (lines_.rest().size() > longest_gpu_uses) close();
}

// So that it does not wait for room: NVIDIA's library may write there.
void GpuWatch::Reader::drop_errors() {
  if (read_from(process_.errors, [](std::string_view) {})) return;
  errors_readable_.reset();
  process_.errors.reset();
}

void GpuWatch::Reader::close() {
  readable_.reset();
  errors_readable_.reset();
  process_.stream.reset();
  process_.errors.reset();
  if (const pid_t pid = std::exchange(process_.pid, -1); pid > 0) watch_.kill(pid);
}

std::shared_ptr<const GpuWatch::Reader> GpuWatch::reader() {
  if (auto reader = reader_.lock(); reader && reader->is_open()) return reader;
  if (!start_) return nullptr;
  Result<std::optional<ConnectedProcess>> started = std::nullopt;
  start_own_process([&] {
    started = start_(between_lines);
    return started && *started ? (*started)->pid : -1;
  });
  if (!started || !*started) return nullptr;
  auto reader = std::make_shared<const Reader>(*this, std::move(**started));
  reader_ = reader;
  return reader;
}

void GpuWatch::own(pid_t pid, Descriptor pidfd) {
  Process& process = processes_[pid];
  process.pidfd = std::move(pidfd);
  process.ended = loop_.when_readable(process.pidfd.get(), [this, pid] {
    collect_own_process(pid);
    processes_.erase(pid);
  });
}

void GpuWatch::kill(pid_t pid) const {
  if (processes_.contains(pid)) (void)signal_group(pid, SIGKILL);
}

}  // namespace train
