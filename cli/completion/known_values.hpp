// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

namespace train {

/// A word that a shell may insert, and a line for the user about it, which may be empty.
struct Candidate {
  std::string word;
  std::string description;
};

/// The values of a kind (`value_kind`) that this machine knows; none for other kinds. No host is
/// asked, nothing is created, and what cannot be read has no values.
class KnownValues {
 public:
  /// The options of the command line that say where hosts come from; empty if they are not given.
  struct Hosts {
    std::string file;  ///< --hostfile
    std::string list;  ///< -H
  };
  explicit KnownValues(Hosts hosts) : hosts_(std::move(hosts)) {}

  /// `typed` is the value so far: `KEY=` has other candidates than `KEY`. `given` are values of the
  /// same argument, which are not offered again.
  std::vector<Candidate> of(const std::string& kind, const std::string& typed,
                            const std::set<std::string>& given) const;

 private:
  std::vector<Candidate> hosts_after(const std::string& typed, const char* separators) const;

  Hosts hosts_;
};

}  // namespace train
