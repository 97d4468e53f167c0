// SPDX-License-Identifier: Apache-2.0
#include "config_schema/hosts/host_yaml.hpp"

#include <fmt/format.h>

#include "config_schema/experiment/experiment_environment.hpp"
#include "config_schema/fields/amounts.hpp"
#include "config_schema/fields/field_reader.hpp"
#include "config_schema/hosts/accelerators.hpp"
#include "config_schema/hosts/host_address.hpp"
#include "config_schema/hosts/host_lines.hpp"
#include "config_schema/resources/tpu_topology.hpp"
#include "config_schema/text/terminal_text.hpp"
#include "config_schema/text/text.hpp"
#include "config_schema/yaml/yaml_document.hpp"

namespace train {

namespace {

// Approximate memory of a host.
std::size_t bytes_of(const Host& host) {
  constexpr std::size_t of_an_entry = 128;
  std::size_t bytes = sizeof(Host) + host.identity_file.size() + host.pool.size();
  bytes += host.address.size() + host.user.size() + host.interface.size();
  bytes += host.accelerator_type.size() + host.lease_directory.size();
  for (const auto& [name, value] : host.env) bytes += of_an_entry + name.size() + value.size();
  for (const auto& [name, value] : host.labels) bytes += of_an_entry + name.size() + value.size();
  for (const auto& [name, quantity] : host.custom) bytes += of_an_entry + name.size();
  return bytes;
}

// Reads the keys of one host, or of `defaults:`, over the values that `host` already has.
class HostKeys {
 public:
  HostKeys(std::string prefix, Diagnostics& diagnostics)
      : prefix_(std::move(prefix)),
        diagnostics_(diagnostics),
        fields_(host_fields(), diagnostics, prefix_) {}

  void read(const YamlNode& mapping, Host& host) {
    fields_.read(mapping);
    read_word("address", read_address, host.address);
    read_word("user", read_user, host.user);
    read_text("identity_file", host.identity_file);
    read_text("accelerator_type", host.accelerator_type);
    host.accelerator_type = canonical_accelerator_type(host.accelerator_type);
    read_text("slice", host.slice);
    read_lease_directory(host);
    read_text("pool", host.pool);
    read_word("interface", read_interface, host.interface);
    if (const auto port = fields_.integer("port")) host.port = static_cast<int>(*port);
    if (const auto slots = fields_.integer("slots")) host.slots = static_cast<int>(*slots);
    if (fields_.given("slot_type"))
      host.slot_type = slot_type_of(fields_.text("slot_type")).value_or(host.slot_type);
    read_transport(host);
    read_weight(host);
    read_resources(host);
    read_labels(host);
    read_env(host);
    check_slots(host);
    check_slot_type(host);
  }

  const FieldReader& fields() const { return fields_; }

 private:
  std::string key(const char* name) const { return prefix_ + name; }

  void report(const Place& place, const char* name, std::string message, std::string hint = {}) {
    diagnostics_.error(place, key(name), std::move(message), std::move(hint));
  }

  // Values that reach command lines follow the same rules as in host lines.
  void read_word(const char* name,
                 tl::expected<std::string, HostSetError> (*read_value)(std::string_view,
                                                                       std::size_t),
                 std::string& target) {
    const GivenValue* given = fields_.given(name);
    if (!given) return;
    const std::string& text = given->node->text;
    auto value = read_value(text, 0);
    if (value) {
      target = std::move(*value);
      return;
    }
    Place place = given->place;
    // Only if the text appears in the file byte for byte; quoted and folded text does not.
    if (place.text.find(text) != std::string::npos)
      place.column += count_characters(text.substr(0, value.error().offset));
    report(place, name, value.error().message, value.error().hint);
  }

  // A value that plans only show, and that is not parsed further.
  bool check_shown(const Place& place, const char* name, std::string_view text) {
    if (plain_length(text) == text.size()) return true;
    report(place, name, fmt::format("'{}' in '{}' cannot be shown", text, key(name)),
           "control characters have no place there");
    return false;
  }

  void read_text(const char* name, std::string& target) {
    const GivenValue* given = fields_.given(name);
    if (!given) return;
    const std::string& text = given->node->text;
    const bool is_word = std::string_view(name) != "identity_file";
    if (text.empty() || (is_word && text.front() == '-') ||
        (is_word && text.find_first_of(" \t\n") != text.npos))
      return report(given->place, name, fmt::format("'{}' cannot be '{}'", key(name), text));
    if (check_shown(given->place, name, text)) target = text;
  }

  void read_transport(Host& host) {
    const GivenValue* command = fields_.given("transport.command");
    if (!command) {
      if (fields_.given("transport"))
        host.transport = transport_of(fields_.text("transport")).value_or(host.transport);
      return;
    }
    host.transport = TransportKind::command;
    host.command.clear();
    for (const YamlNodePtr& word : command->node->items) host.command.push_back(word->text);
    const std::string program = host.command.empty() ? "" : host.command[0];
    if (program.empty())
      report(command->place, "transport.command",
             fmt::format("'{}' names no program", key("transport.command")),
             "write the program and its arguments: [nsenter, -t, \"1234\", -a]");
    if (program.front() != '/' && program.find('/') != program.npos)  // of which folder, later?
      report(command->place, "transport.command", fmt::format("'{}' is a relative path", program),
             "write the whole path, or a name that is searched in PATH");
    for (const std::string& word : host.command)
      if (!check_shown(command->place, "transport.command", word)) return;
  }

  void read_lease_directory(Host& host) {
    const GivenValue* given = fields_.given("lease_directory");
    if (!given) return;
    const std::string& path = given->node->text;
    if (path.size() > longest_lease_directory)
      return report(given->place, "lease_directory",
                    fmt::format("'{}' is {} bytes long, more than {}", key("lease_directory"),
                                path.size(), longest_lease_directory),
                    "take a folder with a shorter path");
    if (check_shown(given->place, "lease_directory", path)) host.lease_directory = path;
  }

  void read_weight(Host& host) {
    const GivenValue* given = fields_.given("weight");
    if (given) host.weight = given->node->real;
  }

  void read_resources(Host& host) {
    const GivenValue* given = fields_.given("resources");
    if (!given) return;
    const Amounts amounts = read_amounts(*given->node, key("resources"), diagnostics_);
    if (amounts.cpu) host.cpus = amounts.cpu->quantity;
    if (amounts.memory) host.memory = amounts.memory;
    for (const auto& [name, quantity] : amounts.custom)
      if (check_shown(given->place, "resources", name)) host.custom[name] = quantity;
    const bool has_gpus = amounts.gpu && !amounts.gpu->quantity.is_zero();
    const bool has_tpus = amounts.tpu && !amounts.tpu->quantity.is_zero();
    if (has_gpus && has_tpus)
      return report(amounts.tpu->place, "resources.TPU",
                    fmt::format("'TPU: {}' cannot be given with 'GPU: {}' on line {}",
                                to_string(amounts.tpu->quantity), to_string(amounts.gpu->quantity),
                                amounts.gpu->place.line),
                    "a host has accelerators of one kind: remove one of the two");
    if (amounts.gpu && !has_tpus) read_devices(*amounts.gpu, "resources.GPU", host);
    if (amounts.tpu && (has_tpus || !amounts.gpu))
      read_devices(*amounts.tpu, "resources.TPU", host);
    if (has_tpus && host.accelerator_type.empty()) host.accelerator_type = "TPU";
  }

  void read_devices(const Amount& amount, const char* name, Host& host) {
    constexpr int most = 65'536;
    if (!amount.quantity.is_whole() || amount.quantity > Quantity::of(most))
      return report(amount.place, name,
                    fmt::format("'{}' must be a whole number up to {}, not {}", key(name), most,
                                to_string(amount.quantity)));
    host.accelerators = static_cast<int>(amount.quantity.whole());
  }

  void read_labels(Host& host) {
    const GivenValue* given = fields_.given("labels");
    if (!given) return;
    for (const YamlEntry& entry : given->node->entries) {
      if (!entry.value->is_scalar())
        report(value_place(entry), "labels",
               fmt::format("the label '{}' must be a single value, not {}", entry.key,
                           describe(*entry.value)));
      else if (!entry.value->is_null() && check_shown(place_of(entry.mark), "labels", entry.key) &&
               check_shown(value_place(entry), "labels", entry.value->text))
        host.labels[entry.key] = entry.value->text;
    }
  }

  void read_env(Host& host) {
    const GivenValue* given = fields_.given("env");
    if (!given) return;
    for (const EnvironmentVariable& variable :
         read_variables(*given->node, key("env"), diagnostics_)) {
      if (!variable.value)
        report(variable.place, "env",
               fmt::format("the variable '{}' of a host needs a value", variable.name),
               "take values from the launcher in the experiment's 'environment.variables'");
      else
        host.env[variable.name] = *variable.value;
    }
  }

  void check_slots(const Host& host) {
    const GivenValue* given = fields_.given("slots");
    if (!given || !host.accelerators || *host.accelerators == 0) return;
    if (host.slot_type == SlotType::cpu) return;
    if (*host.slots > *host.accelerators)
      report(given->place, "slots",
             fmt::format("{} slots are more than the host's {} {}", *host.slots, *host.accelerators,
                         is_tpu_type(host.accelerator_type) ? "chips" : "GPUs"),
             "a slot is one of them there");
  }

  // The keys about devices must be compatible, whether they are here or under `defaults`.
  void check_slot_type(const Host& host) {
    const GivenValue* given = fields_.given("slot_type");
    if (!given) given = fields_.given("accelerator_type");
    if (!given) given = fields_.given("resources");
    if (!given || !says_devices(host) || host.slot_type == SlotType::automatic) return;
    const auto refuse = [&](const std::string& other, std::string hint) {
      report(given->place, "slot_type",
             fmt::format("'slot_type: {}' does not go with '{}'", to_string(host.slot_type), other),
             std::move(hint));
    };
    const auto maker =
        host.slot_type == SlotType::rocm ? AcceleratorMaker::amd : AcceleratorMaker::nvidia;
    const std::string& type = host.accelerator_type;
    if (is_tpu_type(type))
      refuse("accelerator_type: " + type, "leave 'slot_type' out for TPUs");
    else if (!type.empty() && maker_of(type) != maker)
      refuse("accelerator_type: " + type, "cuda is for NVIDIA's GPUs, rocm for AMD's");
    else if (host.accelerators == 0)
      refuse("resources.GPU: 0", "write 'slot_type: cpu'");
  }

  std::string prefix_;
  Diagnostics& diagnostics_;
  FieldReader fields_;
};

class InventoryReader {
 public:
  InventoryReader(Diagnostics& diagnostics) : diagnostics_(diagnostics), hosts_(diagnostics) {}

  std::vector<Host> read(const YamlNode& root) {
    FieldReader top(inventory_fields(), diagnostics_);
    top.read(root);
    read_defaults(top);
    const YamlEntry* hosts = root.find("hosts");
    if (!hosts) {
      diagnostics_.error(place_of(root.mark), "hosts", "'hosts' is missing",
                         "write 'hosts:' with one '- name: ...' for each host");
    } else if (const GivenValue* given = top.given("hosts")) {
      int index = 0;
      hosts_.reserve(given->node->items.size());
      for (const YamlNodePtr& item : given->node->items) read_item(*item, index++);
    }
    return hosts_.take();
  }

 private:
  void read_defaults(const FieldReader& top) {
    const GivenValue* given = top.given("defaults");
    if (!given) return;
    for (const char* own : {"name", "address"})
      if (const YamlEntry* entry = given->node->find(own))
        diagnostics_.error(place_of(entry->mark), fmt::format("defaults.{}", own),
                           fmt::format("'{}' is each host's own", own), "write it under 'hosts'");
    HostKeys("defaults.", diagnostics_).read(*given->node, defaults_);
  }

  void read_item(const YamlNode& item, int index) {
    if (bytes_ > most_bytes) return;
    const Place place = place_of(item.mark);
    const std::string path = fmt::format("hosts[{}]", index);
    if (item.kind == YamlKind::string) return read_short(item, place, path);
    if (item.kind != YamlKind::mapping) {
      diagnostics_.error(place, path,
                         fmt::format("a host is a mapping or a name, not {}", describe(item)),
                         "write '- name: node01'");
      return;
    }
    Host host = defaults_;
    host.address.clear();
    HostKeys keys(path + ".", diagnostics_);
    keys.read(item, host);
    const YamlEntry* name = item.find("name");
    if (!name || name->value->is_null()) {
      diagnostics_.error(place, path + ".name", "a host without a name", "write '- name: node01'");
      return;
    }
    const GivenValue* given = keys.fields().given("name");
    if (given) add(*given->node, given->place, path, std::move(host), false);
  }

  // `- node[01-04]:8`
  void read_short(const YamlNode& item, const Place& place, const std::string& path) {
    Host host = defaults_;
    host.address.clear();
    add(item, place, path, std::move(host), true);
  }

  void add(const YamlNode& node, Place place, const std::string& path, Host host, bool is_short) {
    const std::string& text = node.text;
    const bool is_address = !text.empty() && text.front() != '[' && text.find(':') != text.npos;
    const auto item =
        read_host_item(is_address && !is_short ? "[" + text + "]" : text, hosts_.room());
    if (!item) {
      // Only if the text appears in the file byte for byte; quoted and folded text does not.
      if (place.text.find(text) != std::string::npos)
        place.column += static_cast<int>(std::min(item.error().offset, text.size()));
      diagnostics_.error(place, path + ".name", item.error().message, item.error().hint);
      return;
    }
    if (item->slots && !is_short) {
      diagnostics_.error(place, path + ".name", fmt::format("'{}' is no host's name", text),
                         "write 'slots' as a key");
      return;
    }
    if (item->slots) host.slots = item->slots;
    if (!item->user.empty()) host.user = item->user;
    settle_accelerators(host);
    bytes_ += bytes_of(host) * item->names.size();
    if (bytes_ > most_bytes) {
      diagnostics_.error(
          place, path,
          fmt::format("hosts and what is said of each take more than {} MiB", most_bytes >> 20),
          "each host of a set, and with 'defaults', has a copy of all its keys");
      return;
    }
    if (item->names.size() > 1 && !host.address.empty()) {
      diagnostics_.error(
          place, path + ".address",
          fmt::format("one address for the {} hosts of '{}'", item->names.size(), text),
          "write these hosts one by one");
      return;
    }
    host.place = {place.source, place.line, place.column, {}};
    for (std::size_t i = 0; i + 1 < item->names.size(); ++i)
      add_named(host, item->names[i], place.text);
    add_named(std::move(host), item->names.back(), place.text);
  }

  void add_named(Host host, const std::string& name, std::string_view line) {
    host.name = name;
    if (host.address.empty()) host.address = name;
    hosts_.add(std::move(host), line);
  }

  static constexpr std::size_t most_bytes = 256u << 20;

  Diagnostics& diagnostics_;
  HostCollection hosts_;
  Host defaults_;
  std::size_t bytes_ = 0;  // of all hosts
};

}  // namespace

std::vector<Host> read_yaml_hosts(const SourceText& source, Diagnostics& diagnostics) {
  const auto root = read_yaml_tree(source, ErrorClass::hosts, diagnostics);
  if (!root) {
    for (const Diagnostic& found : root.error().diagnostics)
      diagnostics.error(found.place, found.key, found.message, found.hint);
    return {};
  }
  if ((*root)->kind != YamlKind::mapping) {
    diagnostics.error(
        place_of((*root)->mark), {},
        fmt::format("a hosts file in YAML is a mapping with 'hosts', not {}", describe(**root)),
        "write 'hosts:' above the list");
    return {};
  }
  return InventoryReader(diagnostics).read(**root);
}

}  // namespace train
