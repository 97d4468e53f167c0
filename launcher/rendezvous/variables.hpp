// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/plan/plan.hpp"

namespace train {

/// The variables of one rank while they are collected; later ones replace earlier ones.
class Variables {
 public:
  void set(EnvironmentEntry entry);
  void set(const std::string& name, std::string text);
  /// `of` is the input of the value, if its kind needs one.
  void set_at_launch(const std::string& name, AtLaunch fact, std::string of = {});
  /// Only if the variable is not set yet; the host's session environment overrides it.
  void set_default(const std::string& name, std::string text) {
    set_default({.name = name, .text = std::move(text)});
  }
  void set_default(EnvironmentEntry entry);

  bool has(const std::string& name) const { return entries_.count(name) > 0; }
  /// Sorted by name.
  std::vector<EnvironmentEntry> entries() const;

 private:
  std::map<std::string, EnvironmentEntry> entries_;
};

/// One rank and its place.
struct RankView {
  const Plan& plan;
  const PlannedRank& rank;
  const PlannedHost& host;
  int restarts = 0;  ///< attempts before this one
};

/// `TRAIN_*`, which replace the user's variables.
void add_own(const RankView& view, Variables& variables);

/// Variables with a default of train unless the user has set them.
void add_defaults(const RankView& view, Variables& variables);

}  // namespace train
