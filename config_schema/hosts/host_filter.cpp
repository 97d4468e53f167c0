// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "config_schema/hosts/host_fold.hpp"
#include "config_schema/hosts/host_set.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/text/text.hpp"

namespace train {

namespace {

constexpr const char* form = "write hosts, with slots if not all are meant: w0@w1:0,2";

// What the filter selects of one host.
struct Choice {
  bool is_named = false;
  bool is_whole = false;
  std::vector<bool> slots;  // of all slots of the host; empty: no slot is named
};

// Slots from first to last.
struct SlotRange {
  int first = 0;
  int last = 0;
};

// `text` begins at byte `offset` of the filter.
struct Part {
  std::string_view text;
  std::size_t offset = 0;
};

// The position of the first `separator` outside of brackets; the size of the text if there is none.
std::size_t find_outside_brackets(std::string_view text, char separator, std::size_t from = 0) {
  int depth = 0;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') depth = std::max(0, depth - 1);
    if (text[i] == separator && depth == 0) return i;
  }
  return text.size();
}

class FilterReader {
 public:
  FilterReader(const HostInventory& inventory, FilterKind kind, const std::string& filter)
      : inventory_(inventory),
        source_(kind == FilterKind::include ? "--include" : "--exclude"),
        filter_(filter),
        choices_(inventory.hosts.size()) {
    for (std::size_t i = 0; i < inventory.hosts.size(); ++i)
      index_of_.emplace(to_lower(inventory.hosts[i].name), i);
  }

  void read() {
    if (const auto trouble = find_text_fault(filter_)) {
      diagnostics_.error({source_, 0, 0, {}}, {}, fmt::format("the list holds {}", trouble->reason),
                         form);
      return;
    }
    for (std::size_t begin = 0; begin <= filter_.size();) {
      const std::size_t end = find_outside_brackets(filter_, '@', begin);
      read_part({std::string_view(filter_).substr(begin, end - begin), begin});
      begin = end + 1;
    }
  }

  Result<std::vector<Choice>> take() {
    if (diagnostics_.has_errors())
      return tl::make_unexpected(diagnostics_.take_error(ErrorClass::hosts, source_));
    return std::move(choices_);
  }

 private:
  void report(std::size_t offset, std::string message, std::string hint = form) {
    diagnostics_.error(PlaceCursor(source_, filter_).shown_at(offset), {}, std::move(message),
                       std::move(hint));
  }

  void read_part(const Part& part) {
    if (part.text.empty())
      return report(
          std::min(part.offset, filter_.empty() ? 0 : filter_.size() - 1),
          filter_.empty() ? "the list of hosts is empty" : "a host is missing beside '@'");
    const std::size_t colon = find_outside_brackets(part.text, ':');
    const auto names = read_names({part.text.substr(0, colon), part.offset});
    const bool has_slots = colon < part.text.size();
    const auto slots = has_slots
                           ? read_slots({part.text.substr(colon + 1), part.offset + colon + 1})
                           : std::vector<SlotRange>();
    if (has_slots && slots.empty()) return;
    std::vector<std::string> unknown;
    for (const std::string& name : names) {
      const auto found = index_of_.find(to_lower(name));
      if (found == index_of_.end())
        unknown.push_back(name);
      else
        choose(found->second, slots, part);
    }
    if (!unknown.empty()) report_unknown(unknown, part.offset);
  }

  // Empty after a fault.
  std::vector<std::string> read_names(const Part& part) {
    const bool is_address = part.text.size() > 2 && part.text.front() == '[' &&
                            part.text.find(':') < part.text.size() - 1 && part.text.back() == ']';
    if (is_address) return {std::string(part.text.substr(1, part.text.size() - 2))};
    if (const std::size_t comma = find_outside_brackets(part.text, ','); comma < part.text.size()) {
      report(part.offset + comma, "hosts are separated by '@' here");
      return {};
    }
    auto names = expand_host_pattern(part.text);
    if (names) return std::move(*names);
    report(part.offset + names.error().offset, names.error().message, names.error().hint);
    return {};
  }

  // "0,2-3", ascending and without overlaps; empty after a fault.
  std::vector<SlotRange> read_slots(const Part& part) {
    std::vector<SlotRange> slots;
    std::size_t offset = part.offset;
    for (const std::string_view text : split(part.text, ',')) {
      const std::size_t dash = std::min(text.find('-'), text.size());
      const int first = read_slot(text.substr(0, dash));
      const int last = dash == text.size() ? first : read_slot(text.substr(dash + 1));
      if (first < 0 || last < first) {
        const bool is_backwards = first >= 0 && last >= 0;
        report(offset, text.empty()   ? "a slot is missing"
                       : is_backwards ? fmt::format("the range '{}' runs backwards", text)
                                      : fmt::format("'{}' is no slot: they count from 0", text));
        return {};
      }
      slots.push_back({first, last});
      offset += text.size() + 1;
    }
    return united(std::move(slots));
  }

  static std::vector<SlotRange> united(std::vector<SlotRange> ranges) {
    std::sort(ranges.begin(), ranges.end(),
              [](const SlotRange& a, const SlotRange& b) { return a.first < b.first; });
    std::vector<SlotRange> disjoint;
    for (const SlotRange& range : ranges)
      if (!disjoint.empty() && range.first <= disjoint.back().last + 1)
        disjoint.back().last = std::max(disjoint.back().last, range.last);
      else
        disjoint.push_back(range);
    return disjoint;
  }

  // -1 if it is not a valid slot.
  static int read_slot(std::string_view digits) {
    constexpr int most = 65'535;
    return whole_number(digits, 0, most).value_or(-1);
  }

  void choose(std::size_t index, const std::vector<SlotRange>& slots, const Part& part) {
    const Host& host = inventory_.hosts[index];
    Choice& choice = choices_[index];
    choice.is_named = true;
    if (slots.empty()) {
      choice.is_whole = true;
      return;
    }
    const auto count = slot_count(host);
    if (!count)
      return report(part.offset, fmt::format("how many slots '{}' has is not said", host.name),
                    fmt::format("write '{0} slots=N' in the hosts file, or -H {0}:N", host.name));
    if (slots.back().last >= *count) return report_slot(host, slots, *count, part.offset);
    if (choice.slots.empty() && !has_room(*count, part.offset)) return;
    choice.slots.resize(static_cast<std::size_t>(*count));
    for (const SlotRange& range : slots)
      std::fill(choice.slots.begin() + range.first, choice.slots.begin() + range.last + 1, true);
  }

  // Bounds memory: hosts may declare tens of thousands of slots, and there may be as many hosts.
  bool has_room(int count, std::size_t offset) {
    constexpr std::size_t most = std::size_t{1} << 22;
    const bool had_room = slots_ <= most;
    slots_ += static_cast<std::size_t>(count);
    if (had_room && slots_ > most)
      report(offset, fmt::format("slots are chosen of hosts that have more than {} in all", most),
             "name whole hosts");
    return slots_ <= most;
  }

  void report_slot(const Host& host, const std::vector<SlotRange>& slots, int count,
                   std::size_t offset) {
    const auto beyond = std::find_if(slots.begin(), slots.end(),
                                     [&](const SlotRange& range) { return range.last >= count; });
    report(offset, fmt::format("'{}' has no slot {}", host.name, std::max(beyond->first, count)),
           count == 1 ? "its only slot is 0" : fmt::format("its slots are 0 to {}", count - 1));
  }

  void report_unknown(const std::vector<std::string>& unknown, std::size_t offset) {
    constexpr std::size_t most_compared = 20;  // as many as are shown
    if (names_.empty()) {
      for (const Host& host : inventory_.hosts) names_.push_back(host.name);
      summary_ = summarize_hosts(names_);
    }
    std::string meant;
    if (unknown.size() == 1 && ++compared_ <= most_compared)
      meant = did_you_mean(unknown.front(), names_);
    report(offset,
           unknown.size() == 1 ? fmt::format("there is no host '{}'", unknown.front())
                               : fmt::format("there are no hosts {}", summarize_hosts(unknown)),
           meant.empty() ? fmt::format("the hosts are {}", summary_) : meant);
  }

  const HostInventory& inventory_;
  std::string source_;
  const std::string& filter_;
  std::vector<Choice> choices_;
  std::unordered_map<std::string, std::size_t> index_of_;  // by the name in lower case
  Diagnostics diagnostics_;
  // Names of all hosts, and their summary; filled at the first unknown host.
  std::vector<std::string> names_;
  std::string summary_;
  std::size_t compared_ = 0;
  std::size_t slots_ = 0;  // number of slots that are stored one by one
};

// Whether anything of the host remains; records its remaining slots.
bool keep(Host& host, const Choice& choice, FilterKind kind) {
  const bool includes = kind == FilterKind::include;
  if (!choice.is_named) return !includes;
  if (choice.is_whole) return includes;
  std::vector<int> left;
  for (std::size_t slot = 0; slot < choice.slots.size(); ++slot)
    if (choice.slots[slot] == includes) left.push_back(static_cast<int>(slot));
  if (left.empty()) return false;
  if (left.size() < choice.slots.size()) host.slot_indices = std::move(left);
  return true;
}

}  // namespace

Result<HostInventory> filter_hosts(HostInventory inventory, FilterKind kind,
                                   const std::string& filter) {
  FilterReader reader(inventory, kind, filter);
  reader.read();
  const auto choices = reader.take();
  if (!choices) return tl::make_unexpected(choices.error());
  std::vector<Host> left;
  for (std::size_t i = 0; i < inventory.hosts.size(); ++i)
    if (keep(inventory.hosts[i], (*choices)[i], kind))
      left.push_back(std::move(inventory.hosts[i]));
  if (left.empty())
    return fail(ErrorClass::hosts,
                inventory.hosts.size() == 1
                    ? fmt::format("--exclude leaves nothing of the only host, '{}'",
                                  inventory.hosts.front().name)
                    : fmt::format("--exclude leaves none of the {} hosts", inventory.hosts.size()),
                "exclude fewer, or name more hosts");
  inventory.hosts = std::move(left);
  return inventory;
}

}  // namespace train
