// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/xid_log.hpp"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <limits>

#include "backends/accelerator/gpu_files.hpp"
#include "backends/posix/descriptor.hpp"
#include "backends/posix/files.hpp"
#include "launcher/rendezvous/host_gpus.hpp"

namespace train {

namespace {

// The kernel has 8 KiB for a record, and keeps at most some 100,000 of them.
constexpr std::size_t longest_record = 8'192;
constexpr int most_records = 1'000'000;
constexpr std::size_t longest_bus = 32;

constexpr std::string_view before_bus = "NVRM: Xid (PCI:";

}  // namespace

// "4,1234,5678901,-;NVRM: Xid (PCI:0000:07:00): 79, pid=..., GPU has fallen off the bus.":
// priority, number, microseconds and flags, then the text (Documentation/ABI/testing/dev-kmsg).
std::optional<LoggedXid> xid_in(std::string_view record) {
  const std::string_view head = record.substr(0, record.find(';'));
  if (head.size() == record.size()) return std::nullopt;
  const std::string_view text = record.substr(head.size() + 1);
  if (!text.starts_with(before_bus)) return std::nullopt;

  const std::size_t second = head.find(',', head.find(',') + 1);
  if (second == head.npos) return std::nullopt;
  const std::size_t time = second + 1;
  const auto at = number_of(head.substr(time, head.find(',', time) - time));

  const std::size_t end = text.find("): ");
  if (end > before_bus.size() + longest_bus) return std::nullopt;  // too long, or not found
  const std::string_view rest = text.substr(end + 3);
  const auto code = number_of(rest.substr(0, rest.find_first_of(",\n")));
  if (!at || !code || *code > std::numeric_limits<int>::max() ||
      *at > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return LoggedXid{
      std::string(text.substr(before_bus.size(), end - before_bus.size())),
      {static_cast<int>(*code), std::chrono::microseconds(static_cast<std::int64_t>(*at))}};
}

std::map<std::string, Xid> last_xids(int log) {
  std::map<std::string, Xid> last;
  char record[longest_record];
  for (int i = 0; i < most_records; ++i) {
    const ssize_t size = read_some(log, record, sizeof record);
    if (size < 0 && errno == EPIPE) continue;  // the next record was overwritten meanwhile
    if (size <= 0) break;
    const auto found = xid_in({record, static_cast<std::size_t>(size)});
    if (found && (last.size() < most_gpus || last.contains(found->bus)))
      last[found->bus] = found->xid;
  }
  return last;
}

std::map<std::string, Xid> last_xids(const std::string& log) {
  const Descriptor file(::open(log.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  return file ? last_xids(file.get()) : std::map<std::string, Xid>();
}

// NVML's "00000000:07:00.0" is "0000:07:00" in the log.
void add_xids(const std::map<std::string, Xid>& xids, std::chrono::microseconds now,
              DeviceReport& report) {
  for (DeviceFacts& device : report.devices) {
    const std::string bus = device.pci_bus_id.substr(0, device.pci_bus_id.rfind('.'));
    const auto last = std::find_if(xids.begin(), xids.end(), [&](const auto& each) {
      return !each.first.empty() && bus.ends_with(each.first);
    });
    if (last == xids.end()) continue;
    const auto ago = std::chrono::duration_cast<std::chrono::seconds>(now - last->second.at);
    device.xid = LastXid{last->second.code, std::max<std::int64_t>(0, ago.count())};
  }
}

}  // namespace train
