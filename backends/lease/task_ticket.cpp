// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/task_ticket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "backends/lease/host_mutex.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "launcher/wire/ticket_fields.hpp"

namespace train {

namespace {

constexpr std::size_t most_read = 4'096;

// Of one that is being written anew a reader may see a half.
std::optional<TicketRecord> read_ticket(int file) {
  constexpr int tries = 3;
  constexpr std::chrono::milliseconds pause{1};
  for (int left = tries; left > 0; --left) {
    std::string text(longest_ticket_record + 1, '\0');
    const ssize_t size = read_whole_at(file, text.data(), text.size(), 0);
    if (size < 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(size));
    if (auto record = decode_ticket(text)) return std::move(*record);
    std::this_thread::sleep_for(pause);
  }
  return std::nullopt;
}

void add_tickets(const LeaseFolder& folder,
                 const std::function<std::string(std::int64_t uid)>& user_name_of,
                 std::vector<Ticket>& tickets) {
  const std::int64_t now = unix_time_ms();
  for (const std::string& each : names_in(folder)) {
    if (!each.starts_with(ticket_prefix) || tickets.size() >= most_read) continue;
    const LeaseFile file = LeaseFile::look(folder, each);
    if (!file || file.held_by_others(1).empty()) continue;  // of a task that was killed
    struct stat status {};
    auto record = read_ticket(file.descriptor());
    if (!record || ::fstat(file.descriptor(), &status) != 0) continue;
    Ticket& ticket = record->ticket;
    ticket.uid = status.st_uid;
    ticket.user = user_name_of(ticket.uid);
    ticket.is_own_user = status.st_uid == ::getuid();
    ticket.waited_ms = std::max<std::int64_t>(0, now - record->since_ms);
    tickets.push_back(std::move(ticket));
  }
}

}  // namespace

std::vector<Ticket> tickets_on(const LeaseFolder& folder,
                               const std::function<std::string(std::int64_t uid)>& user_name_of) {
  std::vector<Ticket> tickets;
  add_tickets(folder, user_name_of, tickets);
  if (const auto others = other_lease_folders(folder))
    for (const LeaseFolder& other : *others) add_tickets(other, user_name_of, tickets);
  std::sort(tickets.begin(), tickets.end(),
            [](const Ticket& a, const Ticket& b) { return a.order < b.order; });
  return tickets;
}

void remove_dead_files(const LeaseFolder& folder, const std::string& prefix) {
  const std::string ours = fmt::format("{}{}-", prefix, ::getuid());
  for (const std::string& each : names_in(folder)) {
    if (!each.starts_with(ours)) continue;
    const LeaseFile file = LeaseFile::look(folder, each);
    if (file && file.held_by_others(1).empty())
      (void)::unlinkat(folder.folder.get(), (folder.prefix + each).c_str(), 0);
  }
}

Result<TaskTicket> TaskTicket::make(const LeaseFolder& folder, const std::string& key,
                                    const Ticket& ticket) {
  const auto mutex = HostMutex::lock(folder);
  if (!mutex) return tl::make_unexpected(mutex.error());
  remove_dead_files(folder, std::string(ticket_prefix));
  std::string name = fmt::format("{}{}-{}", ticket_prefix, ::getuid(), key);
  auto file = LeaseFile::make_record(folder, name);
  if (!file) return tl::make_unexpected(file.error());
  TaskTicket made(folder, std::move(name), std::move(*file));
  struct stat status {};
  if (::fstat(made.file_.descriptor(), &status) != 0 || !made.file_.lock({0, 1}))
    return tl::make_unexpected(made.not_written(errno));
  constexpr std::int64_t second = 1'000'000'000;
  made.arrived_ns_ = std::int64_t{status.st_ctim.tv_sec} * second + status.st_ctim.tv_nsec;
  if (auto written = made.write(ticket); !written) return tl::make_unexpected(written.error());
  return made;
}

TaskTicket::~TaskTicket() {
  // Not what another process has made under that name since.
  if (file_ && is_there())
    (void)::unlinkat(folder_.folder.get(), (folder_.prefix + name_).c_str(), 0);
}

Error TaskTicket::not_written(int error) const {
  return make_error(ErrorClass::host,
                    fmt::format("cannot say in '{}/{}{}' who waits for slots: {}", folder_.path,
                                folder_.prefix, name_, system_reason(error)));
}

Result<void> TaskTicket::write(const Ticket& ticket) {
  TicketRecord record{ticket, unix_time_ms() - ticket.waited_ms};
  if (!ticket.is_final) record.ticket.order = {arrived_ns_, arrived_ns_, ticket.order.task};
  record.ticket.waited_ms = 0;
  const std::string text = encode_ticket(record);
  // One write, which a shorter one before is overwritten by; what was longer is cut then.
  if (const int error = write_whole_at(file_.descriptor(), text, 0); error != 0)
    return tl::make_unexpected(not_written(error));
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(text.size())) != 0)
    return tl::make_unexpected(not_written(errno));
  return {};
}

}  // namespace train
