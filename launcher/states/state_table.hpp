// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace train {

/// A state of a machine, its meaning, and the possible next states.
template <class State>
struct StateRow {
  State state;
  std::string_view name;
  std::string_view meaning;
  std::vector<State> next;  ///< none: the end
};

/// All states of a machine. The first row is the initial state. No path through the table visits a
/// state twice, so every machine ends.
template <class State>
class StateTable {
 public:
  StateTable(std::string_view machine, std::vector<StateRow<State>> rows)
      : machine_(machine), rows_(std::move(rows)) {}

  std::string_view machine() const { return machine_; }
  const std::vector<StateRow<State>>& rows() const { return rows_; }
  const StateRow<State>& row(State state) const {
    return *std::find_if(rows_.begin(), rows_.end(),
                         [&](const StateRow<State>& row) { return row.state == state; });
  }
  bool allows(State from, State to) const {
    const auto& next = row(from).next;
    return std::find(next.begin(), next.end(), to) != next.end();
  }

 private:
  std::string_view machine_;
  std::vector<StateRow<State>> rows_;
};

/// The state of one machine. It changes only as its table allows.
template <class State>
class TrackedState {
 public:
  /// The table must outlive this.
  explicit TrackedState(const StateTable<State>& table) : table_(&table) {
    path_.push_back(table.rows().front().state);
  }

  // Reads like the state itself.
  operator State() const { return path_.back(); }  // NOLINT(google-explicit-constructor)
  /// The name in the table.
  auto name() const { return table_->row(path_.back()).name; }
  /// Every state so far, oldest first.
  const std::vector<State>& path() const { return path_; }

  /// Changing to the current state has no effect. A change that the table does not allow is a bug:
  /// it throws std::logic_error with the path so far.
  void become(State next) {
    if (next == path_.back()) return;
    if (!table_->allows(path_.back(), next)) {
      std::string way;
      for (const State state : path_) way.append(table_->row(state).name).append(", ");
      throw std::logic_error(std::string(table_->machine()) + " went through " + way +
                             "and is to be " + std::string(table_->row(next).name));
    }
    path_.push_back(next);
  }

 private:
  const StateTable<State>* table_;
  std::vector<State> path_;
};

}  // namespace train
