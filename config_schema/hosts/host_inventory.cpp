// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config_schema/hosts/host_address.hpp"
#include "config_schema/hosts/host_lines.hpp"
#include "config_schema/hosts/host_yaml.hpp"
#include "config_schema/resources/tpu_topology.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_document.hpp"

namespace train {

namespace {

Place whole(const SourceText& source) { return {source.name, 0, 0, {}}; }

tl::unexpected<Error> refuse(const Place& place, std::string message, std::string hint) {
  Diagnostics diagnostics;
  diagnostics.error(place, {}, std::move(message), std::move(hint));
  return tl::make_unexpected(diagnostics.take_error(ErrorClass::hosts, place.source));
}

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '"' || c == '\'';
}

// The first line that is neither blank nor a comment decides. "n1:8" is a host with 8 slots, but
// "hosts:" and "hosts: [" are keys.
bool looks_like_yaml(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view content = trim(line.substr(0, line.find('#')));
    if (content.empty()) continue;
    const char first = content.front();
    if (first == '{' || first == '%' || content.substr(0, 3) == "---") return true;
    if (content == "-" || content.substr(0, 2) == "- ") return true;
    std::size_t end = 0;
    while (end < content.size() && is_word_char(content[end])) ++end;
    while (end > 0 && end < content.size() && content[end] == ' ') ++end;
    if (end == 0 || end >= content.size() || content[end] != ':') return false;
    return end + 1 == content.size() || content[end + 1] == ' ';
  }
  return false;
}

// The place of a host with its line, which is not stored with the host.
Place shown_place(const Host& host, const std::vector<std::string_view>& lines) {
  Place place = host.place;
  const auto index = static_cast<std::size_t>(place.line) - 1;
  if (place.line > 0 && index < lines.size() && lines[index].size() <= max_shown_line)
    place.text = std::string(lines[index]);
  return place;
}

// Warns if one machine has two names, because its slots would be counted and assigned twice. Names
// that would need resolution are not compared.
void warn_of_one_machine(const SourceText& source, const std::vector<Host>& hosts,
                         Diagnostics& diagnostics) {
  struct Machine {
    const Host* first = nullptr;
    const Host* second = nullptr;
    std::size_t hosts = 0;
  };
  std::map<std::string, Machine> machines;
  for (const Host& host : hosts) {
    const bool is_here = is_localhost(host.address);
    if (host.address == host.name && !is_here) continue;
    Machine& machine =
        machines[is_here ? "localhost"
                         : fmt::format("{}:{}", to_lower(host.address), host.port.value_or(0))];
    if (!machine.first) machine.first = &host;
    if (++machine.hosts == 2) machine.second = &host;
  }
  std::vector<std::string_view> lines;
  for (const auto& [address, machine] : machines) {
    if (machine.second && lines.empty()) lines = split(source.text, '\n');
    if (!machine.second || diagnostics.is_full()) continue;
    const std::string others =
        machine.hosts > 2 ? fmt::format(" and {} more", machine.hosts - 2) : std::string();
    diagnostics.warn(shown_place(*machine.second, lines), "address",
                     fmt::format("'{}', '{}'{} are one machine, whose slots count for each",
                                 machine.first->name, machine.second->name, others),
                     "name it once, with all its slots");
  }
}

Result<HostInventory> finish(const SourceText& source, std::vector<Host> hosts,
                             Diagnostics& diagnostics) {
  if (diagnostics.has_errors())
    return tl::make_unexpected(diagnostics.take_error(ErrorClass::hosts, source.name));
  if (hosts.empty())
    return refuse(whole(source), "no hosts in it",
                  "write one host a line, such as 'node01 slots=8'");
  warn_of_one_machine(source, hosts, diagnostics);
  return HostInventory{source.name, std::move(hosts), diagnostics.take_warnings(source.name)};
}

}  // namespace

std::string_view to_string(TransportKind transport) {
  switch (transport) {
    case TransportKind::automatic:
      return "auto";
    case TransportKind::local:
      return "local";
    case TransportKind::ssh:
      return "ssh";
    case TransportKind::openssh:
      return "openssh";
    case TransportKind::command:
      return "command";
  }
  return "auto";
}

std::optional<TransportKind> transport_of(std::string_view word) {
  for (const auto kind : {TransportKind::automatic, TransportKind::local, TransportKind::ssh,
                          TransportKind::openssh, TransportKind::command})
    if (to_string(kind) == word) return kind;
  return std::nullopt;
}

std::string transport_yaml(const Host& host) {
  if (host.transport != TransportKind::command) return std::string(to_string(host.transport));
  std::string words;
  for (const std::string& word : host.command)
    words += (words.empty() ? "" : ", ") + json_quoted(word);
  return "{command: [" + words + "]}";
}

std::string_view to_string(SlotType type) {
  switch (type) {
    case SlotType::automatic:
      return "auto";
    case SlotType::cuda:
      return "cuda";
    case SlotType::rocm:
      return "rocm";
    case SlotType::cpu:
      return "cpu";
  }
  return "auto";
}

std::optional<SlotType> slot_type_of(std::string_view word) {
  for (const auto type : {SlotType::automatic, SlotType::cuda, SlotType::rocm, SlotType::cpu})
    if (to_string(type) == word) return type;
  return std::nullopt;
}

bool says_devices(const Host& host) {
  if (host.slot_type != SlotType::automatic) return host.slot_type != SlotType::cpu;
  return !host.accelerator_type.empty() && !is_tpu_type(host.accelerator_type);
}

AcceleratorMaker maker_of_devices(const Host& host) {
  if (host.accelerator_type.empty() && host.slot_type == SlotType::rocm)
    return AcceleratorMaker::amd;
  return maker_of(host.accelerator_type);
}

void settle_accelerators(Host& host) {
  if (host.slot_type == SlotType::cpu)
    host.accelerators = 0;
  else if (says_devices(host) && !host.accelerators)
    host.accelerators = host.slots;
}

std::optional<int> slot_count(const Host& host) {
  if (host.accelerators.value_or(0) > 0)
    return std::min(*host.accelerators, host.slots.value_or(*host.accelerators));
  if (host.slots) return host.slots;
  if (!host.cpus) return std::nullopt;
  constexpr std::int64_t most = 65'536;
  return static_cast<int>(std::clamp<std::int64_t>(host.cpus->whole(), 1, most));
}

void HostCollection::add(Host host, std::string_view line) {
  const auto [known, is_new] = known_.try_emplace(to_lower(host.name), hosts_.size());
  if (is_new) {
    hosts_.push_back(std::move(host));
    return;
  }
  const Place& first = hosts_[known->second].place;
  const std::string& first_name = hosts_[known->second].name;
  const std::string as = first_name == host.name ? "" : fmt::format(" as '{}'", first_name);
  const std::string message =
      first.line == host.place.line
          ? fmt::format("host '{}' is named twice; first at column {}{}", host.name, first.column,
                        as)
          : fmt::format("host '{}' on line {} is named twice; first on line {}{}", host.name,
                        host.place.line, first.line, as);
  if (line.size() <= max_shown_line) host.place.text = std::string(line);
  const bool may_want_slots = !slots_form_.empty() && !host.slots && !hosts_[known->second].slots;
  diagnostics_.error(host.place, "name", message,
                     may_want_slots
                         ? fmt::format("remove one of the two; two slots are {}", slots_form_)
                         : "remove one of the two");
}

void HostCollection::reserve(std::size_t hosts) {
  hosts_.reserve(std::min(hosts, max_hosts));
  known_.reserve(std::min(hosts, max_hosts));
}

std::size_t HostCollection::room() const { return max_hosts - hosts_.size(); }

Result<HostInventory> parse_hosts(const SourceText& source) {
  if (source.text.size() > max_yaml_bytes)
    return refuse(
        whole(source),
        fmt::format("{} bytes are more than the {} allowed", source.text.size(), max_yaml_bytes),
        "is this the right file?");
  if (const auto trouble = find_text_fault(source.text)) {
    Place place = whole(source);
    place.line = trouble->line;
    return refuse(place, fmt::format("this is no hosts file: it holds {}", trouble->reason),
                  "is this the right file? It must be UTF-8 text");
  }
  const SourceText text{source.name, normalize_text(source.text)};
  Diagnostics diagnostics;
  auto hosts = looks_like_yaml(text.text) ? read_yaml_hosts(text, diagnostics)
                                          : read_line_hosts(text, diagnostics);
  return finish(text, std::move(hosts), diagnostics);
}

Result<HostInventory> parse_host_list(const SourceText& source) {
  const std::string& text = source.text;
  PlaceCursor places(source.name, text);
  if (const auto trouble = find_text_fault(text))
    return refuse(whole(source), fmt::format("the list holds {}", trouble->reason),
                  "write hosts as node[01-04]:8,gpu-b:4");
  const auto parts = split_host_list(text);
  if (!parts)
    return refuse(places.shown_at(parts.error().offset), parts.error().message, parts.error().hint);
  Diagnostics diagnostics;
  HostCollection hosts(diagnostics, "node01:2");
  for (const HostListPart& part : *parts) {
    if (diagnostics.is_full()) break;
    const auto item = read_host_item(part.text, hosts.room());
    if (!item) {
      diagnostics.error(places.shown_at(part.offset + item.error().offset), {},
                        item.error().message, item.error().hint);
      continue;
    }
    const Place place = places.at(part.offset);
    for (const std::string& name : item->names) {
      Host host;
      host.name = name;
      host.address = name;
      host.user = item->user;
      host.slots = item->slots;
      host.place = place;
      hosts.add(std::move(host), places.line());
    }
  }
  return finish(source, hosts.take(), diagnostics);
}

}  // namespace train
