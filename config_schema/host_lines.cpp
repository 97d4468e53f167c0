// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "config_schema/host_collection.hpp"
#include "config_schema/host_line.hpp"
#include "config_schema/nearest.hpp"
#include "config_schema/text.hpp"
#include "config_schema/yaml_node.hpp"

namespace train {

namespace {

class LineReader {
 public:
  LineReader(const SourceText& source, Diagnostics& diagnostics, HostCollection& hosts)
      : source_(source), diagnostics_(diagnostics), hosts_(hosts) {}

  void read(std::string_view line, int number) {
    line_ = line;
    columns_ = ColumnCounter(line);
    number_ = number;
    const std::vector<HostWord> words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) return;
    declared_ = {};
    slots_.reset();
    max_slots_.reset();
    if (!read_set(words[0])) return;
    bool is_legal = true;
    for (std::size_t i = 1; i < words.size() && !diagnostics_.is_full(); ++i)
      is_legal &= read_option(words[i]);
    if (is_legal) add_hosts();
  }

 private:
  Place place_at(std::size_t offset) {
    std::string shown(line_.size() <= max_shown_line ? line_ : std::string_view());
    return {source_.name, number_, columns_.at(offset), std::move(shown)};
  }

  void report(const HostSetError& error, std::size_t offset) {
    diagnostics_.error(place_at(offset + error.offset), {}, error.message, error.hint);
  }

  bool read_set(const HostWord& word) {
    const auto parts = split_host_list(word.text);
    if (!parts) {
      report(parts.error(), word.offset);
      return false;
    }
    std::size_t used = 0;
    for (const HostListPart& part : *parts) {
      const std::size_t room = hosts_.room();
      auto item = read_host_item(part.text, room - std::min(room, used));
      if (!item) {
        report(item.error(), word.offset + part.offset);
        return false;
      }
      used += item->names.size();
      declared_.push_back({std::move(*item), word.offset + part.offset});
    }
    return true;
  }

  bool read_option(const HostWord& word) {
    const std::size_t equals = word.text.find('=');
    if (equals == word.text.npos) {
      diagnostics_.error(place_at(word.offset), {},
                         fmt::format("'{}' is not understood", word.text),
                         "write one host a line: node01 slots=8");
      return false;
    }
    std::string key(word.text.substr(0, equals));
    if (key == "max-slots") key = "max_slots";
    if (key != "slots" && key != "max_slots") {
      diagnostics_.error(place_at(word.offset), key, fmt::format("unknown key '{}'", key),
                         did_you_mean(key, {"slots", "max_slots"}));
      return false;
    }
    const auto slots = read_slots(word.text.substr(equals + 1), word.offset + equals + 1);
    if (!slots) {
      report(slots.error(), 0);
      return false;
    }
    std::optional<int>& target = key == "slots" ? slots_ : max_slots_;
    if (target) {
      diagnostics_.error(place_at(word.offset), key, fmt::format("'{}' is given twice", key));
      return false;
    }
    target = *slots;
    return true;
  }

  void add_hosts() {
    for (const auto& [item, offset] : declared_) {
      if (item.slots && slots_) {
        diagnostics_.error(
            place_at(offset), "slots",
            fmt::format("':{}' and 'slots={}' both say how many slots", *item.slots, *slots_),
            "keep one of the two");
        return;
      }
      const std::optional<int> slots = item.slots ? item.slots : slots_;
      if (slots && max_slots_ && *max_slots_ < *slots) {
        diagnostics_.error(
            place_at(offset), "max_slots",
            fmt::format("max_slots={} is less than the {} slots", *max_slots_, *slots));
        return;
      }
      for (const std::string& name : item.names) {
        Host host;
        host.name = name;
        host.address = name;
        host.user = item.user;
        host.slots = slots;
        host.place = {source_.name, number_, column_of(line_, offset), {}};
        hosts_.add(std::move(host), line_);
      }
    }
  }

  struct Declared {
    HostItem item;
    std::size_t offset = 0;
  };

  const SourceText& source_;
  Diagnostics& diagnostics_;
  HostCollection& hosts_;
  std::string_view line_;
  ColumnCounter columns_{{}};
  int number_ = 0;
  std::vector<Declared> declared_;
  std::optional<int> slots_;
  std::optional<int> max_slots_;
};

}  // namespace

std::vector<Host> read_line_hosts(const SourceText& source, Diagnostics& diagnostics) {
  HostCollection hosts(diagnostics);
  LineReader reader(source, diagnostics, hosts);
  int number = 0;
  const auto lines = split(source.text, '\n');
  hosts.reserve(lines.size());
  for (const std::string_view line : lines) {
    if (diagnostics.is_full()) break;
    reader.read(line, ++number);
  }
  return hosts.take();
}

}  // namespace train
