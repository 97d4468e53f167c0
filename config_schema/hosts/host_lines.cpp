// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "config_schema/hosts/host_address.hpp"
#include "config_schema/hosts/host_inventory.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/text/text.hpp"

namespace train {
namespace {

// A larger number after a name is probably a port: "host:port".
constexpr int most_after_colon = 1'023;

constexpr const char* no_port =
    "after ':' come the slots; a port is written in a hosts file: 'port=2222', or 'port: 2222'";

// The name or set of an item, and the position of the rest (":slots").
struct NamePart {
  std::vector<std::string> names;
  std::size_t end = 0;
};

tl::expected<NamePart, HostSetError> read_names(std::string_view text, std::size_t limit) {
  const std::size_t close = text.find(']');
  const bool is_bracketed = !text.empty() && text.front() == '[' && close != text.npos &&
                            text.substr(1, close - 1).find(':') != text.npos;
  if (is_bracketed) {
    const std::string_view address = text.substr(1, close - 1);
    if (!is_ipv6_address(address))
      return refuse_at(1, fmt::format("'{}' is no IPv6 address", address));
    if (limit == 0) return refuse_at(0, fmt::format("more than {} hosts", max_hosts));
    return NamePart{{std::string(address)}, close + 1};
  }
  if (std::count(text.begin(), text.end(), ':') > 1)
    return refuse_at(
        0, fmt::format("'{}' has more than one ':'", text),
        is_ipv6_address(text) ? "write IPv6 addresses in brackets: [::1] or [::1]:8" : no_port);
  const std::size_t end = std::min(text.find(':'), text.size());
  auto names = expand_host_pattern(text.substr(0, end), limit);
  if (!names) return tl::make_unexpected(names.error());
  return NamePart{std::move(*names), end};
}

}  // namespace

std::vector<HostWord> host_words(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<HostWord> words;
  for (std::size_t at = line.find_first_not_of(blanks); at < line.size();
       at = line.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.push_back({line.substr(at, end - at), at});
    at = end;
  }
  return words;
}

tl::expected<int, HostSetError> read_slots(std::string_view text, std::size_t offset) {
  constexpr int most = 65'536;
  const auto slots = whole_number(text, 0, most);
  if (slots && *slots > 0) return *slots;
  return refuse_at(offset,
                   fmt::format("slots must be a whole number from 1 to {}, not '{}'", most, text),
                   slots                                 ? "leave a host without slots out"
                   : text.find(':') != std::string::npos ? no_port
                                                         : "as in node01:8, or 'node01 slots=8'");
}

tl::expected<SlotType, HostSetError> read_slot_type(std::string_view text, std::size_t offset) {
  if (const auto type = slot_type_of(text)) return *type;
  return refuse_at(offset, fmt::format("slot_type is auto, cuda, rocm or cpu, not '{}'", text),
                   "cuda is for NVIDIA's GPUs, rocm for AMD's, cpu for places without any");
}

tl::expected<HostItem, HostSetError> read_host_item(std::string_view text, std::size_t limit) {
  HostItem item;
  std::size_t begin = 0;
  if (const std::size_t at = text.find('@'); at != text.npos) {
    const auto user = read_user(text.substr(0, at), 0);
    if (!user) return tl::make_unexpected(user.error());
    item.user = *user;
    begin = at + 1;
  }
  auto part = read_names(text.substr(begin), limit);
  if (!part) {
    part.error().offset += begin;
    return tl::make_unexpected(part.error());
  }
  item.names = std::move(part->names);
  const std::size_t rest = begin + part->end;
  if (rest == text.size()) return item;
  if (text[rest] != ':')
    return refuse_at(rest, fmt::format("'{}' is not understood", text.substr(rest)),
                     "write the number of slots as host:8");
  const auto slots = read_slots(text.substr(rest + 1), rest + 1);
  if (!slots) return tl::make_unexpected(slots.error());
  if (*slots > most_after_colon)
    return refuse_at(
        rest + 1,
        fmt::format("after ':' come the slots, at most {}, and this looks like a port",
                    most_after_colon),
        fmt::format("in a hosts file a port is '{0} port={1}', and so many slots are '{0} "
                    "slots={1}'; in YAML they are keys",
                    text.substr(0, rest), *slots));
  item.slots = *slots;
  return item;
}

namespace {

// `key=value`, `key = value`; without '=' only a key.
struct Option {
  HostWord key;
  std::optional<HostWord> value;
};

std::vector<Option> options_of(std::string_view line, std::size_t from) {
  constexpr std::string_view blanks = " \t\r";
  std::vector<Option> options;
  const auto skip = [&](std::size_t at) {
    return std::min(line.find_first_not_of(blanks, at), line.size());
  };
  for (std::size_t at = skip(from); at < line.size(); at = skip(at)) {
    const std::size_t end = std::min(line.find_first_of(" \t\r=", at), line.size());
    Option option{{line.substr(at, end - at), at}, {}};
    at = skip(end);
    if (at < line.size() && line[at] == '=') {
      const std::size_t begin = skip(at + 1);
      at = std::min(line.find_first_of(blanks, begin), line.size());
      option.value = HostWord{line.substr(begin, at - begin), begin};
    } else {
      at = end;
    }
    options.push_back(option);
  }
  return options;
}

// The possible options of a line, with the names that different launchers use for them.
enum class LineKey { slots, max_slots, user, port, slot_type };
constexpr std::pair<std::string_view, LineKey> line_keys[] = {
    {"slots", LineKey::slots},         {"max_slots", LineKey::max_slots},
    {"user", LineKey::user},           {"port", LineKey::port},
    {"slot_type", LineKey::slot_type}, {"count", LineKey::slots},
    {"cpu", LineKey::slots},           {"max-slots", LineKey::max_slots},
    {"slots_max", LineKey::max_slots}, {"slots-max", LineKey::max_slots},
    {"username", LineKey::user},       {"user-name", LineKey::user},
    {"user_name", LineKey::user},      {"slot-type", LineKey::slot_type},
};
constexpr std::size_t keys_to_suggest = 5;

// The options of one line, which apply to all its hosts.
struct LineOptions {
  std::optional<int> slots;
  std::optional<int> max_slots;
  std::optional<std::string> user;
  std::optional<int> port;
  std::optional<SlotType> slot_type;
};

class LineReader {
 public:
  LineReader(const SourceText& source, Diagnostics& diagnostics, HostCollection& hosts)
      : places_(source.name, source.text),
        begin_of_text_(source.text.data()),
        diagnostics_(diagnostics),
        hosts_(hosts) {}

  // Reads a line, which must be part of the text itself.
  void read(std::string_view line) {
    begin_ = static_cast<std::size_t>(line.data() - begin_of_text_);
    line = line.substr(0, line.find('#'));
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos) return;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    declared_.clear();
    given_ = {};
    if (!read_set({line.substr(begin, end - begin), begin})) return;
    bool is_legal = true;
    for (const Option& option : options_of(line, end)) {
      is_legal &= read_option(option);
      if (!option.value || diagnostics_.is_full()) break;  // what follows is not an option either
    }
    if (is_legal) add_hosts();
  }

 private:
  struct Declared {
    HostItem item;
    std::size_t offset = 0;
  };

  bool report(const HostSetError& error, std::size_t offset, std::string key = {}) {
    diagnostics_.error(places_.shown_at(begin_ + offset + error.offset), std::move(key),
                       error.message, error.hint);
    return false;
  }

  bool read_set(const HostWord& word) {
    const auto parts = split_host_list(word.text);
    if (!parts) return report(parts.error(), word.offset);
    std::size_t used = 0;
    for (const HostListPart& part : *parts) {
      const std::size_t room = hosts_.room();
      auto item = read_host_item(part.text, room - std::min(room, used));
      if (!item) return report(item.error(), word.offset + part.offset);
      used += item->names.size();
      declared_.push_back({std::move(*item), word.offset + part.offset});
    }
    return true;
  }

  bool read_option(const Option& option) {
    const std::string key(option.key.text);
    if (!option.value) {
      const bool is_comment = key.front() == ';' || key.starts_with("//");
      report({0, fmt::format("'{}' is not understood", key),
              is_comment ? "comments begin with '#'" : "write one host a line: node01 slots=8"},
             option.key.offset);
      return false;
    }
    const auto* known = std::find_if(std::begin(line_keys), std::end(line_keys),
                                     [&](const auto& each) { return each.first == key; });
    if (known == std::end(line_keys)) {
      std::vector<std::string> names;
      for (const auto& [name, ignored] : std::span(line_keys).first(keys_to_suggest))
        names.emplace_back(name);
      const std::string meant = did_you_mean(key, names);
      return report({0, fmt::format("unknown key '{}'", key),
                     meant.empty() ? "the keys are " + join_words(names) : meant},
                    option.key.offset, key);
    }
    switch (known->second) {
      case LineKey::slots:
        return take(given_.slots, read_slots, option);
      case LineKey::max_slots:
        return take(given_.max_slots, read_slots, option);
      case LineKey::user:
        return take(given_.user, read_user, option);
      case LineKey::port:
        return take(given_.port, read_port, option);
      case LineKey::slot_type:
        return take(given_.slot_type, read_slot_type, option);
    }
    return false;
  }

  template <class T>
  bool take(std::optional<T>& target,
            tl::expected<T, HostSetError> (*read_value)(std::string_view, std::size_t),
            const Option& option) {
    auto value = read_value(option.value->text, 0);
    if (!value) return report(value.error(), option.value->offset);
    if (target)
      return report(
          {0, fmt::format("'{}' is given twice", option.key.text), "remove one of the two"},
          option.key.offset, std::string(option.key.text));
    target = std::move(*value);
    return true;
  }

  // Whether an item and the line's options are compatible.
  bool agrees(const Declared& declared) {
    const HostItem& item = declared.item;
    if (item.slots && given_.slots)
      return report(
          {0,
           fmt::format("':{}' and 'slots={}' both say how many slots", *item.slots, *given_.slots),
           fmt::format("keep one of the two; if {0} is a port, write 'port={0}'", *item.slots)},
          declared.offset, "slots");
    if (!item.user.empty() && given_.user)
      return report(
          {0, fmt::format("'{}@' and 'user={}' both name a user", item.user, *given_.user),
           "keep one of the two"},
          declared.offset, "user");
    const std::optional<int> slots = item.slots ? item.slots : given_.slots;
    if (slots && given_.max_slots && *given_.max_slots < *slots)
      return report(
          {0, fmt::format("max_slots={} is less than the {} slots", *given_.max_slots, *slots), {}},
          declared.offset, "max_slots");
    return true;
  }

  void add_hosts() {
    for (const Declared& declared : declared_) {
      if (!agrees(declared)) return;
      const HostItem& item = declared.item;
      const Place place = places_.at(begin_ + declared.offset);
      for (const std::string& name : item.names) {
        Host host;
        host.name = name;
        host.address = name;
        host.user = given_.user.value_or(item.user);
        host.port = given_.port;
        host.slots = item.slots ? item.slots : given_.slots;
        host.slot_type = given_.slot_type.value_or(SlotType::automatic);
        settle_accelerators(host);
        host.place = place;
        hosts_.add(std::move(host), places_.line());
      }
    }
  }

  PlaceCursor places_;
  const char* begin_of_text_;
  Diagnostics& diagnostics_;
  HostCollection& hosts_;
  std::size_t begin_ = 0;  // of the line
  std::vector<Declared> declared_;
  LineOptions given_;
};

}  // namespace

std::vector<Host> read_line_hosts(const SourceText& source, Diagnostics& diagnostics) {
  HostCollection hosts(diagnostics, "'node01 slots=2'");
  LineReader reader(source, diagnostics, hosts);
  const auto lines = split(source.text, '\n');
  hosts.reserve(lines.size());
  for (const std::string_view line : lines) {
    if (diagnostics.is_full()) break;
    reader.read(line);
  }
  return hosts.take();
}

}  // namespace train
