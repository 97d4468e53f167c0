// SPDX-License-Identifier: Apache-2.0
#include "backends/lease/task_ticket.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "backends/lease/host_mutex.hpp"
#include "backends/lease/living_files.hpp"
#include "backends/posix/files.hpp"
#include "backends/posix/proc.hpp"
#include "launcher/wire/ticket_fields.hpp"

namespace train {

namespace {

void add_tickets(const LeaseFolder& folder,
                 const std::function<std::string(std::int64_t uid)>& user_name_of,
                 std::vector<Ticket>& tickets) {
  const std::int64_t now = unix_time_ms();
  read_living_files(folder, ticket_prefix, longest_ticket_record,
                    [&](const LivingFile& file, std::string_view text) {
                      auto record = decode_ticket(text);
                      if (!record) return false;
                      Ticket& ticket = record->ticket;
                      ticket.uid = file.uid;
                      ticket.user = user_name_of(ticket.uid);
                      ticket.is_own_user = file.uid == std::int64_t{::getuid()};
                      ticket.waited_ms = std::max<std::int64_t>(0, now - record->since_ms);
                      ticket.created_ns = created_ns(file.descriptor);
                      tickets.push_back(std::move(ticket));
                      return true;
                    });
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

// Needs no mutex: a task that takes leases meanwhile was there before. The mutex is only tried, to
// remove dead files, which other tasks can do as well.
Result<TaskTicket> TaskTicket::make(const LeaseFolder& folder, const std::string& key,
                                    const Ticket& ticket) {
  if (const auto mutex = HostMutex::lock(folder, std::chrono::milliseconds(0)))
    remove_dead_files(folder);
  // Writes the text later: the time of arrival is the creation time of the file.
  const std::string stem = fmt::format("{}{}-{}", ticket_prefix, ::getuid(), key);
  auto file = LeaseFile::make_record(folder, stem, "");
  if (!file) return tl::make_unexpected(file.error());
  TaskTicket made(folder, std::move(*file));
  struct stat status {};
  if (::fstat(made.file_.descriptor(), &status) != 0)
    return tl::make_unexpected(made.not_written(errno));
  made.arrived_ns_ = created_ns(made.file_.descriptor());
  constexpr std::int64_t second = 1'000'000'000;
  if (made.arrived_ns_ == 0)
    made.arrived_ns_ = std::int64_t{status.st_ctim.tv_sec} * second + status.st_ctim.tv_nsec;
  if (auto written = made.write(ticket); !written) return tl::make_unexpected(written.error());
  return made;
}

TaskTicket::~TaskTicket() {
  // Does not remove a file that another process has made under that name since.
  if (file_ && is_there())
    (void)::unlinkat(folder_.folder.get(), (folder_.prefix + file_.name(folder_)).c_str(), 0);
}

Error TaskTicket::not_written(int error) const {
  return make_error(ErrorClass::host,
                    fmt::format("cannot say in '{}/{}{}' who waits for slots: {}", folder_.path,
                                folder_.prefix, file_.name(folder_), system_reason(error)));
}

Result<void> TaskTicket::write(const Ticket& ticket) {
  TicketRecord record{ticket, unix_time_ms() - ticket.waited_ms};
  if (!ticket.is_final) record.ticket.order = {arrived_ns_, arrived_ns_, ticket.order.task};
  record.ticket.waited_ms = 0;
  const std::string text = encode_ticket(record);
  // Overwrites the old text with one write, then cuts off the rest of a longer old text.
  if (const int error = write_whole_at(file_.descriptor(), text, 0); error != 0)
    return tl::make_unexpected(not_written(error));
  if (::ftruncate(file_.descriptor(), static_cast<off_t>(text.size())) != 0)
    return tl::make_unexpected(not_written(errno));
  return {};
}

}  // namespace train
