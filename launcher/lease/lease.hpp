// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace train {

/// Units of one slot, of one CPU, and of one of a custom resource: fractions are multiples of
/// 1/10000, as in `Quantity`. Memory is counted in bytes.
inline constexpr std::uint64_t lease_units = 10'000;

/// Something on a host that can be held.
struct LeaseKey {
  enum class Kind {
    place,   ///< a slot that is no device
    cuda,    ///< an NVIDIA GPU, by its number in CUDA_DEVICE_ORDER=PCI_BUS_ID
    rocm,    ///< an AMD GPU, by its number in ROCR_VISIBLE_DEVICES
    device,  ///< another device (a TPU chip)
    slot,    ///< a GPU if the host has enough GPUs for its slots, else a place
    cpus,    ///< all CPUs of the host
    memory,  ///< its memory
    custom,  ///< a resource that is known only from the hosts file
  };
  Kind kind = Kind::place;
  int index = 0;  ///< of the slot or device; 0 for others
  /// Name of the custom resource, or identity of a device (the UUID of a GPU), which stays the same
  /// when the device gets another number, as in a container. Empty for others, and if not known.
  std::string name = {};

  auto operator<=>(const LeaseKey&) const = default;
};

/// The word of a kind: "place", "cuda", ..., and back.
const char* to_string(LeaseKey::Kind kind);
std::optional<LeaseKey::Kind> lease_kind_of(const std::string& word);

/// How much of a key a task wants.
struct LeaseWant {
  LeaseKey key;
  std::uint64_t amount = 0;    ///< units, at least 1
  std::uint64_t capacity = 0;  ///< units that exist, as the hosts file says; at least `amount`

  bool operator==(const LeaseWant&) const = default;
};

/// Limits of a task's wants on one host, and of a custom resource's name.
inline constexpr std::size_t most_leases = 4'096;
inline constexpr std::size_t longest_resource_name = 256;

/// Units from `begin` up to, but not including, `end`.
struct LeaseRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const LeaseRange&) const = default;
};

/// The number of units in ranges that do not overlap.
std::uint64_t size_of(const std::vector<LeaseRange>& ranges);

/// Merges overlapping and adjacent ranges; ascending.
std::vector<LeaseRange> merged(std::vector<LeaseRange> ranges);

/// Units in `from` and in none of `ranges`. Both must be merged.
std::vector<LeaseRange> without(const std::vector<LeaseRange>& from,
                                const std::vector<LeaseRange>& ranges);

/// Free units, from the lowest on; nothing if there are not enough. `held` must be merged, and may
/// exceed the capacity.
std::optional<std::vector<LeaseRange>> choose_ranges(const LeaseWant& want,
                                                     const std::vector<LeaseRange>& held);

/// The name of the lock file of a key, as a part of a file name: "slot-3", "cpus", "custom-ssd". In
/// a custom name, characters other than [A-Za-z0-9_.-] are written as %XX; a long one ends in a
/// hash that makes it unique. A key of the kind `slot` must be settled before.
std::string lease_file_name(const LeaseKey& key);

/// Resolves a key of the kind `slot` on a host with these GPUs, by their numbers in the order of
/// its sessions: one of the GPUs if there are at least `slots`, as `SlotMeaning` defines, else a
/// place. Other keys are unchanged.
LeaseKey settled(const LeaseKey& key, int slots, const std::vector<int>& cuda,
                 const std::vector<int>& rocm);

/// Whether it is a GPU. GPUs are identified by their identity, since they may have other numbers
/// for other users.
bool is_gpu(const LeaseKey& key);

/// Whether two keys are the same slot, GPU or device; GPUs are compared by identity if both have
/// one.
bool is_same_slot(const LeaseKey& one, const LeaseKey& other);

/// The same key with the identity of its GPU, if it is one and `cuda` or `rocm` (by number) has the
/// identity.
LeaseKey named(LeaseKey key, const std::vector<std::string>& cuda,
               const std::vector<std::string>& rocm);

/// A holder of something on a host. The contents of its file are checked against the locks, and its
/// user against the owner of the file.
struct LeaseHolder {
  struct Held {
    LeaseKey key;
    std::uint64_t amount = 0;
    bool operator==(const Held&) const = default;
  };
  std::string task;  ///< id; empty: the holder is unknown
  /// Name of the task; for an unknown holder what is known, in words.
  std::string name = {};
  std::string launcher = {};  ///< where it was launched: "alice@head"
  std::int64_t uid = -1;      ///< user id on the host
  std::string user = {};      ///< user name on the host; empty: none
  std::int64_t held_ms = 0;   ///< duration by the host's clock; 0: not known
  /// Whether its ranks were told to start. If not, it may still release the leases again.
  bool is_running = false;
  std::vector<Held> leases = {};
  /// It holds nothing, but waits for something on the host, and comes first.
  bool is_waiting = false;
  /// Set for a process that uses GPUs without a lease and belongs to no task of a holder (`name`:
  /// of the task in its environment); 0: the holder has locks.
  int pid = 0;
  std::string command = {};  ///< command line of that process

  bool operator==(const LeaseHolder&) const = default;
};

}  // namespace train
