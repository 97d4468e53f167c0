// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config_schema/hosts/accelerators.hpp"
#include "config_schema/text/diagnostics.hpp"
#include "config_schema/text/error.hpp"
#include "config_schema/text/place.hpp"
#include "config_schema/text/quantity.hpp"

namespace train {

/// How a host is reached.
enum class TransportKind {
  automatic,  ///< local if the host is this machine, else by its command or over SSH
  local,      ///< a child process of the launcher
  ssh,        ///< libssh2, if it can serve the host
  openssh,    ///< a process of OpenSSH's client
  command,    ///< a process of `Host::command`
};

/// The word for it: "auto", "local", "ssh", "openssh", "command".
std::string_view to_string(TransportKind transport);
/// The inverse; nothing for any other word.
std::optional<TransportKind> transport_of(std::string_view word);

struct Host;
/// The value of `transport` in a YAML hosts file, on one line: "ssh", `{command: ["nsenter"]}`.
std::string transport_yaml(const Host& host);

/// The kind of the declared slots of a host (Determined's `slot_type`).
enum class SlotType {
  automatic,  ///< GPUs if the host, queried at launch, has enough; else plain worker slots
  cuda,       ///< NVIDIA GPUs
  rocm,       ///< AMD GPUs
  cpu,        ///< plain worker slots without a GPU, whatever the host has
};

/// The word that a hosts file uses: "auto", "cuda", "rocm", "cpu".
std::string_view to_string(SlotType type);
/// The inverse; nothing for any other word.
std::optional<SlotType> slot_type_of(std::string_view word);

/// The maximum length of `Host::lease_directory`.
inline constexpr std::size_t longest_lease_directory = 200;

/// One machine that ranks can be placed on, as declared; made without network access.
struct Host {
  std::string name;           ///< as the user wrote it; used in all messages and tables
  std::string address;        ///< the address to connect to; the name unless declared
  std::string user;           ///< empty: ssh's default
  std::optional<int> port;    ///< nothing: ssh's default
  std::string identity_file;  ///< empty: ssh's defaults
  TransportKind transport = TransportKind::automatic;
  /// What runs a shell on the host, with `{host}` and other words to be filled in. Of the transport
  /// `command`; of `auto` in a scheduler's job, where it counts unless the host is this machine.
  std::vector<std::string> command;
  std::optional<int> slots;  ///< declared slots; nothing: not declared
  SlotType slot_type = SlotType::automatic;
  std::string accelerator_type;     ///< Ray's constant ("A100"); empty: not declared
  std::optional<int> accelerators;  ///< devices; nothing: not declared, 0: none
  /// The counted GPUs of this machine if they are fewer than its slots and no file says whether
  /// slots are GPUs: a trial that depends on this is refused.
  std::optional<int> too_few_gpus;
  std::optional<Quantity> cpus;            ///< `resources.CPU`, or counted on this machine
  std::optional<std::uint64_t> memory;     ///< bytes
  std::map<std::string, Quantity> custom;  ///< other declared resources
  std::map<std::string, std::string> labels;
  std::string pool;
  std::string slice;    ///< the TPU slice of the host; empty: a slice of its own
  double weight = 1.0;  ///< relative speed, > 0
  /// The devices behind the slots, if they are not 0, 1, ...: those that an inherited
  /// CUDA_VISIBLE_DEVICES makes visible, in its order.
  std::vector<int> device_indices;
  /// The usable slots, ascending, if a filter left only some; empty: all of them.
  std::vector<int> slot_indices;
  std::string interface;        ///< network interface for collectives; empty: not declared
  std::string lease_directory;  ///< folder of its leases; empty: the usual folder
  std::map<std::string, std::string> env;  ///< variables of every rank on this host
  Place place;                             ///< where it was declared

  bool operator==(const Host&) const = default;
};

/// Whether the hosts file says that the slots are devices, by their `slot_type` or their
/// `accelerator_type`, with or without their number. These keys do not cover TPU chips.
bool says_devices(const Host& host);

/// The maker of its devices, by its `accelerator_type`, else its `slot_type`, else NVIDIA. Not for
/// TPUs.
AcceleratorMaker maker_of_devices(const Host& host);

/// Sets `accelerators` from `slot_type`, `accelerator_type` and `slots` if it is not declared: as
/// many as slots if the slots are devices, 0 if they are plain worker slots.
void settle_accelerators(Host& host);

/// The number of slots of the host, without regard to filters: its accelerators (at most its
/// declared slots), else its declared slots, else its whole CPUs; nothing if none of these is
/// declared.
std::optional<int> slot_count(const Host& host);

/// Hosts in file order: the order in which ranks are numbered.
struct HostInventory {
  std::string source;  ///< its source, for messages: "hosts.yaml", "-H", "this machine"
  std::vector<Host> hosts;
  std::vector<Diagnostic> warnings;
};

/// Collects the hosts of one input in order. A host named twice is an error that names both lines;
/// names ignore case, as in DNS.
class HostCollection {
 public:
  /// `slots_form` is how the input writes a host of two slots, for the hint to users who repeat a
  /// host's name instead; empty if the input has no such form.
  explicit HostCollection(Diagnostics& diagnostics, std::string slots_form = {})
      : diagnostics_(diagnostics), slots_form_(std::move(slots_form)) {}

  /// `line` is the text of the line that declares the host, for errors; it is not stored with the
  /// host.
  void add(Host host, std::string_view line);
  void reserve(std::size_t hosts);
  /// How many more hosts may be added.
  std::size_t room() const;
  std::vector<Host>& hosts() { return hosts_; }
  std::vector<Host> take() { return std::move(hosts_); }

 private:
  Diagnostics& diagnostics_;
  std::string slots_form_;
  std::vector<Host> hosts_;
  std::unordered_map<std::string, std::size_t> known_;  ///< name in lower case to index
};

/// Reads a hosts file. The format is detected from the content: YAML inventory (a mapping at the
/// top), or one host per line in DeepSpeed / Open MPI (`n1 slots=8`), Hydra (`n1:8`) or plain form.
/// Errors are of class `hosts`, all errors of the file together.
Result<HostInventory> parse_hosts(const SourceText& source);

/// Reads an inline list: `node[01-04]:8,gpu-b:4,user@n9`. `source.name` is the flag.
Result<HostInventory> parse_host_list(const SourceText& source);

}  // namespace train
