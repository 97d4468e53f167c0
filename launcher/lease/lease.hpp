// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace train {

/// Units of one slot, of one CPU, and of one of a custom resource: fractions are of 1/10000, as in
/// `Quantity`. Memory is counted in bytes.
inline constexpr std::uint64_t lease_units = 10'000;

/// Something of a host that can be held.
struct LeaseKey {
  enum class Kind {
    place,   ///< a slot that is no device
    cuda,    ///< an NVIDIA GPU, by its number in CUDA_DEVICE_ORDER=PCI_BUS_ID
    rocm,    ///< an AMD GPU, by its number in ROCR_VISIBLE_DEVICES
    device,  ///< another device (a TPU chip)
    slot,    ///< a GPU if the host has so many that its slots can be GPUs, else a place
    cpus,    ///< all CPUs of the host
    memory,  ///< its memory
    custom,  ///< a resource that only the hosts file knows
  };
  Kind kind = Kind::place;
  int index = 0;  ///< of the slot or device; 0 for others
  /// Of the custom resource, or the identity of a device (the UUID of a GPU): it keeps that when it
  /// gets another number, as in a container. Empty for others, and where it is not known.
  std::string name = {};

  auto operator<=>(const LeaseKey&) const = default;
};

/// The word for a kind: "place", "cuda", ... and back.
const char* to_string(LeaseKey::Kind kind);
std::optional<LeaseKey::Kind> lease_kind_of(const std::string& word);

/// How much of it a task wants.
struct LeaseWant {
  LeaseKey key;
  std::uint64_t amount = 0;    ///< units, at least 1
  std::uint64_t capacity = 0;  ///< units that there are, as the hosts file says; at least `amount`

  bool operator==(const LeaseWant&) const = default;
};

/// The most that a task may want of one host, and a custom resource's longest name.
inline constexpr std::size_t most_leases = 4'096;
inline constexpr std::size_t longest_resource_name = 256;

/// Units from `begin` up to but not including `end`.
struct LeaseRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  bool operator==(const LeaseRange&) const = default;
};

/// How many units they are, which do not overlap.
std::uint64_t size_of(const std::vector<LeaseRange>& ranges);

/// Overlapping and adjacent ones become one, in ascending order.
std::vector<LeaseRange> merged(std::vector<LeaseRange> ranges);

/// What is in `from` and in none of `ranges`. Both are merged.
std::vector<LeaseRange> without(const std::vector<LeaseRange>& from,
                                const std::vector<LeaseRange>& ranges);

/// Units that nobody holds, from the lowest on; nothing where there are not enough of them. `held`
/// is merged and may go beyond the capacity.
std::optional<std::vector<LeaseRange>> choose_ranges(const LeaseWant& want,
                                                     const std::vector<LeaseRange>& held);

/// The name of the file with the locks for a key, as a part of a file's name: "slot-3", "cpus",
/// "custom-ssd". A custom name is written with %XX where it is not of [A-Za-z0-9_.-]; a long one
/// ends in a number that tells it from others. For `slot`, say first what it is.
std::string lease_file_name(const LeaseKey& key);

/// What a key of the kind `slot` is on a host with these GPUs, by their numbers in the order of its
/// sessions: one of them where there are at least `slots`, as `SlotMeaning` has it, else a place.
/// Others stay as they are.
LeaseKey settled(const LeaseKey& key, int slots, const std::vector<int>& cuda,
                 const std::vector<int>& rocm);

/// Whether it is a GPU, which is known to all by its identity: it may have another number for
/// another user.
bool is_gpu(const LeaseKey& key);

/// Whether they are one slot, GPU or device: a GPU by its identity, where both say it.
bool is_same_slot(const LeaseKey& one, const LeaseKey& other);

/// The same key with the identity of its GPU, where it is one and `cuda` and `rocm` have it, by
/// their numbers.
LeaseKey named(LeaseKey key, const std::vector<std::string>& cuda,
               const std::vector<std::string>& rocm);

/// Who holds something of a host. What comes from a holder's own words is checked against the
/// locks, and its user against the owner of its file.
struct LeaseHolder {
  struct Held {
    LeaseKey key;
    std::uint64_t amount = 0;
    bool operator==(const Held&) const = default;
  };
  std::string task;  ///< id; empty: nobody knows who holds it
  /// Of the task; of an unknown holder what is known, in words.
  std::string name = {};
  std::string launcher = {};  ///< where it was launched: "alice@head"
  std::int64_t uid = -1;      ///< on the host that is held
  std::string user = {};      ///< its name there; empty: it has none
  std::int64_t held_ms = 0;   ///< for how long, by the host's clock; 0: not known
  /// Whether its ranks were told to start: one that has not may be giving up again.
  bool is_running = false;
  std::vector<Held> leases = {};
  /// It holds nothing, and waits for something of the host: it comes first.
  bool is_waiting = false;
  /// Of a process that uses the GPUs without any lease, in no task of a holder (`name`: of the task
  /// in its environment); 0: the holder has locks.
  int pid = 0;
  std::string command = {};  ///< likewise: its command line

  bool operator==(const LeaseHolder&) const = default;
};

}  // namespace train
